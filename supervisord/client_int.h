/*
 * client_int: what accepting, methods and connections of clients share; nothing
 * else includes it.
 */
#ifndef SUPERVISORD_CLIENT_INT_H
#define SUPERVISORD_CLIENT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "common/ulid.h"
#include "ipc/chan.h"
#include "supervisord/client.h"

#define CLIENT_READS 16

struct event;

/*
 * One of the two sockets. Each has places of its own, so that no crowd of
 * clients keeps an administrator out.
 */
struct door {
	struct clients *all;
	struct event *on_ready; /* connections wait to be accepted */
	struct event *resume;   /* accepting, after a pause */
	size_t count, most;     /* clients that came in by it */
	bool paused;
	bool admin;
};

struct client {
	TAILQ_ENTRY(client) entry;
	struct door *door;
	struct chan *chan;
	int fd; /* the chan's, to ask the kernel about */
	struct watch_list watches;
	struct event *hello; /* until when it must have come */
	uid_t uid;
	enum trust_level trust;
	struct share *share;
	size_t request_bytes; /* of its share, as are the next two */
	size_t waiting;       /* watches */
	bool counted;         /* a connection */
	bool over;            /* its user's share: hello is refused */
	size_t queued;        /* as counted last: what is unread, or more */
	uint64_t turn_mark;   /* for turn.h */
	struct ulid read[CLIENT_READS]; /* artifacts, as the audit log knows */
	unsigned nread;
	unsigned held; /* rows of the audit log that are not stored yet */
	bool doomed;
	char name[65];
	char label[IPC_ID_MAX + 1]; /* "": none */
};

TAILQ_HEAD(client_list, client);

struct clients {
	struct sup *sup;
	struct door doors[2]; /* clients, administrators */
	struct event *reap;   /* frees those that were dropped */
	struct client_list live, doomed;
	size_t over;       /* clients to be refused */
	size_t queued;     /* unread by all that live */
	bool own_uid_only; /* started by an ordinary user */
};

/* Takes the connected socket. NULL: it was closed. */
struct client *client_new(struct door *, int fd);
void client_free(struct client **);
/* As client_drop(), but no line is logged. */
void client_doom(struct client *);
/* Its queue may be as long as the setting says. */
void client_limit_queue(struct client *);

/* A request that is permitted. */
void methods_call(struct client *, const struct ipc_msg *);
/* One that is not, or that nobody knows. */
void
methods_refuse(struct client *, const struct ipc_msg *, const char *reason);

#endif
