/*
 * Fields that refuse, change, replace or move what is put into them, and forms
 * that are sent in their own ways: what the page ends up with, what the action
 * warns of, and that it ends. With the real browser.
 */
#include <stdlib.h>
#include <string.h>

#include "cdp/cdp.h"
#include "common/clock.h"
#include "page/act.h"
#include "t/unit/tap.h"
#include "visit.h"

#define WORD                                                      \
	"{\"locator\":{\"mode\":\"semantic\",\"kind\":\"field\"," \
	"\"query\":\"word\"}}"

static const struct {
	const char *name; /* of the case in fields.html */
	const char *value;
	enum page_status want;
	const char *title; /* or a part of the error */
	const char *warning;
} fills[] = {
	{ "plain", "\"a b\"", PAGE_OK, "focus input", "" },
	{ "replaced", "\"new\"", PAGE_OK, "new", "" },
	{ "replaced", "\"\"", PAGE_OK, "", "" },
	{ "controlled", "\"\xc3\xa9\xe4\xb8\xad\"", PAGE_OK,
	    "\xc3\xa9\xe4\xb8\xad", "" },
	{ "refused", "\"x\"", PAGE_OK, "-", "set by script" },
	{ "upper", "\"abc\"", PAGE_OK, "ABC", "another text" },
	{ "short", "\"abcdef\"", PAGE_OK, "abc", "another text" },
	{ "number", "12.5", PAGE_OK, "12.5", "" },
	{ "range", "7", PAGE_OK, "7", "" },
	{ "color", "\"#00ff00\"", PAGE_OK, "#00ff00", "" },
	{ "late", "\"x\"", PAGE_OK, "x", "" },
	{ "readonly", "\"x\"", PAGE_OK, "x", "" },
	{ "onfocus", "\"x\"", PAGE_OK, "x", "" },
	{ "nofocus", "\"x\"", PAGE_NOT_OPERABLE, "focus", NULL },
	{ "file", "\"x\"", PAGE_BAD_LOCATOR, "file", NULL },
	{ "alert", "\"x\"", PAGE_OK, "x", "" },
	{ "spin", "\"x\"", PAGE_TIMEOUT, "in time", NULL },
	{ "shadow", "\"x\"", PAGE_OK, "x", "" },
	{ "frame", "\"x\"", PAGE_OK, "x", "" },
	{ "editable", "\"new\"", PAGE_OK, "new", "" },
	{ "jump", "\"next\"", PAGE_OK, "Next", "" },
	{ "group", "[\"a\",\"third\"]", PAGE_OK, "a,c", "" },
	{ "box", "true", PAGE_OK, "true", "" },
	{ "box", "false", PAGE_OK, "-", "" },
	{ "boxed", "true", PAGE_OK, "true", "" },
	{ "boxstays", "true", PAGE_OK, "-", "did not keep" },
	{ "toggle", "true", PAGE_OK, "on", "" },
	{ "boxcovered", "true", PAGE_OK, "true", "" },
	{ "leaves", "\"x\"", PAGE_OK, "x", "" },
};

static const struct {
	const char *name;
	enum page_status want;
	const char *title; /* or a part of the error */
} sends[] = {
	{ "enter", PAGE_OK, "Next" },
	{ "entered", PAGE_OK, "entered x" },
	{ "button", PAGE_OK, "Next" },
	{ "area", PAGE_OK, "Next" },
	{ "sendfetch", PAGE_OK, "Next" },
	{ "sendspin", PAGE_TIMEOUT, "in time" },
	{ "sendhang", PAGE_NAVIGATION_TIMEOUT, "within 1500 ms" },
	{ "wrong", PAGE_FORM_INVALID, "Word" },
	{ "leaveask", PAGE_OK, "Next" },
};

static bool
open_case(struct page **pp, const char *name)
{
	char path[64];

	if (*pp == NULL || !page_is_open(*pp))
		*pp = visit_open();
	snprintf(path, sizeof(path), "/fields?%s", name);
	return *pp != NULL && visit_go(*pp, path, 0) == PAGE_OK;
}

