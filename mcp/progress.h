/*
 * progress: notifications/progress of one call, for a client that asked for
 * them: values that only rise, not more than ten a second, one at least every
 * ten seconds, and none right before the answer, where a client may already
 * have forgotten whom it belongs to.
 */
#ifndef MCP_PROGRESS_H
#define MCP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/tape.h"
#include "mcp/adapter.h"

struct event;

struct progress {
	struct adapter *adapter;
	const struct revision *rev;
	uint8_t *token; /* as it was written; NULL: nobody asked */
	size_t token_len;
	struct event *timer;
	bool
	    news; /* the timer is set for them, else for the next sign of life */
	double last;
	int64_t done, total; /* 0: not known */
	int64_t sent_ms;     /* monotonic; 0: nothing yet */
	char message[256];
};

/* Begins, if the _meta object has a progressToken. */
void progress_begin(struct progress *, struct adapter *,
    const struct revision *, struct json_val meta);
bool progress_wanted(const struct progress *);
/* How far it is; message may be NULL: as before. */
void progress_set(
    struct progress *, int64_t done, int64_t total, const char *message);
/* For so many milliseconds the answer should wait; mostly 0. */
int64_t progress_rest_ms(const struct progress *);
void progress_end(struct progress *);

#endif
