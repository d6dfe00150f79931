/*
 * A tab's life in the worker: open, one operation at a time, dialogs answered
 * the moment they appear, crash and loss told to whoever waits, close. What an
 * operation does is in navigate.c and script.c; how a tab that does not answer
 * is dealt with is in recover.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/panic.h"
#include "json/writer.h"
#include "page/device.h"
#include "page/priv.h"
#include "page/scripts.h"

bool
page_member_str(struct json_span obj, const char *key, char *dst, size_t size)
{
	struct json_span span;

	return json_span_member(obj, key, &span) &&
	    json_span_str_copy(span, dst, size);
}

void
page_send(struct page *p, const char *method, const char *key,
    const char *value, int timeout_ms, cdp_reply_cb *cb)
{
	struct json_writer w;
	struct iovec iov;
	struct buf b;

	buf_init(&b, PAGE_URL_MAX_BYTES * 6 + 256);
	if (key != NULL) {
		json_writer_init(&w, &b);
		json_write_begin_object(&w);
		json_put_str(&w, key, value);
		json_write_end_object(&w);
	}
	iov = (struct iovec){ b.data, b.len };
	cdp_call(p->browser->cdp, p->session, method, &iov, key != NULL,
	    timeout_ms, cb, p);
	buf_clear(&b);
}

void
page_free(struct page **pp)
{
	struct page *p = *pp;

	if (p == NULL)
		return;
	MAGIC_CHECK(p, PAGE_MAGIC);
	frames_clear(p);
	openers_close(p);
	cdp_forget(p->browser->cdp, p);
	cdp_session_free(&p->session);
	TAILQ_REMOVE(&p->browser->pages, p, next);
	p->browser->npages--;
	if (p->deadline != NULL)
		event_free(p->deadline);
	if (p->pause != NULL)
		event_free(p->pause);
	if (p->farewell != NULL)
		event_free(p->farewell);
	buf_clear(&p->script);
	buf_clear(&p->doc);
	act_clear(p);
	p->magic = 0;
	free(p);
	*pp = NULL;
}

void
page_begin(struct page *p, enum page_op op, int timeout_ms, void *arg)
{
	struct timeval tv = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };

	p->op = op;
	p->arg = arg;
	p->used = ++p->browser->uses;
	p->late_status = PAGE_OK;
	p->dialogs = 0;
	p->popups = 0;
	event_add(p->deadline, &tv);
}

void
page_pause(struct page *p, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(p->pause, &tv);
}

/* Answers that are still to come belong to nobody any more. */
static enum page_op
page_end_op(struct page *p)
{
	enum page_op op = p->op;

	p->op = OP_NONE;
	event_del(p->deadline);
	event_del(p->pause);
	cdp_forget(p->browser->cdp, p);
	buf_reset(&p->script);
	return op;
}

static void
page_on_farewell(evutil_socket_t fd, short what, void *arg)
{
	struct page *p = arg;

	if (p->close_cb != NULL)
		p->close_cb(p, PAGE_CLOSED, "", p->close_arg);
	page_free(&p);
}

static void
page_on_closed(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_TIMEOUT)
		browser_report_stuck(
		    p->browser, "a tab could not be closed within 5 s");
	page_on_farewell(-1, 0, p);
}

/* Closes the tab, if there is one, and frees the page when that is done. */
static void
page_leave(struct page *p)
{
	p->state = STATE_LOST;
	openers_close(p);
	if (p->target[0] == '\0' || browser_is_gone(p->browser) ||
	    p->browser->kept == p)
		event_active(p->farewell, EV_TIMEOUT, 0);
	else
		page_close_target(p, page_on_closed);
}

static void
page_finish_open(struct page *p, enum page_status status, const char *message)
{
	if (status == PAGE_OK) {
		p->state = STATE_OPEN;
		p->cb.open(p, status, message, p->arg);
		return;
	}
	p->closing = true;
	p->cb.open(p, status, message, p->arg);
	page_leave(p);
}

void
page_finish(struct page *p, enum page_status status, const char *message)
{
	struct page_result result = { status, message, NULL, 0 };
	struct page_nav nav;

	switch (page_end_op(p)) {
	case OP_OPEN:
		page_finish_open(p, status, message);
		break;
	case OP_NAVIGATE:
	case OP_STABLE:
		if (p->load.stopped)
			page_set_scripts(p, true);
		load_result(p, status, message, &nav);
		p->cb.nav(p, &nav, p->arg);
		break;
	case OP_EVAL:
	case OP_EXTRACT:
		p->cb.result(p, &result, p->arg);
		break;
	case OP_ACT:
		act_finish(p, status, message);
		break;
	case OP_NONE:
		break;
	}
}

