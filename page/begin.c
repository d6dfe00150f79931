/*
 * How it is begun to load a document, or to wait for the one that is there, in
 * the worker. What happens then is in navigate.c.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/panic.h"
#include "page/priv.h"

/* Where less time is given, a page that never ends loading is read in it. */
static int
load_grace(int timeout_ms)
{
	int ms = timeout_ms / 4 + 1;

	return ms < PAGE_GRACE_MS ? ms : PAGE_GRACE_MS;
}

static void
load_set_options(struct page_load *l, const struct page_nav_options *opts)
{
	if (opts != NULL)
		l->opts = *opts;
	if (l->opts.timeout_ms <= 0)
		l->opts.timeout_ms = PAGE_NAVIGATE_TIMEOUT_MS;
	if (l->opts.stable_timeout_ms <= 0)
		l->opts.stable_timeout_ms = l->opts.settle_ms +
		    (l->opts.settle == PAGE_SETTLE_NONE ? PAGE_STABLE_MS
							: PAGE_SETTLE_MS);
	if (l->opts.load_grace_ms <= 0)
		l->opts.load_grace_ms = load_grace(l->opts.timeout_ms);
	l->started_ms = clock_mono_ms();
}

/* Takes the operation; false when the page is not free for it. */
static bool
load_begin(struct page *p, enum page_op op, const char *url,
    const struct page_nav_options *opts, page_nav_cb *cb, void *arg)
{
	struct page_load *l = &p->load;

	MAGIC_CHECK(p, PAGE_MAGIC);
	if (!page_is_open(p) || p->op != OP_NONE)
		return false;
	memset(l, 0, sizeof(*l));
	load_set_options(l, opts);
	snprintf(l->asked, sizeof(l->asked), "%s", url);
	p->cb.nav = cb;
	page_begin(p, op, l->opts.timeout_ms, arg);
	return true;
}

bool
page_navigate(struct page *p, const char *url,
    const struct page_nav_options *opts, page_nav_cb *cb, void *arg)
{
	const char *why;

	if (!load_begin(p, OP_NAVIGATE, url, opts, cb, arg))
		return false;
	if (!page_url_allowed(url, p->browser->options.allow_data_urls, &why)) {
		page_finish_later(p, PAGE_BAD_URL, why);
		return true;
	}
	openers_close(p);
	page_send(p, "Page.navigate", "url", url,
	    p->load.opts.timeout_ms + PAGE_RECOVER_MS, load_on_navigate);
	if (p->loader[0] != '\0')
		page_pause(p, PAGE_LEAVE_MS);
	return true;
}

static void
load_begin_reading(struct page *p, const struct page_extract_options *extract)
{
	p->load.reading = true;
	if (!script_set_extract(p, extract) && p->late_status == PAGE_OK)
		page_finish_later(p, PAGE_SCRIPT_FAILED, SCRIPT_NO_READABILITY);
}

bool
page_read(struct page *p, const char *url, const struct page_nav_options *opts,
    const struct page_extract_options *extract, page_nav_cb *cb, void *arg)
{
	if (!page_navigate(p, url, opts, cb, arg))
		return false;
	load_begin_reading(p, extract);
	return true;
}

/* extract: NULL, or what is read of it. */
static bool
load_begin_here(struct page *p, const struct page_nav_options *opts,
    const struct page_extract_options *extract, page_nav_cb *cb, void *arg)
{
	struct page_nav_options here = { 0 };

	if (opts != NULL)
		here = *opts;
	if (here.timeout_ms <= 0 && here.stable_timeout_ms > 0)
		here.timeout_ms = here.stable_timeout_ms + PAGE_GRACE_MS;
	if (here.load_grace_ms <= 0)
		here.load_grace_ms = PAGE_GRACE_MS;
	if (!load_begin(p, OP_STABLE, "", &here, cb, arg))
		return false;
	if (extract != NULL)
		load_begin_reading(p, extract);
	p->load.replied = p->load.committed = true;
	load_start_script(p);
	return true;
}

bool
page_read_again(struct page *p, const struct page_nav_options *opts,
    const struct page_extract_options *extract, page_nav_cb *cb, void *arg)
{
	return load_begin_here(p, opts, extract, cb, arg);
}

bool
page_wait_stable(struct page *p, const struct page_nav_options *opts,
    page_nav_cb *cb, void *arg)
{
	return load_begin_here(p, opts, NULL, cb, arg);
}

void
load_begin_settling(struct page *p, const struct page_nav_options *opts,
    bool leaving, bool loading)
{
	struct page_load *l = &p->load;
	struct timeval tv;

	memset(l, 0, sizeof(*l));
	load_set_options(l, opts);
	/* A page that stays and never rests does not fail by that. */
	if (l->opts.stable_timeout_ms > l->opts.timeout_ms / 2)
		l->opts.stable_timeout_ms = l->opts.timeout_ms / 2;
	tv = (struct timeval){ l->opts.timeout_ms / 1000,
		l->opts.timeout_ms % 1000 * 1000 };
	event_add(p->deadline, &tv);
	l->replied = l->committed = true;
	l->patient = true;
	l->leaving = leaving;
	l->loading = loading;
	load_start_script(p);
}
