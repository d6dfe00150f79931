/*
 * The import of a state, in the worker. It is read from a file and was written
 * by another version, perhaps: each cookie and each origin is taken or refused
 * by itself, and only what has the expected form is passed on.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "json/writer.h"
#include "model/limits.h"
#include "page/priv.h"
#include "page/state.h"

#define LOAD_CALL_MS 5000

static const char write_storage[] =
    "(list) => { localStorage.clear();"
    " for (const {name, value} of list) localStorage.setItem(name, value);"
    " return list.length }";

enum member_type {
	MEMBER_STRING,
	MEMBER_BOOL,
	MEMBER_NUMBER,
	MEMBER_OBJECT
};

struct state_load {
	struct browser *browser;
	struct event *deadline;
	struct json_doc *doc;
	state_load_cb *cb;
	void *arg;
	struct json_iter origins;
	unsigned asked; /* cookies that were set one by one */
	unsigned lost_cookies, lost_origins;
	bool bad; /* it could not be read at all */
};

void
state_load_free(struct state_load **lp)
{
	struct state_load *l = *lp;

	if (l == NULL)
		return;
	cdp_forget(l->browser->cdp, l);
	stage_forget(l->browser);
	stage_close(l->browser);
	if (l->deadline != NULL)
		event_free(l->deadline);
	json_doc_free(&l->doc);
	free(l);
	*lp = NULL;
}

static void
restore_finish(struct state_load *l)
{
	event_del(l->deadline);
	if (l->lost_cookies > 0)
		browser_warn(l->browser,
		    "%u cookies of the session could not be restored",
		    l->lost_cookies);
	if (l->lost_origins > 0)
		browser_warn(l->browser,
		    "the local storage of %u sites could not be restored",
		    l->lost_origins);
	l->cb(NULL, l->arg);
}

static bool
member_fits(struct json_val v, enum member_type type)
{
	switch (type) {
	case MEMBER_STRING:
		return json_is_string(v);
	case MEMBER_BOOL:
		return json_is_bool(v);
	case MEMBER_NUMBER:
		return json_is_number(v);
	case MEMBER_OBJECT:
		return json_is_object(v);
	}
	return false;
}

/* Writes one cookie as the browser takes it; false when it is none. */
static bool
restore_cookie(struct json_writer *w, struct json_val cookie)
{
	static const struct {
		const char *name;
		enum member_type type;
	} members[] = { { "name", MEMBER_STRING }, { "value", MEMBER_STRING },
		{ "domain", MEMBER_STRING }, { "path", MEMBER_STRING },
		{ "httpOnly", MEMBER_BOOL }, { "secure", MEMBER_BOOL },
		{ "sameSite", MEMBER_STRING }, { "priority", MEMBER_STRING },
		{ "sourceScheme", MEMBER_STRING },
		{ "sourcePort", MEMBER_NUMBER },
		{ "partitionKey", MEMBER_OBJECT } };
	const size_t required = 4;
	double expires;
	struct json_val v;

	for (size_t i = 0; i < required; i++) {
		if (!json_is_string(json_obj_get(cookie, members[i].name)))
			return false;
	}
	json_write_begin_object(w);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		v = json_obj_get(cookie, members[i].name);
		if (member_fits(v, members[i].type))
			json_put_val(w, members[i].name, v);
	}
	/* Without it the cookie lasts until the browser ends. */
	v = json_obj_get(cookie, "expires");
	if (json_get_double(v, &expires) && expires >= 0)
		json_put_val(w, "expires", v);
	json_write_end_object(w);
	return true;
}

static bool
restore_is_over(struct json_val cookie)
{
	double expires;

	return json_get_double(json_obj_get(cookie, "expires"), &expires) &&
	    expires >= 0 && expires * 1000 <= (double)clock_stamp_ms();
}

/*
 * Sets the cookie at it, or all that are left when all is true. Returns how
 * many were asked for.
 */
static unsigned
restore_set_cookies(
    struct state_load *l, struct json_iter *it, bool all, cdp_reply_cb *cb)
{
	struct json_writer w;
	struct iovec iov;
	unsigned n = 0;
	struct buf b;

