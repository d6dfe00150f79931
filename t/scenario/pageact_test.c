/*
 * Actions with the real browser: what is pressed and filled is what was meant,
 * once, whatever the page does meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "page/act.h"
#include "t/unit/tap.h"
#include "visit.h"

static enum page_status
act_with(struct page *p, enum page_action action, struct page_act_options o)
{
	if (!page_act(p, action, &o, visit_on_result, NULL))
		return PAGE__MAX;
	visit_wait();
	if (visit.status != PAGE_OK)
		printf("# %s\n", visit.message);
	return visit.status;
}

static enum page_status
act(struct page *p, enum page_action action, const char *args,
    const char *value, int timeout_ms)
{
	return act_with(p, action,
	    (struct page_act_options){ .args = args,
		.args_len = args != NULL ? strlen(args) : 0,
		.value = value,
		.value_len = value != NULL ? strlen(value) : 0,
		.timeout_ms = timeout_ms });
}

static enum page_status
key(struct page *p, const char *name)
{
	return act_with(
	    p, PAGE_ACT_PRESS, (struct page_act_options){ .key = name });
}

#define SELECTOR(css) \
	"{\"locator\":{\"mode\":\"selector\",\"selector\":\"" css "\"}}"
#define CONDITION(type, value) \
	"{\"condition\":{\"type\":\"" type "\",\"value\":\"" value "\"}}"
#define QUERY(kind, q)                                         \
	"{\"locator\":{\"mode\":\"semantic\",\"kind\":\"" kind \
	"\",\"query\":\"" q "\"}}"

static void
test_find(struct page *p)
{
	is_int(visit_go(p, "/form", 0), PAGE_OK, "a form");
	is_int(act(p, PAGE_ACT_FIND, QUERY("field", "username"), NULL, 0),
	    PAGE_OK, "a field is found by its label");
	ok(visit_json_is("name", "User name") &&
		visit_json_is("visible", "true") &&
		visit_json_is("enabled", "true") &&
		visit_json_is("required", "true"),
	    "and described");
	is_int(act(p, PAGE_ACT_FIND, QUERY("field", "zip code"), NULL, 0),
	    PAGE_OK, "what is not there");
	is_str(visit.json, "null", "is null");
	is_int(act(p, PAGE_ACT_FIND, SELECTOR("a["), NULL, 0), PAGE_BAD_LOCATOR,
	    "no selector");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("button", "zip"), NULL, 100),
	    PAGE_NO_ELEMENT, "what is to be pressed and is not there");
	ok(strstr(visit.message, "nearest: button") != NULL, "says what is");
}

static void
test_click(struct page *p)
{
	is_int(act(p, PAGE_ACT_CLICK, QUERY("button", "press"), NULL, 0),
	    PAGE_OK, "a button");
	ok(visit_json_is("navigated", "false") &&
		visit_json_is("element.id", "trust"),
	    "is pressed");
	act(p, PAGE_ACT_INFO, NULL, NULL, 0);
	ok(visit_json_is("title", "true 1"), "as by a person");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("link", "leave"), NULL, 0), PAGE_OK,
	    "a link");
	ok(visit_json_is("navigated", "true") &&
		visit_json_is("newTab", "false") &&
		visit_json_is("url", visit_at("/next")),
	    "leads to its page");
	act(p, PAGE_ACT_INFO, NULL, NULL, 0);
	ok(visit_json_is("title", "Next"), "which is there");
	act(p, PAGE_ACT_CLICK, QUERY("link", "back"), NULL, 0);
	is_int(act(p, PAGE_ACT_CLICK, QUERY("link", "new window"), NULL, 0),
	    PAGE_OK, "a link to a new window");
	ok(visit_json_is("newTab", "true") &&
		visit_json_is("url", visit_at("/next")),
	    "which the tab is from now on");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("link", "back"), NULL, 0), PAGE_OK,
	    "and is used");
}

/* A window in which one signs in closes itself, and tells its opener before. */
static void
test_window(struct page *p)
{
	is_int(visit_go(p, "/opener", 0), PAGE_OK, "a page that signs in");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("button", "example"), NULL, 0),
	    PAGE_OK, "by a window");
	ok(visit_json_is("newTab", "true"), "which is the tab now");
	is_int(act(p, PAGE_ACT_FILL, QUERY("field", "name"), "\"Ada\"", 0),
	    PAGE_OK, "is filled in");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("button", "allow"), NULL, 0),
	    PAGE_OK, "allows and closes itself");
	ok(visit_json_is("url", visit_at("/opener")),
	    "then the tab is again the one that opened it");
	is_int(act(p, PAGE_ACT_WAIT,
		   CONDITION("textIncludes", "signed in as Ada"), NULL, 0),
	    PAGE_OK, "which was told, and could ask the network");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("button", "example"), NULL, 0),
	    PAGE_OK, "once more");
	ok(visit_json_is("newTab", "true"), "a window");
	is_int(visit_go(p, "/next", 0), PAGE_OK, "that one leaves for good");
	is_int(visit_go(p, "/opener", 0), PAGE_OK, "from the beginning");
	is_int(act(p, PAGE_ACT_CLICK, QUERY("button", "slowly"), NULL, 0),
	    PAGE_OK, "a window that closes itself after a time");
	is_int(act(p, PAGE_ACT_WAIT,
		   CONDITION("textIncludes", "signed in as asked"), NULL, 0),
	    PAGE_OK, "while something is waited for, also behind a dialog");
	act(p, PAGE_ACT_INFO, NULL, NULL, 0);
	ok(visit_json_is("url", visit_at("/opener")),
	    "in the page that it left");
}

