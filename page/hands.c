/*
 * What an action does between its steps inside the page, in the worker: presses,
 * types, or goes on when there is nothing to do. What was done here is never
 * done again.
 */
#include <string.h>

#include "page/acting.h"

/* The hands have done it; what did the page make of it? */
static void
act_on_done(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else if (r->status == CDP_TIMEOUT)
		page_recover(p, PAGE_TIMEOUT,
		    "the page did not take what was done in time");
	else if (r->status == CDP_ERROR && !p->act.by_script) {
		/* The browser takes no input here; the page's script may. */
		p->act.by_script = true;
		act_warn(p,
		    "the browser refused the input, so a script did it "
		    "(isTrusted is false)");
		act_step(p, "byScript");
	} else if (p->context == 0 || p->act.loading)
		act_settle(p);
	else
		act_then(p);
}

/* A click or a key may take long; it has a time of its own. */
static void
act_dispatch(struct page *p)
{
	int ms = p->act.input_ms + PAGE_RECOVER_MS;
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	p->act.sent = true;
	event_add(p->deadline, &tv);
}

static bool
act_keep_number(struct json_span span, char dst[PAGE_NUMBER_MAX])
{
	if (span.ptr == NULL || span.len >= PAGE_NUMBER_MAX)
		return false;
	memcpy(dst, span.ptr, span.len);
	dst[span.len] = '\0';
	return strspn(dst, "0123456789.eE+-") == span.len;
}

static void
act_press(struct page *p, const struct json_span *told)
{
	if (!act_keep_number(told[TOLD_X], p->act.x) ||
	    !act_keep_number(told[TOLD_Y], p->act.y)) {
		page_finish(p, PAGE_SCRIPT_FAILED, "no place to click at");
		return;
	}
	act_dispatch(p);
	input_click(p, act_on_done);
}

static void
act_insert(struct page *p, const struct json_span *told)
{
	struct json_span text = { p->act.value.data, p->act.value.len };
	struct buf b;

	if (told[TOLD_TEXT].ptr != NULL)
		text = told[TOLD_TEXT];
	act_dispatch(p);
	if (json_span_is_string(text)) {
		input_text(p, text.ptr, text.len, act_on_done);
		return;
	}
	/* A number is typed as it is written. */
	buf_init(&b, ACT_ARGS_MAX);
	buf_add_str(&b, "\"");
	buf_add(&b, text.ptr, text.len);
	buf_add_str(&b, "\"");
	input_text(p, b.data, b.len, act_on_done);
	buf_clear(&b);
}

/* By the step itself. */
static void
act_typed(struct page *p, const struct json_span *told)
{
	(void)told;
	act_dispatch(p);
	act_then(p);
}

static void
act_erase(struct page *p, const struct json_span *told)
{
	(void)told;
	act_dispatch(p);
	input_key(p, "Delete", act_on_done);
}

static void
act_enter(struct page *p, const struct json_span *told)
{
	(void)told;
	act_dispatch(p);
	input_key(p, "Enter", act_on_done);
}

static void
act_escape(struct page *p, const struct json_span *told)
{
	(void)told;
	act_dispatch(p);
	input_key(p, "Escape", act_on_done);
}

static void
act_key(struct page *p, const struct json_span *told)
{
	(void)told;
	act_dispatch(p);
	input_key(p, p->act.key, act_on_done);
}

static void
act_script(struct page *p, const struct json_span *told)
{
	(void)told;
	act_dispatch(p);
	p->act.by_script = true;
	act_warn(p, "a script pressed it (isTrusted is false)");
	act_step(p, "byScript");
}

/* Text in a field sets nothing off that is worth waiting for. */
static void
act_done(struct page *p, const struct json_span *told)
{
	struct page_acting *a = &p->act;

	(void)told;
	if (a->typed && !a->leaving && !a->navigated)
		page_finish(p, PAGE_OK, "");
	else
		act_settle(p);
}

static const struct {
	const char *how;
	void (*go)(struct page *, const struct json_span *told);
	bool typed;
} hands[] = {
	{ "press", act_press, false },
	{ "insert", act_insert, true },
	{ "typed", act_typed, true },
	{ "erase", act_erase, true },
	{ "enter", act_enter, false },
	{ "escape", act_escape, true },
	{ "key", act_key, false },
	{ "script", act_script, false },
	{ "shoot", act_shoot, false },
	{ "done", act_done, false },
};

void
act_use_hands(struct page *p, const struct json_span told[TOLD__MAX])
{
	for (size_t i = 0;
	     told[TOLD_HOW].ptr != NULL && i < sizeof(hands) / sizeof(hands[0]);
	     i++) {
		if (json_span_str_eq(told[TOLD_HOW], hands[i].how)) {
			p->act.typed = p->act.typed || hands[i].typed;
			hands[i].go(p, told);
			return;
		}
	}
	act_done(p, told);
}
