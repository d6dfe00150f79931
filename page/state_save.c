/*
 * The export of a state, in the worker: the cookies in one question to the
 * browser, then origin after origin, each in a tab that shows it and is idle,
 * else on the stage. A site can make its own part too large or unreadable, and
 * then loses that; never the whole.
 */
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "model/limits.h"
#include "page/priv.h"
#include "page/state.h"

#define SAVE_EVAL_MS 1000
/* Beside what the origins take: brackets and names of the whole. */
#define SAVE_FRAME_BYTES 64

/* A page may have gone elsewhere in the meantime: then it is no answer. */
static const char read_storage[] =
    "(origin) => location.origin !== origin ? null :"
    " Array.from({length: localStorage.length}, (_, i) => {"
    " const name = localStorage.key(i);"
    " return {name, value: localStorage.getItem(name)} })";

struct state_save {
	struct browser *browser;
	struct event *deadline;
	struct json_doc *before; /* NULL: there is none */
	state_save_cb *cb;
	void *arg;
	struct buf cookies; /* a JSON array */
	struct buf origins; /* JSON objects with commas between */
	bool has_cookies;
	bool staged;     /* the current origin is tried on the stage */
	struct buf name; /* of it, as JSON */
	unsigned lost;
	unsigned next, n;
	char list[BROWSER_ORIGINS_MAX][PAGE_ORIGIN_MAX + 1];
};

static void
save_ignore(struct page *p, const struct page_result *r, void *arg)
{
	/* Its job has ended. */
}

void
state_save_free(struct state_save **sp)
{
	struct state_save *s = *sp;
	struct page *p;

	if (s == NULL)
		return;
	cdp_forget(s->browser->cdp, s);
	stage_forget(s->browser);
	stage_close(s->browser);
	TAILQ_FOREACH(p, &s->browser->pages, next) {
		if (p->op == OP_EVAL && p->arg == s)
			p->cb.result = save_ignore;
	}
	if (s->deadline != NULL)
		event_free(s->deadline);
	json_doc_free(&s->before);
	buf_clear(&s->name);
	buf_clear(&s->cookies);
	buf_clear(&s->origins);
	free(s);
	*sp = NULL;
}

static bool
save_knows(const struct state_save *s, struct json_val origin)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->list[i][0] != '\0' && json_str_eq(origin, s->list[i]))
			return true;
	}
	return false;
}

static bool
save_add(struct state_save *s, const void *bytes, size_t len)
{
	size_t used = s->cookies.len + s->origins.len + SAVE_FRAME_BYTES;

	if (len > LIMIT_STATE_BYTES || used + len > LIMIT_STATE_BYTES)
		return false;
	if (s->origins.len > 0)
		buf_add_str(&s->origins, ",");
	buf_add(&s->origins, bytes, len);
	return true;
}

/* What an earlier state says of origins that were not asked now. */
static void
save_take_over(struct state_save *s)
{
	struct json_iter it =
	    json_iter(json_obj_get(json_root(s->before), "origins"));
	const uint8_t *raw;
	size_t len;

	while (json_iter_next(&it)) {
		if (json_is_object(it.val) &&
		    !save_knows(s, json_obj_get(it.val, "origin")) &&
		    json_raw(it.val, &raw, &len) && !save_add(s, raw, len))
			s->lost++;
	}
}

static void
save_finish(struct state_save *s)
{
	struct buf json;

	event_del(s->deadline);
	save_take_over(s);
	buf_init(&json, LIMIT_STATE_BYTES);
	buf_add_str(&json, "{\"cookies\":");
	buf_add(&json, s->cookies.data, s->cookies.len);
	buf_add_str(&json, ",\"origins\":[");
	buf_add(&json, s->origins.data, s->origins.len);
	buf_add_str(&json, "]}");
	if (s->lost > 0)
		browser_warn(s->browser,
		    "the local storage of %u sites could not be saved",
		    s->lost);
	if (json.failed || s->cookies.failed || s->origins.failed)
		s->cb(NULL, "too large a state", s->arg);
	else
		s->cb(&json, NULL, s->arg);
	buf_clear(&json);
}

static void save_go_on(struct state_save *);

/* The origin at hand is left to what an earlier state said of it. */
static void
save_lose(struct state_save *s)
{
	s->lost++;
	s->list[s->next - 1][0] = '\0';
	save_go_on(s);
}

/* The value comes from our own script, yet a browser wrote it. */
static bool
save_is_list(const struct page_result *r)
{
	struct json_limits limits = { .max_bytes = LIMIT_STATE_BYTES,
		.max_depth = 3 };
	struct json_doc *doc;
	bool is;

	if (!json_parse((const uint8_t *)r->json, r->len, &limits, JSON_BORROW,
		&doc, NULL))
		return false;
	is = json_is_array(json_root(doc));
	json_doc_free(&doc);
	return is;
}

static void
save_on_storage(struct page *, const struct page_result *, void *arg);

