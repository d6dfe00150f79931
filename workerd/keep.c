/*
 * A session that outlives its run, in workerd. The state is a secret: it goes
 * from the browser to supervisord and back, and nowhere else. That it cannot be
 * exported or loaded is a warning of the run, never its failure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "model/limits.h"
#include "page/browser.h"
#include "page/state.h"
#include "workerd/keep.h"
#include "workerd/outbox.h"
#include "workerd/report.h"

#define LOAD_MS  10000
#define SAVE_MS  5000
#define BRIEF_MS 80 /* of LIMIT_CANCEL_GRACE_MS, when a run is stopped */

struct keep {
	struct outbox *out;
	struct browser *browser;
	keep_done_fn *done;
	void *ctx;
	struct state_load *load;
	struct state_save *save;
	struct buf before; /* the state that came with the run */
	struct buf after;  /* what is being reported */
	size_t sent;
	bool keeps;    /* the session outlives the run */
	bool takeover; /* the browser knows the state already */
	bool complete; /* no more of the state follows */
	bool loaded;   /* or there was nothing to load */
};

struct keep *
keep_new(struct outbox *out, keep_done_fn *done, void *ctx)
{
	struct keep *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	k->out = out;
	k->done = done;
	k->ctx = ctx;
	buf_init(&k->before, LIMIT_STATE_BYTES);
	buf_init(&k->after, LIMIT_STATE_BYTES);
	return k;
}

void
keep_stop(struct keep *k)
{
	state_load_free(&k->load);
	state_save_free(&k->save);
	buf_clear(&k->after);
	k->sent = 0;
}

void
keep_free(struct keep **kp)
{
	struct keep *k = *kp;

	if (k == NULL)
		return;
	keep_stop(k);
	buf_clear(&k->before);
	free(k);
	*kp = NULL;
}

bool
keep_begin(struct keep *k, const struct ipc_params *p, bool takeover,
    const char **ret_why)
{
	k->keeps = ipc_bool(p, F_KEEP, false);
	k->takeover = ipc_bool(p, F_TAKEOVER, false);
	k->complete = !ipc_bool(p, F_STATE, false);
	if (k->takeover != takeover) {
		*ret_why = takeover ? "a new run's browser lived before"
				    : "a takeover of a new browser";
		return false;
	}
	return true;
}

bool
keep_state(struct keep *k, const struct ipc_params *p, const char **ret_why)
{
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (k->complete || !buf_add(&k->before, data, len)) {
		*ret_why = "more state than there may be";
		return false;
	}
	k->complete = ipc_bool(p, F_LAST, false);
	return true;
}

bool
keep_is_complete(const struct keep *k)
{
	return k->complete;
}

static void
keep_on_loaded(const char *why, void *arg)
{
	struct keep *k = arg;

	if (why != NULL)
		(void)report_warning(k->out, why);
	k->loaded = true;
	state_load_free(&k->load);
	k->done(k->ctx);
}

bool
keep_load(struct keep *k, struct browser *browser)
{
	k->loaded = k->takeover || k->before.len == 0;
	if (k->loaded)
		return true;
	k->load = state_load(
	    browser, k->before.data, k->before.len, LOAD_MS, keep_on_loaded, k);
	k->loaded = k->load == NULL;
	if (k->loaded)
		(void)report_warning(k->out, "no memory for the session");
	return k->loaded;
}

/* Sends what the outbox takes; true when all is out or nobody listens. */
static bool
keep_send(struct keep *k)
{
	size_t n;

	while (k->sent < k->after.len) {
		if (outbox_is_busy(k->out))
			return false;
		n = k->after.len - k->sent;
		if (n > LIMIT_CHUNK_BYTES)
			n = LIMIT_CHUNK_BYTES;
		if (!report_state_data(k->out, k->after.data + k->sent, n))
			return true;
		k->sent += n;
	}
	(void)report_state_end(k->out);
	return true;
}

static void
keep_finish(struct keep *k)
{
	keep_stop(k);
	browser_leave(k->browser);
	k->done(k->ctx);
}

void
keep_drained(struct keep *k)
{
	if (k->after.len > 0 && keep_send(k))
		keep_finish(k);
}

static void
keep_on_saved(const struct buf *json, const char *why, void *arg)
{
	struct keep *k = arg;
	char text[256];

	if (json == NULL || !buf_add(&k->after, json->data, json->len)) {
		(void)snprintf(text, sizeof(text),
		    "the state of the session could not be saved: %s",
		    json == NULL ? why : "out of memory");
		(void)report_warning(k->out, text);
		keep_finish(k);
		return;
	}
	if (keep_send(k))
		keep_finish(k);
}

bool
keep_save(struct keep *k, struct browser *browser, bool brief)
{
	k->browser = browser;
	if (!k->keeps || browser_is_gone(browser))
		return true;
	if (k->loaded)
		k->save = state_save(browser, k->before.data, k->before.len,
		    brief ? BRIEF_MS : SAVE_MS, keep_on_saved, k);
	if (k->save != NULL)
		return false;
	browser_leave(browser);
	return true;
}
