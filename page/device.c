/*
 * What pages learn of their reader, in the worker: the size of the window, the
 * user agent, language and time zone. Told to each tab and each frame of another
 * site by its debugger session, and over with it: a browser that lives on is as
 * it was for the next worker.
 */
#include <string.h>

#include "json/writer.h"
#include "page/device.h"
#include "page/priv.h"

#define DEVICE_JSON_BYTES 4096

static void
device_call(struct browser *b, struct cdp_session *session, const char *method,
    struct json_writer *w, struct buf *params)
{
	struct iovec iov;

	json_write_end_object(w);
	iov = (struct iovec){ params->data, params->len };
	if (json_writer_finish(w))
		cdp_call(
		    b->cdp, session, method, &iov, 1, PAGE_CALL_MS, NULL, NULL);
	buf_clear(params);
}

static void
device_begin(struct json_writer *w, struct buf *params)
{
	buf_init(params, DEVICE_JSON_BYTES);
	json_writer_init(w, params);
	json_write_begin_object(w);
}

void
device_tell_size(struct page *p)
{
	const struct browser_device *d = &p->browser->device;
	struct json_writer w;
	struct buf params;

	if (d->width == 0 || d->height == 0)
		return;
	device_begin(&w, &params);
	json_put_int64(&w, "width", d->width);
	json_put_int64(&w, "height", d->height);
	json_put_int64(&w, "deviceScaleFactor", 0);
	json_put_bool(&w, "mobile", false);
	device_call(p->browser, p->session,
	    "Emulation.setDeviceMetricsOverride", &w, &params);
}

/* An empty user agent leaves the browser's own. */
static void
device_tell_agent(struct browser *b, struct cdp_session *session)
{
	const struct browser_device *d = &b->device;
	struct json_writer w;
	struct buf params;

	if (d->user_agent[0] == '\0' && d->locale[0] == '\0')
		return;
	device_begin(&w, &params);
	json_put_str(&w, "userAgent", d->user_agent);
	if (d->locale[0] != '\0')
		json_put_str(&w, "acceptLanguage", d->locale);
	device_call(b, session, "Emulation.setUserAgentOverride", &w, &params);
}

static void
device_tell_text(struct browser *b, struct cdp_session *session,
    const char *method, const char *name, const char *value)
{
	struct json_writer w;
	struct buf params;

	if (value[0] == '\0')
		return;
	device_begin(&w, &params);
	json_put_str(&w, name, value);
	device_call(b, session, method, &w, &params);
}

/*
 * A process has one locale and one time zone: a second session of the same
 * process is refused what the first one has set, which is the same.
 */
void
device_tell(struct browser *b, struct cdp_session *session)
{
	device_tell_agent(b, session);
	device_tell_text(b, session, "Emulation.setLocaleOverride", "locale",
	    b->device.locale);
	device_tell_text(b, session, "Emulation.setTimezoneOverride",
	    "timezoneId", b->device.timezone);
}

void
browser_set_device(struct browser *b, const struct browser_device *device)
{
	struct page *p;

	b->device = *device;
	TAILQ_FOREACH(p, &b->pages, next) {
		if (p->session == NULL)
			continue;
		device_tell_size(p);
		device_tell(b, p->session);
	}
}
