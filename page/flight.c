/*
 * What a page's scripts have asked the network for and not been answered, in
 * the worker. The browser holds such requests (fetch and XMLHttpRequest only)
 * for us twice, before they leave and when their answer begins, and we let
 * them go at once; a page without scripts causes no event at all. Nothing here
 * changes a request; what is none of the web's is scheme.c's to refuse.
 *
 * A request that is aborted is not reported again, and one that a document
 * left behind neither: so all of them are forgotten with their document, and
 * nobody waits for one longer than the time a page may take to become stable.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "page/priv.h"

/*
 * The first request of a new document may be reported just before the document
 * itself is.
 */
#define FLIGHT_EARLY_MS 20

void
flight_watch(struct page *p)
{
	static const char params[] =
	    "{\"patterns\":[{\"urlPattern\":\"file:*\"},"
	    "{\"urlPattern\":\"filesystem:*\"},{\"urlPattern\":\"ftp:*\"},"
	    "{\"resourceType\":\"XHR\",\"requestStage\":\"Request\"},"
	    "{\"resourceType\":\"XHR\",\"requestStage\":\"Response\"},"
	    "{\"resourceType\":\"Fetch\",\"requestStage\":\"Request\"},"
	    "{\"resourceType\":\"Fetch\",\"requestStage\":\"Response\"}]}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };

	cdp_call(p->browser->cdp, p->session, "Fetch.enable", &iov, 1,
	    PAGE_OPEN_MS, NULL, NULL);
}

static void
flight_start(struct page *p, const char *id)
{
	struct page_flights *f = &p->flights;

	/* With so many under way the page is busy until one of them ends. */
	if (f->n == PAGE_FLIGHTS_MAX)
		return;
	strlcpy(f->list[f->n].id, id, sizeof(f->list[0].id));
	f->list[f->n++].started_ms = clock_mono_ms();
}

static void
flight_end(struct page *p, const char *id)
{
	struct page_flights *f = &p->flights;

	f->ended_ms = clock_mono_ms();
	for (unsigned i = 0; i < f->n; i++) {
		if (strcmp(f->list[i].id, id) == 0) {
			f->list[i] = f->list[--f->n];
			return;
		}
	}
}

bool
flight_let_go(
    struct page *p, struct cdp_session *session, struct json_span params)
{
	char id[PAGE_ID_MAX + 1], text[PAGE_ID_MAX + 32];
	struct iovec iov = { text, 0 };

	if (!page_member_str(params, "requestId", id, sizeof(id)) ||
	    scheme_on_paused(p, session, id, params))
		return false;
	iov.iov_len =
	    (size_t)snprintf(text, sizeof(text), "{\"requestId\":\"%s\"}", id);
	cdp_call(p->browser->cdp, session, "Fetch.continueRequest", &iov, 1,
	    PAGE_CALL_MS, NULL, NULL);
	return true;
}

void
flight_on_paused(struct page *p, struct json_span params)
{
	char id[PAGE_ID_MAX + 1];
	struct json_span span;

	if (!page_member_str(params, "requestId", id, sizeof(id)))
		return;
	if (p->staged) {
		stage_on_paused(p, id);
		return;
	}
	if (!flight_let_go(p, p->session, params))
		return;
	if (!json_span_member(params, "responseStatusCode", &span) &&
	    !json_span_member(params, "responseErrorReason", &span)) {
		flight_start(p, id);
		return;
	}
	flight_end(p, id);
	load_on_landed(p);
}

void
flight_on_commit(struct page *p)
{
	int64_t since = clock_mono_ms() - FLIGHT_EARLY_MS;
	struct page_flights *f = &p->flights;
	unsigned kept = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (f->list[i].started_ms >= since)
			f->list[kept++] = f->list[i];
	}
	f->n = kept;
	f->ended_ms = 0;
}

int64_t
flight_wait_until(const struct page *p, int patience_ms)
{
	const struct page_flights *f = &p->flights;
	int64_t last = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (f->list[i].started_ms > last)
			last = f->list[i].started_ms;
	}
	return last == 0 ? 0 : last + patience_ms;
}