static enum page_status
act(struct page *p, enum page_action action, const char *args,
    const char *value)
{
	struct page_act_options o = { .args = args,
		.args_len = args != NULL ? strlen(args) : 0,
		.value = value,
		.value_len = value != NULL ? strlen(value) : 0,
		.timeout_ms = 1500,
		.nav_timeout_ms = 1500 };
	int64_t began = clock_mono_ms();

	if (!page_act(p, action, &o, visit_on_result, NULL))
		return PAGE__MAX;
	visit_wait();
	printf("# %d ms, %s\n", (int)(clock_mono_ms() - began),
	    visit.status == PAGE_OK ? visit.json : visit.message);
	return visit.status;
}

static void
title_is(struct page *p, enum page_status want, const char *title)
{
	if (want != PAGE_OK) {
		ok(strstr(visit.message, title) != NULL, "says %s", title);
		return;
	}
	act(p, PAGE_ACT_INFO, NULL, NULL);
	ok(visit_json_is("title", title), "the page has %s", title);
}

static void
test_fills(struct page **pp)
{
	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
		ok(open_case(pp, fills[i].name), "%s is opened", fills[i].name);
		is_int(act(*pp, PAGE_ACT_FILL, WORD, fills[i].value),
		    fills[i].want, fills[i].name);
		if (fills[i].warning != NULL && fills[i].warning[0] == '\0')
			ok(visit_json_is("warnings", "[]"), "no warning");
		else if (fills[i].warning != NULL)
			ok(visit.json != NULL &&
				strstr(visit.json, fills[i].warning) != NULL,
			    "warns: %s", fills[i].warning);
		title_is(*pp, fills[i].want, fills[i].title);
	}
}

static void
test_sends(struct page **pp)
{
	for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++) {
		ok(open_case(pp, sends[i].name), "%s is opened", sends[i].name);
		is_int(act(*pp, PAGE_ACT_FILL, WORD, "\"x\""), PAGE_OK,
		    "the word is filled in");
		is_int(act(*pp, PAGE_ACT_SUBMIT, NULL, NULL), sends[i].want,
		    sends[i].name);
		title_is(*pp, sends[i].want, sends[i].title);
	}
}

/* A page that hangs, crashes or runs away while something is waited for. */
static void
test_waits(struct page **pp)
{
	static const char text[] =
	    "{\"condition\":{\"type\":\"textIncludes\",\"value\":\"moon\"}}";

	ok(open_case(pp, "plain"), "a page");
	visit_eval(*pp, "()=>{setTimeout(()=>{for(;;);},200)}", NULL, 1000);
	is_int(act(*pp, PAGE_ACT_WAIT, text, NULL), PAGE_TIMEOUT,
	    "that hangs during the wait");
	ok(open_case(pp, "plain"), "a page");
	visit_eval(*pp,
	    "()=>{setTimeout(()=>{location.href='/never-headers'},200)}", NULL,
	    1000);
	is_int(act(*pp, PAGE_ACT_WAIT, text, NULL), PAGE_NOT_MET,
	    "that leaves for one that never comes");
	ok(open_case(pp, "plain"), "a page");
	cdp_call(browser_cdp(visit.browser), NULL, "Browser.crash", NULL, 0,
	    1000, NULL, NULL);
	is_int(act(*pp, PAGE_ACT_CLICK, WORD, NULL), PAGE_GONE,
	    "whose browser crashes");
}

int
main(void)
{
	const char *src = getenv("srcdir"), *why = "";
	char pages[512];
	struct page *p;

	snprintf(pages, sizeof(pages), "%s/t/pageact", src != NULL ? src : ".");
	if (!visit_start(LIVE_DRAWN, pages, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	p = visit_open();
	test_fills(&p);
	test_sends(&p);
	test_waits(&p);
	visit_end();
	return done_testing();
}