static const struct {
	const char *args;
	const char *value;
	const char *name;
	const char *want;
} fills[] = {
	{ QUERY("field", "user name"), "\"jos\\u00e9 \\u0026 co\"", "u",
	    "jos\xc3\xa9 & co" },
	{ QUERY("field", "password"), "\"abc\"", "p", "abc" },
	{ QUERY("field", "remember me"), "true", "c", "on" },
	{ QUERY("field", "size"), "\"large\"", "s", "l" },
	{ QUERY("field", "day"), "\"2026-02-28\"", "d", "2026-02-28" },
	{ QUERY("field", "words"), "\"two\\nlines\"", "t", "two\nlines" },
	{ QUERY("field", "by sea"), "true", "r", "2" },
	{ SELECTOR("[name=r]"), "\"by land\"", "r", "1" },
	{ SELECTOR("[name=u]"), "17", "u", "17" },
	{ QUERY("field", "remember"), "false", "c", "null" },
	{ QUERY("field", "words"), "\"\"", "t", "" },
};

static void
test_fill(struct page *p)
{
	char source[160];

	is_int(visit_go(p, "/form", 0), PAGE_OK, "the form");
	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
		is_int(act(p, PAGE_ACT_FILL, fills[i].args, fills[i].value, 0),
		    PAGE_OK, fills[i].name);
		ok(visit_json_is("warnings", "[]"), "without a warning");
		snprintf(source, sizeof(source),
		    "()=>({v:new FormData(document.forms[0]).get('%s')})",
		    fills[i].name);
		visit_eval(p, source, NULL, 1000);
		ok(visit_json_is("v", fills[i].want), "and holds it");
	}
	is_int(act(p, PAGE_ACT_FILL, QUERY("field", "notes"), "\"new\"", 0),
	    PAGE_OK, "an editable part of the page is filled");
	visit_eval(
	    p, "()=>({v:document.querySelector('div').innerText})", NULL, 1000);
	ok(visit_json_is("v", "new"), "and holds it");
}

