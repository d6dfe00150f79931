/*
 * scheme: a fence against addresses of other schemes than the web's, in the
 * worker. What a template asks for is looked at before it is sent; this is for
 * what pages do by themselves. The browser forbids them most of it already: it
 * is the second thing that has to break. Costs a page of the web nothing, since
 * no request of it is stopped.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "page/priv.h"

/* Enough of an address to tell its scheme. */
#define SCHEME_BYTES 32

/* Of requests, and of documents: an error page has one of its own. */
static const char *const schemes[] = {
	"http:", "https:", "about:", "data:", "blob:", "chrome-error:"
};

/* The beginning of an address, as the browser wrote it. */
static void
scheme_begin(struct json_span obj, char *dst, size_t size)
{
	struct json_span url;
	size_t len = 0;

	if (json_span_member(obj, "url", &url) && url.len >= 2)
		len = url.len - 2 < size - 1 ? url.len - 2 : size - 1;
	/* No scheme has escapes. */
	if (len > 0)
		memcpy(dst, url.ptr + 1, len);
	dst[len] = '\0';
}

/* Of an object with a member "url"; none is well, too. */
static bool
scheme_is_web(struct json_span obj)
{
	char url[SCHEME_BYTES];

	scheme_begin(obj, url, sizeof(url));
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return url[0] == '\0';
}

/*
 * The patterns stand with those of flight.c: to watch all of the browser cost a
 * batch of pages a tenth of its speed, a page that is watched anyway nothing.
 */
bool
scheme_on_paused(struct page *p, struct cdp_session *session, const char *id,
    struct json_span params)
{
	char text[PAGE_ID_MAX + 64];
	struct json_span request;
	struct iovec iov = { text, 0 };

	if (!json_span_member(params, "request", &request) ||
	    scheme_is_web(request))
		return false;
	iov.iov_len = (size_t)snprintf(text, sizeof(text),
	    "{\"requestId\":\"%s\",\"errorReason\":\"AccessDenied\"}", id);
	cdp_call(p->browser->cdp, session, "Fetch.failRequest", &iov, 1,
	    PAGE_CALL_MS, NULL, NULL);
	browser_warn(
	    p->browser, "a page asked for what is not of the web: refused");
	return true;
}

bool
scheme_allows(struct page *p, struct json_span frame)
{
	char url[SCHEME_BYTES];

	if (scheme_is_web(frame))
		return true;
	scheme_begin(frame, url, sizeof(url));
	browser_warn(p->browser,
	    "a page went to an address of the scheme %.*s: its tab is closed",
	    (int)strcspn(url, ":"), url);
	return false;
}

bool
scheme_on_document(struct page *p, struct json_span frame)
{
	if (scheme_allows(p, frame))
		return true;
	browser_close_target(p->browser, p->target);
	return false;
}