void
page_finish_later(struct page *p, enum page_status status, const char *message)
{
	p->late_status = status;
	snprintf(p->late_message, sizeof(p->late_message), "%s", message);
	event_active(p->deadline, EV_TIMEOUT, 0);
}

void
page_finish_json(struct page *p, const char *json, size_t len)
{
	struct page_result result = { PAGE_OK, "", json, len };

	page_end_op(p);
	p->cb.result(p, &result, p->arg);
}

void
page_on_lost(struct page *p, enum page_status status, const char *message)
{
	if (p->state == STATE_LOST)
		return;
	p->state = STATE_LOST;
	p->context = 0;
	if (status != PAGE_CRASHED)
		cdp_session_free(&p->session);
	if (p->op != OP_NONE)
		page_finish(p, status, message);
}

void
page_on_crash(struct page *p, struct json_span params)
{
	char status[16] = "";
	struct json_span code;
	int64_t signo = 0;

	(void)page_member_str(params, "status", status, sizeof(status));
	if (json_span_member(params, "errorCode", &code))
		(void)json_span_get_int64(code, &signo);
	/* The cell does so, and a kernel short of memory; others hardly. */
	page_on_lost(p, PAGE_CRASHED,
	    strcmp(status, "killed") == 0 && signo == SIGKILL
		? "the page was killed, as one is that takes too much of the "
		  "memory its run may use (setting runMemoryBytes)"
		: "the page crashed");
}

static void
page_on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	struct page *p = arg;

	MAGIC_CHECK(p, PAGE_MAGIC);
	switch (ev->kind) {
	case CDP_EV_DIALOG_OPENING:
		page_on_dialog(p, ev->params);
		break;
	case CDP_EV_TARGET_ATTACHED:
	case CDP_EV_TARGET_DETACHED:
		frames_on_event(p, ev);
		break;
	case CDP_EV_REQUEST_PAUSED:
		flight_on_paused(p, ev->params);
		break;
	default:
		load_on_event(p, ev);
		break;
	}
}

static void
page_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct page *p = arg;

	if (p->late_status != PAGE_OK)
		page_finish(p, p->late_status, p->late_message);
	else if (p->op == OP_OPEN)
		page_finish(p, PAGE_TIMEOUT, "the tab did not open in time");
	else if (page_is_loading(p))
		load_on_deadline(p);
	else if (p->op != OP_NONE)
		page_recover(
		    p, PAGE_TIMEOUT, "the page did not answer in time");
}

static void
page_on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct page *p = arg;

	if (p->op == OP_ACT && !p->act.settling)
		act_on_pause(p);
	else
		load_on_pause(p);
}

static void
page_on_enabled(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_OK)
		page_finish(p, PAGE_OK, "");
	else
		page_finish(p, r->status == CDP_GONE ? PAGE_GONE : PAGE_CRASHED,
		    r->message);
}

void
page_be_undrawn(struct page *p)
{
	struct iovec iov[] = { SCRIPT_LITERAL("{\"source\":\""),
		SCRIPT_IOV(undrawn), SCRIPT_LITERAL("("), SCRIPT_IOV(pending),
		SCRIPT_LITERAL("())\"}") };

	cdp_call(p->browser->cdp, p->session,
	    "Page.addScriptToEvaluateOnNewDocument", iov, 5, PAGE_OPEN_MS, NULL,
	    NULL);
}

/* What a tab is told before its first script. */
static void
page_set_up(struct page *p, bool fresh, cdp_reply_cb *cb)
{
	flight_watch(p);
	frames_watch(p, p->session);
	if (p->browser->undrawn && fresh)
		page_be_undrawn(p);
	device_tell_size(p);
	device_tell(p->browser, p->session);
	page_send(p, "Page.enable", NULL, NULL, PAGE_OPEN_MS, cb);
	cdp_call(p->browser->cdp, p->session, "Inspector.enable", NULL, 0,
	    PAGE_OPEN_MS, NULL, NULL);
	cdp_call(p->browser->cdp, p->session, "Runtime.runIfWaitingForDebugger",
	    NULL, 0, PAGE_OPEN_MS, NULL, NULL);
}

/*
 * The browser attached us to the tab we asked for. Page.enable is awaited
 * before anything is loaded, else the load event is now and then lost.
 */
