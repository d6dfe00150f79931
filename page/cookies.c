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

static void
on_cookies(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	struct json_doc *doc = NULL;
	char count[24];

	if (!is_good(p, r))
		return;
	if (!json_parse(r->result.ptr, r->result.len, NULL,
		JSON_BORROW | JSON_REPAIR_UTF8, &doc, NULL)) {
		page_finish(p, PAGE_SCRIPT_FAILED, "unreadable cookies");
		return;
	}
	snprintf(count, sizeof(count), "%zu",
	    json_len(json_obj_get(json_root(doc), "cookies")));
	json_doc_free(&doc);
	page_finish_json(p, count, strlen(count));
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
