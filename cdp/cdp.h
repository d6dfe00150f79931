/*
 * cdp: the Chrome DevTools Protocol over two pipes, for the worker. One object
 * is one browser: it writes commands, matches answers to them by id, gives
 * every command its own deadline and hands known events to whoever registered
 * for the target session they belong to. It never builds a tree of a message.
 */
#ifndef CDP_CDP_H
#define CDP_CDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "json/span.h"

struct event_base;
struct cdp;
struct cdp_session;

#define CDP_MESSAGE_MAX_BYTES ((size_t)64 << 20)
#define CDP_QUEUE_MAX_BYTES   ((size_t)16 << 20)
#define CDP_SESSION_ID_MAX    64
#define CDP_PARAMS_MAX        24

/* The events somebody listens to; all others are dropped unread. */
enum cdp_event_kind {
#define EVENT(name, method) CDP_EV_##name,
#include "cdp/events.def"
#undef EVENT
	CDP_EV__MAX
};

enum cdp_status {
	CDP_OK,
	CDP_ERROR,   /* the browser refused: code and message are set */
	CDP_TIMEOUT, /* no answer in time; a later one is dropped */
	CDP_GONE,    /* the browser, or the session, is gone */
	CDP__MAX
};

/* Borrowed for the callback; spans are bytes as the browser wrote them. */
struct cdp_reply {
	enum cdp_status status;
	int64_t code;
	struct json_span result; /* CDP_OK: begins with { */
	const char *message;     /* never NULL; else what went wrong */
};

struct cdp_event {
	enum cdp_event_kind kind;
	struct json_span params;     /* begins with { */
	struct cdp_session *session; /* NULL: the browser itself */
};

typedef void cdp_reply_cb(struct cdp *, const struct cdp_reply *, void *arg);
typedef void cdp_event_cb(struct cdp *, const struct cdp_event *, void *arg);

struct cdp_ops {
	/* An event of the browser itself (no session). */
	cdp_event_cb *on_event;
	/*
	 * The pipe ended, or the browser broke the protocol. Comes once, from
	 * the loop, after every pending call was answered CDP_GONE.
	 */
	void (*on_gone)(struct cdp *, const char *why, void *ctx);
};

struct cdp_stats {
	uint64_t messages_in;
	uint64_t bytes_in;
	uint64_t messages_out;
	uint64_t bytes_out;
	uint64_t dropped; /* late answers, unknown events, nonsense */
};

/*
 * Takes both descriptors (closes them when freed) and makes them non-blocking.
 * Commands are numbered from first_id + 1: a worker that takes over a living
 * browser passes a value above the ids of the one before. ops is borrowed for
 * the object's life. NULL when memory ran out (descriptors are kept open).
 */
struct cdp *cdp_new(struct event_base *, int read_fd, int write_fd,
    uint32_t first_id, const struct cdp_ops *, void *ctx);
/*
 * For a pipe that another worker used before, who may have died in the middle
 * of reading and of writing: ends the command that may be half written, and
 * drops whatever else the browser had to say until it answers this call, which
 * asks for its version. The first thing to do with the object; the callback is
 * that of a cdp_call() and until it came nothing else may be called.
 */
void cdp_resync(struct cdp *, int timeout_ms, cdp_reply_cb *, void *arg);
/*
 * Frees without calling back anybody. Not from inside a callback of this
 * object; cdp_close() is.
 */
void cdp_free(struct cdp **);
/* Closes the pipe, which ends the browser; on_gone comes from the loop. */
void cdp_close(struct cdp *);
bool cdp_is_gone(const struct cdp *);

/*
 * Sends method with params, the bytes of one JSON object in nparams (up to
 * CDP_PARAMS_MAX) pieces, which are borrowed for this call only. The callback
 * comes exactly once, from the loop, never from inside cdp_call, unless the
 * call is forgotten first. timeout_ms is at least 1. With a NULL session it is
 * a command to the browser. A NULL callback ignores the answer. Returns the id
 * of the command; a full write queue or a gone browser answers CDP_GONE.
 */
uint32_t cdp_call(struct cdp *, struct cdp_session *, const char *method,
    const struct iovec *params, int nparams, int timeout_ms, cdp_reply_cb *,
    void *arg);
/* No callback with this arg comes any more; the answers are dropped. */
void cdp_forget(struct cdp *, const void *arg);

/*
 * Routes events of a flat session to the callback. The text need not end in
 * NUL. NULL when id is too long, known already or memory ran out.
 */
struct cdp_session *cdp_session_new(
    struct cdp *, const char *id, size_t len, cdp_event_cb *, void *arg);
struct cdp_session *cdp_session_by_id(struct cdp *, const char *id, size_t len);
const char *cdp_session_id(const struct cdp_session *);
/* Drops the route; calls still pending in it are answered CDP_GONE (loop). */
void cdp_session_free(struct cdp_session **);

const struct cdp_stats *cdp_stats(const struct cdp *);
const char *cdp_event_name(enum cdp_event_kind);

#endif