static const struct {
	const char *args;
	const char *value;
	enum page_status want;
	const char *says;
} refusals[] = {
	{ QUERY("field", "size"), "\"tiny\"", PAGE_BAD_LOCATOR, "Small" },
	{ QUERY("field", "size"), "\"huge\"", PAGE_BAD_LOCATOR, "disabled" },
	{ QUERY("field", "day"), "\"soon\"", PAGE_BAD_LOCATOR, "date" },
	{ QUERY("field", "remember"), "\"so\"", PAGE_BAD_LOCATOR, "true" },
	{ QUERY("field", "user name"), "true", PAGE_BAD_LOCATOR, "text" },
	{ QUERY("field", "frozen"), "\"x\"", PAGE_NOT_OPERABLE, "read" },
	{ QUERY("field", "off"), "\"x\"", PAGE_NOT_OPERABLE, "disabled" },
	{ SELECTOR("#trust"), "\"x\"", PAGE_NOT_OPERABLE, "no field" },
	{ "{\"locator\":{}}", "\"x\"", PAGE_BAD_LOCATOR, "mode" },
	{ "{}", "\"x\"", PAGE_BAD_LOCATOR, "locator" },
};

static void
test_refused(struct page *p)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		is_int(act(p, PAGE_ACT_FILL, refusals[i].args,
			   refusals[i].value, 200),
		    refusals[i].want, refusals[i].args);
		ok(strstr(visit.message, refusals[i].says) != NULL,
		    "with the reason");
	}
}

static void
test_submit(struct page *p)
{
	visit_go(p, "/form", 0);
	act(p, PAGE_ACT_FILL, SELECTOR("[name=p]"), "\"x\"", 0);
	is_int(act(p, PAGE_ACT_SUBMIT, NULL, NULL, 0), PAGE_FORM_INVALID,
	    "a form that lacks something is not sent");
	ok(strstr(visit.message, "User name") != NULL, "and says what");
	act(p, PAGE_ACT_FILL, SELECTOR("[name=u]"), "\"me\"", 0);
	is_int(act(p, PAGE_ACT_SUBMIT, NULL, NULL, 0), PAGE_OK, "it is sent");
	act(p, PAGE_ACT_INFO, NULL, NULL, 0);
	ok(visit.json != NULL && strstr(visit.json, "sent u=me") != NULL,
	    "with what was filled in");
	visit_go(p, "/form", 0);
	act(p, PAGE_ACT_FILL, SELECTOR("[name=u]"), "\"you\"", 0);
	is_int(act(p, PAGE_ACT_SUBMIT, QUERY("button", "sign in"), NULL, 0),
	    PAGE_OK, "it is sent by its button");
	act(p, PAGE_ACT_INFO, NULL, NULL, 0);
	ok(visit.json != NULL && strstr(visit.json, "sent u=you") != NULL,
	    "with what was filled in");
}

static void
test_wait(struct page *p)
{
	is_int(
	    act(p, PAGE_ACT_WAIT, CONDITION("textIncludes", "by SEA"), NULL, 0),
	    PAGE_OK, "a text that is there");
	is_int(
	    act(p, PAGE_ACT_WAIT, CONDITION("urlContains", "/form"), NULL, 0),
	    PAGE_OK, "an address");
	is_int(
	    act(p, PAGE_ACT_WAIT, CONDITION("urlContains", "/next"), NULL, 100),
	    PAGE_NOT_MET, "another");
	visit_eval(p,
	    "()=>{setTimeout(()=>document.body.append(Object.assign("
	    "document.createElement('p'),{id:'late',textContent:'x'})),300)}",
	    NULL, 1000);
	is_int(act(p, PAGE_ACT_WAIT, CONDITION("selector", "#late"), NULL, 0),
	    PAGE_OK, "an element that comes late");
	visit_eval(
	    p, "()=>{setTimeout(()=>location.href='/next',300)}", NULL, 1000);
	is_int(act(p, PAGE_ACT_WAIT, CONDITION("textIncludes", "the next page"),
		   NULL, 0),
	    PAGE_OK, "a text of the document that comes next");
	is_int(act(p, PAGE_ACT_WAIT, CONDITION("moon", "full"), NULL, 0),
	    PAGE_BAD_LOCATOR, "no condition");
}

