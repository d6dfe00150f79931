/*
 * conn_int: what the files of a connection share: one reads its request, the
 * other gets it answered.
 */
#ifndef EGRESSD_CONN_INT_H
#define EGRESSD_CONN_INT_H

#include <event2/event.h>

#include "egressd/conn.h"
#include "egressd/dial.h"
#include "egressd/relay.h"
#include "egressd/resolve.h"
#include "egressd/socks.h"
#include "egressd/upstream.h"

#define CONN_MAGIC 0x636f6e6eU

enum conn_state {
	CONN_READING, /* its request */
	CONN_WAITING, /* for a run to be bound to its cell */
	CONN_ASKING,  /* resolving, judging, connecting */
	CONN_RELAYING
};

struct conn {
	uint32_t magic;
	LIST_ENTRY(conn) link;
	struct cell *cell;
	int fd; /* the browser's; -1: the relay's */
	struct event *io;
	struct event *timer;
	enum conn_state state;
	bool active;  /* counts for the limit of its run */
	size_t nfds;  /* descriptors set aside for it */
	bool proxied; /* its site is asked for through the upstream proxy */
	struct socks socks;
	struct lookup *lookup;
	struct dial *dial;
	struct tunnel *tunnel; /* through the upstream proxy */
	struct relay *relay;
	size_t ngood; /* addresses that it may have */
	/* The first of those, IPv4 rather; then the one that was reached. */
	struct domain_address target;
	struct domain_address bad;   /* the first that it may not */
	char rule[JUDGE_RULE_BYTES]; /* why; "": none was refused */
};

struct egress *conn_egress(const struct conn *);
/* Whether all of it was taken: what is said to a browser is short. */
bool conn_send(const struct conn *, const void *, size_t len);
/* Answers with that code and ends. */
void conn_refuse_with(struct conn *, enum socks_code);
/*
 * Tells supervisord, then the browser, and ends. The address that decided may
 * be NULL, the rule "".
 */
void conn_refuse(struct conn *, enum egress_outcome,
    const struct domain_address *, const char *rule);
void conn_limit_time(struct conn *, int ms);
/* Its run is known: judges, resolves, connects. May end it. */
void conn_ask(struct conn *);
/* No answer came in time: says what was waited for, and ends. */
void conn_ask_timeout(struct conn *);

#endif