void
page_adopt(struct page *p, const char *session, size_t len)
{
	if (p->session != NULL || p->op != OP_OPEN)
		return;
	p->session =
	    cdp_session_new(p->browser->cdp, session, len, page_on_event, p);
	if (p->session == NULL)
		page_finish(p, PAGE_CRASHED, "the tab could not be attached");
	else
		page_set_up(p, true, page_on_enabled);
}

bool
page_move(struct page *p, const char *session, const char *target, bool fresh,
    cdp_reply_cb *cb)
{
	struct cdp_session *s = cdp_session_new(
	    p->browser->cdp, session, strlen(session), page_on_event, p);

	if (s == NULL)
		return false;
	frames_clear(p);
	flight_on_commit(p);
	cdp_session_free(&p->session);
	p->session = s;
	p->context = 0;
	p->loader[0] = p->origin[0] = '\0';
	strlcpy(p->target, target, sizeof(p->target));
	if (p->scripts_off)
		page_set_scripts(p, false);
	page_set_up(p, fresh, cb);
	return true;
}

static void
page_on_created(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status != CDP_OK ||
	    !page_member_str(
		r->result, "targetId", p->target, sizeof(p->target))) {
		page_finish(p, r->status == CDP_GONE ? PAGE_GONE : PAGE_CRASHED,
		    "the tab could not be opened");
		return;
	}
	if (p->closing)
		page_finish(p, PAGE_CLOSED, "closed while it opened");
	else
		browser_claim_target(p->browser, p);
}

struct page *
page_new(struct browser *b, int timeout_ms, page_cb *cb, void *arg)
{
	struct page *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->magic = PAGE_MAGIC;
	p->browser = b;
	buf_init(&p->script, PAGE_JSON_MAX);
	buf_init(&p->doc, PAGE_JSON_MAX);
	TAILQ_INIT(&p->frames);
	TAILQ_INIT(&p->openers);
	TAILQ_INSERT_TAIL(&b->pages, p, next);
	b->npages++;
	p->deadline = event_new(b->base, -1, 0, page_on_deadline, p);
	p->pause = event_new(b->base, -1, 0, page_on_pause, p);
	p->farewell = event_new(b->base, -1, 0, page_on_farewell, p);
	if (p->deadline == NULL || p->pause == NULL || p->farewell == NULL) {
		page_free(&p);
		return NULL;
	}
	p->cb.open = cb;
	page_begin(p, OP_OPEN, timeout_ms, arg);
	return p;
}

struct page *
page_open(struct browser *b, page_cb *cb, void *arg)
{
	static const char params[] =
	    "{\"url\":\"about:blank\",\"newWindow\":true,"
	    "\"width\":1280,\"height\":800}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };
	struct page *p;

	MAGIC_CHECK(b, BROWSER_MAGIC);
	if (browser_is_gone(b) || b->npages >= b->options.max_pages ||
	    (p = page_new(b, PAGE_OPEN_MS, cb, arg)) == NULL)
		return NULL;
	cdp_call(b->cdp, NULL, "Target.createTarget", &iov, 1, PAGE_OPEN_MS,
	    page_on_created, p);
	return p;
}

void
page_close(struct page *p, page_cb *cb, void *arg)
{
	MAGIC_CHECK(p, PAGE_MAGIC);
	if (p->closing)
		return;
	p->closing = true;
	p->close_cb = cb;
	p->close_arg = arg;
	if (p->op == OP_OPEN) {
		/* Without its name the tab cannot be closed: await it. */
		if (p->target[0] != '\0' || browser_is_gone(p->browser))
			page_finish(p, PAGE_CLOSED, "the tab was closed");
		return;
	}
	if (p->op != OP_NONE)
		page_finish(p, PAGE_CLOSED, "the tab was closed");
	page_leave(p);
}

void
page_set_scripts(struct page *p, bool on)
{
	const char *params = on ? "{\"value\":false}" : "{\"value\":true}";
	struct iovec iov = { (void *)(uintptr_t)params, strlen(params) };

	MAGIC_CHECK(p, PAGE_MAGIC);
	if (!page_is_open(p))
		return;
	p->scripts_off = !on;
	cdp_call(p->browser->cdp, p->session,
	    "Emulation.setScriptExecutionDisabled", &iov, 1, PAGE_CALL_MS, NULL,
	    NULL);
}

bool
page_is_open(const struct page *p)
{
	return p->state == STATE_OPEN && !p->closing;
}

bool
page_is_busy(const struct page *p)
{
	return p->op != OP_NONE;
}

const struct page_counters *
page_counters(const struct page *p)
{
	return &p->counters;
}