	buf_init(&b, (size_t)LIMIT_STATE_BYTES * 2);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_write_key(&w, "cookies");
	json_write_begin_array(&w);
	while ((all || n == 0) && json_iter_next(it)) {
		if (restore_is_over(it->val))
			continue;
		if (restore_cookie(&w, it->val))
			n++;
		else if (all)
			l->lost_cookies++;
	}
	json_write_end_array(&w);
	json_write_end_object(&w);
	iov = (struct iovec){ b.data, b.len };
	if (n > 0 && json_writer_finish(&w))
		cdp_call(l->browser->cdp, NULL, "Storage.setCookies", &iov, 1,
		    LOAD_CALL_MS, cb, l);
	else
		n = 0;
	buf_clear(&b);
	return n;
}

static void restore_next_origin(struct state_load *);

static void
restore_on_storage(struct page *p, const struct page_result *r, void *arg)
{
	struct state_load *l = arg;

	if (r->status != PAGE_OK)
		l->lost_origins++;
	restore_next_origin(l);
}

static void
restore_next_origin(struct state_load *l)
{
	char origin[PAGE_ORIGIN_MAX + 1];
	const uint8_t *raw;
	struct json_val list;
	size_t len;

	while (json_iter_next(&l->origins)) {
		list = json_obj_get(l->origins.val, "localStorage");
		if (json_is_array(list) && json_raw(list, &raw, &len) &&
		    json_str_copy(json_obj_get(l->origins.val, "origin"),
			origin, sizeof(origin)) &&
		    stage_visit(l->browser, origin, write_storage, raw, len,
			restore_on_storage, l))
			return;
		l->lost_origins++;
	}
	restore_finish(l);
}

static void
restore_on_cookie(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct state_load *l = arg;

	if (r->status != CDP_OK)
		l->lost_cookies++;
	if (--l->asked == 0)
		restore_next_origin(l);
}

/* One bad cookie has all refused: then each is tried by itself. */
static void
restore_on_cookies(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct state_load *l = arg;
	struct json_iter it =
	    json_iter(json_obj_get(json_root(l->doc), "cookies"));

	if (r->status == CDP_ERROR) {
		while (
		    restore_set_cookies(l, &it, false, restore_on_cookie) > 0)
			l->asked++;
	} else if (r->status != CDP_OK)
		l->lost_cookies += (unsigned)json_len(
		    json_obj_get(json_root(l->doc), "cookies"));
	if (l->asked == 0)
		restore_next_origin(l);
}

static void
restore_on_cleared(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct state_load *l = arg;
	struct json_iter it =
	    json_iter(json_obj_get(json_root(l->doc), "cookies"));

	if (restore_set_cookies(l, &it, true, restore_on_cookies) == 0)
		restore_next_origin(l);
}

static void
restore_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct state_load *l = arg;

	if (l->bad) {
		l->cb("the saved state of the session cannot be read", l->arg);
		return;
	}
	browser_warn(l->browser,
	    "the saved state of the session could not be restored in time");
	/* What is still under way reaches nobody. */
	cdp_forget(l->browser->cdp, l);
	stage_forget(l->browser);
	l->cb(NULL, l->arg);
}

struct state_load *
state_load(struct browser *b, const void *json, size_t len, int timeout_ms,
    state_load_cb *cb, void *arg)
{
	struct json_limits limits = { .max_bytes = LIMIT_STATE_BYTES,
		.max_depth = 8 };
	struct timeval tv = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	struct state_load *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->browser = b;
	l->cb = cb;
	l->arg = arg;
	l->deadline = event_new(b->base, -1, 0, restore_on_deadline, l);
	if (l->deadline == NULL) {
		state_load_free(&l);
		return NULL;
	}
	l->bad = !json_parse(json, len, &limits, JSON_BORROW, &l->doc, NULL) ||
	    !json_is_object(json_root(l->doc));
	if (l->bad) {
		event_active(l->deadline, EV_TIMEOUT, 0);
		return l;
	}
	l->origins = json_iter(json_obj_get(json_root(l->doc), "origins"));
	event_add(l->deadline, &tv);
	cdp_call(b->cdp, NULL, "Storage.clearCookies", NULL, 0, LOAD_CALL_MS,
	    restore_on_cleared, l);
	return l;
}