static void
test_press(struct page *p)
{
	visit_eval(p,
	    "()=>{window.ks=[];addEventListener('keydown',e=>"
	    "ks.push(e.key+(e.ctrlKey?'^':'')+e.isTrusted))}",
	    NULL, 1000);
	is_int(key(p, "Escape"), PAGE_OK, "a key");
	is_int(key(p, "Control+a"), PAGE_OK, "with another held");
	is_int(key(p, "\""), PAGE_OK, "a sign");
	visit_eval(p, "()=>({v:ks.join()})", NULL, 1000);
	ok(visit_json_is("v", "Escapetrue,a^true,\"true"), "arrive");
	is_int(key(p, "Enter!"), PAGE_BAD_LOCATOR, "no key");
	is_int(key(p, NULL), PAGE_BAD_LOCATOR, "nothing");
}

/* The color of a pixel is not looked at, but a covered picture is another. */
static void
test_shot(struct page *p)
{
	static const unsigned char png[8] = { 0x89, 'P', 'N', 'G', '\r', '\n',
		0x1a, '\n' };
	static const char cover[] =
	    "{\"mask\":[{\"mode\":\"selector\",\"selector\":\"select\"}]}";
	struct page_act_options o = { .jpeg = true };
	char *before;
	size_t len;

	visit_go(p, "/form", 0);
	is_int(act(p, PAGE_ACT_SHOT, NULL, NULL, 0), PAGE_OK, "a picture");
	ok(visit.json_len > 1000 && memcmp(visit.json, png, 8) == 0,
	    "is a PNG");
	len = visit.json_len;
	before = malloc(len);
	memcpy(before, visit.json, len);
	is_int(
	    act(p, PAGE_ACT_SHOT, cover, NULL, 0), PAGE_OK, "one with a box");
	ok(visit.json_len != len || memcmp(visit.json, before, len) != 0,
	    "is another");
	is_int(act(p, PAGE_ACT_SHOT, NULL, NULL, 0), PAGE_OK, "the next");
	ok(visit.json_len == len && memcmp(visit.json, before, len) == 0,
	    "has no box");
	free(before);
	is_int(act(p, PAGE_ACT_SHOT, "{\"fullPage\":true}", NULL, 0), PAGE_OK,
	    "all of the page");
	is_int(act_with(p, PAGE_ACT_SHOT, o), PAGE_OK, "a JPEG");
	ok((unsigned char)visit.json[0] == 0xff, "is one");
}

/* Two secrets of one length: their pictures and what is said are the same. */
static void
test_secret(struct page *p)
{
	static const char *const secrets[] = { "\"hunter2-AAAA\"",
		"\"hunter2-WWWW\"" };
	struct page_act_options o = { .args = SELECTOR("[name=u]"),
		.secret = true };
	char *shots[2] = { NULL, NULL };
	size_t lens[2] = { 0, 0 };

	o.args_len = strlen(o.args);
	for (int i = 0; i < 2; i++) {
		visit_go(p, "/form", 0);
		o.value = secrets[i];
		o.value_len = strlen(secrets[i]);
		is_int(act_with(p, PAGE_ACT_FILL, o), PAGE_OK, "a secret");
		ok(strstr(visit.json, "hunter") == NULL, "is not told");
		act(p, PAGE_ACT_FIND, o.args, NULL, 0);
		ok(strstr(visit.json, "hunter") == NULL, "nor found");
		act(p, PAGE_ACT_SHOT, NULL, NULL, 0);
		lens[i] = visit.json_len;
		shots[i] = malloc(lens[i]);
		memcpy(shots[i], visit.json, lens[i]);
	}
	ok(lens[0] == lens[1] && memcmp(shots[0], shots[1], lens[0]) == 0,
	    "nor seen");
	free(shots[0]);
	free(shots[1]);
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
	ok(p != NULL, "a tab opens");
	if (p != NULL) {
		test_find(p);
		test_click(p);
		test_window(p);
		test_fill(p);
		test_refused(p);
		test_submit(p);
		test_wait(p);
		test_press(p);
		test_shot(p);
		test_secret(p);
	}
	visit_end();
	return done_testing();
}