static void
save_on_stage(struct state_save *s)
{
	s->staged = true;
	if (!stage_visit(s->browser, s->list[s->next - 1], read_storage,
		s->name.data, s->name.len, save_on_storage, s))
		save_lose(s);
}

static void
save_on_storage(struct page *p, const struct page_result *r, void *arg)
{
	struct state_save *s = arg;
	const char *origin = s->list[s->next - 1];
	struct json_writer w;
	struct buf entry;
	bool good;

	if (r->status != PAGE_OK || !save_is_list(r)) {
		if (s->staged)
			save_lose(s);
		else
			save_on_stage(s);
		return;
	}
	good = true;
	if (r->len > 2) {
		buf_init(&entry, LIMIT_STATE_BYTES);
		json_writer_init(&w, &entry);
		json_write_begin_object(&w);
		json_put_str(&w, "origin", origin);
		json_put_raw(&w, "localStorage", r->json, r->len);
		json_write_end_object(&w);
		good = json_writer_finish(&w) &&
		    save_add(s, entry.data, entry.len);
		buf_clear(&entry);
	}
	if (good)
		save_go_on(s);
	else
		save_lose(s);
}

/* Asks the next origin, in a tab of its own if no idle one shows it. */
static void
save_go_on(struct state_save *s)
{
	struct json_writer w;
	const char *origin;
	unsigned long used;
	struct page *p;

	if (s->next == s->n) {
		save_finish(s);
		return;
	}
	origin = s->list[s->next++];
	s->staged = false;
	buf_reset(&s->name);
	json_writer_init(&w, &s->name);
	json_write_str(&w, origin);
	TAILQ_FOREACH(p, &s->browser->pages, next) {
		used = p->used;
		if (!p->staged && strcmp(p->origin, origin) == 0 &&
		    page_eval(p, read_storage, sizeof(read_storage) - 1,
			(const char *)s->name.data, s->name.len, SAVE_EVAL_MS,
			save_on_storage, s)) {
			/* This is no use of the tab. */
			p->used = used;
			return;
		}
	}
	save_on_stage(s);
}

static void
save_cookie(struct json_writer *w, struct json_val cookie)
{
	static const char *const names[] = { "name", "value", "domain", "path",
		"expires", "httpOnly", "secure", "sameSite", "priority",
		"sourceScheme", "sourcePort", "partitionKey" };
	struct json_val v;

	json_write_begin_object(w);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		v = json_obj_get(cookie, names[i]);
		if (!json_is_missing(v))
			json_put_val(w, names[i], v);
	}
	json_write_end_object(w);
}

static void
save_on_cookies(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct json_limits limits = { .max_bytes = CDP_MESSAGE_MAX_BYTES };
	struct state_save *s = arg;
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct json_iter it;

	if (r->status != CDP_OK ||
	    !json_parse(r->result.ptr, r->result.len, &limits,
		JSON_BORROW | JSON_REPAIR_UTF8, &doc, NULL)) {
		event_del(s->deadline);
		s->cb(NULL,
		    r->status == CDP_OK ? "unreadable cookies" : r->message,
		    s->arg);
		return;
	}
	json_writer_init(&w, &s->cookies);
	json_write_begin_array(&w);
	it = json_iter(json_obj_get(json_root(doc), "cookies"));
	while (json_iter_next(&it)) {
		/* One of a document without an origin cannot be set again. */
		if (json_is_missing(json_obj_get(it.val, "partitionKeyOpaque")))
			save_cookie(&w, it.val);
	}
	json_write_end_array(&w);
	json_doc_free(&doc);
	s->has_cookies = true;
	save_go_on(s);
}

/* What is not known by now stays as an earlier state says. */
static void
save_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct state_save *s = arg;

	if (!s->has_cookies) {
		s->cb(NULL, "the browser did not answer in time", s->arg);
		return;
	}
	if (s->next > 0) {
		s->lost += s->n - s->next + 1;
		for (unsigned i = s->next - 1; i < s->n; i++)
			s->list[i][0] = '\0';
	}
	save_finish(s);
}

struct state_save *
state_save(struct browser *b, const void *before, size_t before_len,
    int timeout_ms, state_save_cb *cb, void *arg)
{
	struct timeval tv = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	struct state_save *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->browser = b;
	s->cb = cb;
	s->arg = arg;
	buf_init(&s->name, PAGE_ORIGIN_MAX * 6 + 2);
	buf_init(&s->cookies, LIMIT_STATE_BYTES);
	buf_init(&s->origins, LIMIT_STATE_BYTES);
	s->deadline = event_new(b->base, -1, 0, save_on_deadline, s);
	if (s->deadline == NULL) {
		state_save_free(&s);
		return NULL;
	}
	if (before_len > 0)
		(void)json_parse(
		    before, before_len, NULL, JSON_BORROW, &s->before, NULL);
	s->n = b->norigins;
	memcpy(s->list, b->origins, sizeof(s->list));
	event_add(s->deadline, &tv);
	cdp_call(b->cdp, NULL, "Storage.getCookies", NULL, 0, timeout_ms + 1000,
	    save_on_cookies, s);
	return s;
}
