/*
 * client: the blocking client side of the control protocol, for programs that
 * people or agents start: find the service's socket, connect, hello, call, and
 * wait for notifications. The program must ignore SIGPIPE.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct client;
struct event_base;

enum client_status {
	CLIENT_OK,
	CLIENT_ERROR,      /* the service answered with an error document */
	CLIENT_NO_SERVICE, /* no socket took the connection */
	CLIENT_REFUSED,    /* the service speaks another protocol, or refuses */
	CLIENT_LOST,       /* the connection ended */
	CLIENT_TIMEOUT,    /* no answer in time */
	CLIENT_BAD_REQUEST, /* the params break the message's row */
	CLIENT_STOPPED      /* client_stop() was called */
};

#define CLIENT_REASON_MAX 1024
#define CLIENT_PATH_MAX   108 /* sun_path */

/* One JSON document of an answer; NUL behind it. */
struct client_answer {
	char *json;
	size_t len;
};

struct client_hello {
	char version[IPC_ID_MAX + 1];
	char trust[17];
	bool admin;
};

/*
 * The places where the service may listen, in the order they are tried: only
 * $BROWSERTASK_SOCKET when it is set, else the system's and the user's. Writes
 * the place number n; false when there is none.
 */
bool client_place(unsigned n, char ret_path[CLIENT_PATH_MAX]);

/*
 * Connects to path, or to the first place that answers when it is NULL, and
 * says hello as program. On failure reason tells what was tried and why it did
 * not work; the error document of a refusal is its end. A socket in the user's
 * places must belong to the user or root.
 */
enum client_status client_connect(const char *program, const char *path,
    struct client **ret_client, char reason[CLIENT_REASON_MAX]);
/*
 * The same over a socket that is connected and needs no hello; takes fd, also
 * on failure. NULL with errno when it cannot be used.
 */
struct client *client_over(int fd);
void client_free(struct client **);
const struct client_hello *client_hello(const struct client *);
const char *client_path(const struct client *);
/* Why the last call or wait did not return CLIENT_OK or CLIENT_ERROR. */
const char *client_reason(const struct client *);

/*
 * A service that says nothing for CLIENT_SILENT_MS is not alive; it is asked
 * meanwhile.
 */
#define CLIENT_WHILE_ALIVE (-2)
#define CLIENT_SILENT_MS   30000

/*
 * Sends a request and waits for its answer, at most timeout_ms, or, with
 * CLIENT_WHILE_ALIVE, as long as the service answers other questions.
 * CLIENT_OK and CLIENT_ERROR fill *ret_answer, freed by client_answer_free.
 * Notifications that come meanwhile are delivered.
 */
enum client_status client_call(struct client *, const struct ipc_params *,
    int timeout_ms, struct client_answer *ret_answer);
void client_answer_free(struct client_answer *);

/* Called for each notification, from within client_call and client_wait; must
 * not call either. */
typedef void
client_note_fn(struct client *, const struct ipc_params *, void *ctx);
void client_on_note(struct client *, client_note_fn *, void *ctx);
/*
 * Delivers notifications until client_stop (CLIENT_STOPPED), timeout_ms has
 * passed (CLIENT_TIMEOUT; -1: no limit; CLIENT_WHILE_ALIVE as above) or the
 * connection ended (CLIENT_LOST).
 */
enum client_status client_wait(struct client *, int timeout_ms);
/* Ends the wait or call that is running or, if none is, the next one. */
void client_stop(struct client *);
/* For signals and timers of the program. */
struct event_base *client_base(struct client *);

#endif
