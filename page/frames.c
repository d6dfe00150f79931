/*
 * Frames of other sites, in the worker. Each has a process of its own, which
 * the page's session does not reach, and which later pages share when they
 * hold a frame of the same site: a script that hangs there would leave them
 * incomplete as well. So each such frame has a session here, used for one
 * thing only: to stop its script. A page without such frames causes no event.
 *
 * The session must be there before the frame's first script; a process whose
 * script hangs lets no new session in.
 */
#include <stdlib.h>
#include <string.h>

#include "page/device.h"
#include "page/priv.h"

#define FRAMES_MAX      64
#define FRAMES_REPLY_MS 300

struct page_frame {
	TAILQ_ENTRY(page_frame) next;
	struct page *page;
	struct cdp_session *session;
	bool asked;
	char target[PAGE_ID_MAX + 1]; /* also the id of the frame */
};

void
frames_watch(struct page *p, struct cdp_session *session)
{
	static const char params[] =
	    "{\"autoAttach\":true,\"waitForDebuggerOnStart\":false,"
	    "\"flatten\":true,\"filter\":[{\"type\":\"iframe\"}]}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };

	cdp_call(p->browser->cdp, session, "Target.setAutoAttach", &iov, 1,
	    PAGE_OPEN_MS, NULL, NULL);
}

void
frames_watch_again(struct page *p)
{
	static const char params[] =
	    "{\"autoAttach\":false,\"waitForDebuggerOnStart\":false,"
	    "\"flatten\":true}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };

	cdp_call(p->browser->cdp, p->session, "Target.setAutoAttach", &iov, 1,
	    PAGE_OPEN_MS, NULL, NULL);
	frames_watch(p, p->session);
}

static void
frame_free(struct page_frame *f)
{
	struct page *p = f->page;

	TAILQ_REMOVE(&p->frames, f, next);
	p->nframes--;
	cdp_forget(p->browser->cdp, f);
	cdp_session_free(&f->session);
	free(f);
}

static void frames_report(struct page *);

/* Its own frames come and go by its session. */
static void
frame_on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	struct page_frame *f = arg;

	frames_on_event(f->page, ev);
}

static void
frames_on_attached(struct page *p, struct json_span params)
{
	char session[PAGE_ID_MAX + 1];
	struct json_span info;
	struct page_frame *f;

	if (p->nframes == FRAMES_MAX ||
	    !page_member_str(params, "sessionId", session, sizeof(session)) ||
	    !json_span_member(params, "targetInfo", &info) ||
	    (f = calloc(1, sizeof(*f))) == NULL)
		return;
	f->page = p;
	f->session = cdp_session_new(
	    p->browser->cdp, session, strlen(session), frame_on_event, f);
	if (f->session == NULL) {
		free(f);
		return;
	}
	(void)page_member_str(info, "targetId", f->target, sizeof(f->target));
	TAILQ_INSERT_TAIL(&p->frames, f, next);
	p->nframes++;
	frames_watch(p, f->session);
	device_tell(p->browser, f->session);
}

static void
frames_on_detached(struct page *p, struct json_span params)
{
	struct page_frame *f;
	struct json_span id;

	if (!json_span_member(params, "sessionId", &id))
		return;
	TAILQ_FOREACH(f, &p->frames, next) {
		if (json_span_str_eq(id, cdp_session_id(f->session))) {
			frame_free(f);
			frames_report(p);
			return;
		}
	}
}

void
frames_on_event(struct page *p, const struct cdp_event *ev)
{
	if (ev->kind == CDP_EV_TARGET_ATTACHED)
		frames_on_attached(p, ev->params);
	else if (ev->kind == CDP_EV_TARGET_DETACHED)
		frames_on_detached(p, ev->params);
}

void
frames_clear(struct page *p)
{
	struct page_frame *f;

	while ((f = TAILQ_FIRST(&p->frames)) != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the list */
		frame_free(f);
}

static void
frame_stop(struct page_frame *f)
{
	cdp_call(f->page->browser->cdp, f->session,
	    "Runtime.terminateExecution", NULL, 0, PAGE_CALL_MS, NULL, NULL);
}

bool
frames_stop_one(struct page *p, const char *frame_id)
{
	struct page_frame *f;

	TAILQ_FOREACH(f, &p->frames, next) {
		if (strcmp(f->target, frame_id) == 0) {
			frame_stop(f);
			return true;
		}
	}
	return false;
}

void
frames_stop(struct page *p)
{
	struct page_frame *f;

	TAILQ_FOREACH(f, &p->frames, next)
		frame_stop(f);
}

/* Ends the check when the last frame has been heard of. */
static void
frames_report(struct page *p)
{
	struct page_frame *f;

	TAILQ_FOREACH(f, &p->frames, next) {
		if (f->asked)
			return;
	}
	load_on_frames(p);
}

static void
frame_on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page_frame *f = arg;
	struct page *p = f->page;

	f->asked = false;
	if (r->status == CDP_TIMEOUT) {
		browser_warn(p->browser,
		    "a frame of a page did not answer; its script was stopped");
		frame_stop(f);
	}
	frames_report(p);
}

bool
frames_check(struct page *p)
{
	static const char params[] = "{\"expression\":\"1\"}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };
	struct page_frame *f;

	TAILQ_FOREACH(f, &p->frames, next) {
		f->asked = true;
		cdp_call(p->browser->cdp, f->session, "Runtime.evaluate", &iov,
		    1, FRAMES_REPLY_MS, frame_on_reply, f);
	}
	return p->nframes > 0;
}
