/*
 * cookies: how many a page has, in the worker. What is in them stays in the
 * browser: they are as good as passwords.
 */
#include <stdio.h>
#include <string.h>

#include "cdp/cdp.h"
#include "common/panic.h"
#include "json/tape.h"
#include "page/cookies.h"
#include "page/priv.h"

#define COOKIE_BYTES_MAX 8192 /* of a name or a value; browsers take 4096 */

/* False when the operation has ended for want of a good answer. */
static bool
is_good(struct page *p, const struct cdp_reply *r)
{
	if (r->status == CDP_OK)
		return true;
	if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else if (r->status == CDP_TIMEOUT)
		page_recover(
		    p, PAGE_TIMEOUT, "the page did not answer in time");
	else
		page_finish(p, PAGE_SCRIPT_FAILED, r->message);
	return false;
}

/* A cookie that says who is signed in, by what servers usually do. */
static bool
may_keep_session(struct json_val cookie, const char *name)
{
	static const char *const words[] = { "sess", "sid", "auth", "token",
		"login", "logged", "user", "remember", "jwt" };
	bool http_only = false;

	(void)json_get_bool(json_obj_get(cookie, "httpOnly"), &http_only);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		http_only = http_only || strcasestr(name, words[i]) != NULL;
	return http_only;
}

/* FNV-1a, with the end of the text. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	while (*text++ != '\0');
	return hash;
}

static uint64_t
hash_cookie(struct json_val cookie, const char *name)
{
	static const char *const keys[] = { "domain", "path", "value" };
	uint64_t hash = hash_text(UINT64_C(14695981039346656037), name);
	char text[COOKIE_BYTES_MAX + 1];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (json_str_copy(
			json_obj_get(cookie, keys[i]), text, sizeof(text)))
			hash = hash_text(hash, text);
	}
	explicit_bzero(text, sizeof(text));
	return hash;
}

static bool
was_there(const struct page_cookies *c, uint64_t hash)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->hashes[i] == hash)
			return true;
	return false;
}

/* Remembers those of sessions; how many were not there before. */
static size_t
cookies_note(struct page *p, struct json_val list)
{
	struct page_cookies now = { 0 };
	struct json_iter it;
	size_t changed = 0;
	char name[COOKIE_BYTES_MAX + 1];

	for (it = json_iter(list);
	     now.n < PAGE_COOKIES_MAX && json_iter_next(&it);) {
		if (!json_str_copy(
			json_obj_get(it.val, "name"), name, sizeof(name)) ||
		    !may_keep_session(it.val, name))
			continue;
		now.hashes[now.n] = hash_cookie(it.val, name);
		changed += was_there(&p->cookies, now.hashes[now.n++]) ? 0 : 1;
	}
	p->cookies = now;
	return changed;
}

static void
on_cookies(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	struct json_doc *doc = NULL;
	struct json_val list;
	char text[80];

	if (!is_good(p, r))
		return;
	if (!json_parse(r->result.ptr, r->result.len, NULL,
		JSON_BORROW | JSON_REPAIR_UTF8, &doc, NULL)) {
		page_finish(p, PAGE_SCRIPT_FAILED, "unreadable cookies");
		return;
	}
	list = json_obj_get(json_root(doc), "cookies");
	snprintf(text, sizeof(text), "{\"count\":%zu,\"changed\":%zu}",
	    json_len(list), cookies_note(p, list));
	json_doc_free(&doc);
	page_finish_json(p, text, strlen(text));
}

bool
page_count_cookies(struct page *p, page_result_cb *cb, void *arg)
{
	MAGIC_CHECK(p, PAGE_MAGIC);
	if (!page_is_open(p) || p->op != OP_NONE)
		return false;
	p->cb.result = cb;
	page_begin(p, OP_EVAL, PAGE_CALL_MS + PAGE_RECOVER_MS, arg);
	page_send(
	    p, "Network.getCookies", NULL, NULL, PAGE_CALL_MS, on_cookies);
	return true;
}

void
page_load_cookies(struct page *p)
{
	MAGIC_CHECK(p, PAGE_MAGIC);
	if (page_is_open(p))
		cdp_call(p->browser->cdp, p->session, "Network.getCookies",
		    NULL, 0, PAGE_CALL_MS, NULL, NULL);
}
