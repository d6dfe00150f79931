/*
 * watch: waits for changes of one run's state, for as long as it can change.
 * It asks for the run's events, each time for those after the ones it has
 * seen; the service answers when there are some. So no change is missed when
 * the service or the connection goes away in between.
 */
#ifndef MCP_WATCH_H
#define MCP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ipc/msg.h"
#include "mcp/adapter.h"
#include "mcp/link.h"

struct event;
struct watch;

/*
 * Called once when the watch has begun: changes from here on are told. Or it
 * could not: an error of the service, and the watch is over. May free it.
 */
typedef void
watch_began_fn(struct watch *, bool good, const char *error, size_t len);
/* The state has changed; last: it does not any more. May free the watch. */
typedef void watch_changed_fn(struct watch *, bool last);

struct watch {
	TAILQ_ENTRY(watch) entry; /* its user's */
	void *ctx;                /* its user's */
	bool task;                /* its user's */
	char run_id[IPC_ID_MAX + 1];
	/* Private. */
	struct adapter *adapter;
	watch_began_fn *began;
	watch_changed_fn *changed;
	struct link_req req;
	struct event *timer; /* before it asks again */
	int64_t after_seq, asked_ms;
	char status[32];
	bool begun, over;
};

TAILQ_HEAD(watch_list, watch);

/* NULL: no memory. */
struct watch *watch_new(struct adapter *, const char *run_id, watch_began_fn *,
    watch_changed_fn *, void *ctx);
void watch_free(struct watch **);

#endif
