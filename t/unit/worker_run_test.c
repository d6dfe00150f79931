/*
 * worker_run: runs of test programs and of the real batch template over a fake
 * page layer: coroutines, retries, limits, cancel, back-pressure, and what
 * reaches supervisord.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "ipc/chan.h"
#include "json/tape.h"
#include "page/act.h"
#include "page/browser.h"
#include "page/cookies.h"
#include "page/page.h"
#include "t/unit/tap.h"
#include "templates/builtin.h"
#include "workerd/outbox.h"
#include "workerd/run.h"

/* ---- the fake page layer: the host name of a URL says what happens ---- */

struct page {
	struct page *next;
	page_cb *open_cb, *close_cb;
	page_nav_cb *nav_cb;
	page_result_cb *result_cb;
	void *arg, *close_arg;
	char url[256];
	char answer[512]; /* of the next result, if any */
	bool lost;        /* that result is a failure */
	bool open, busy, hung, closing, reading;
};

struct browser {
	int unused;
};

/* What every page of that layer says of itself. */
static const char document[] =
    "{\"pageInfo\":{\"title\":\"T\\u00e9\",\"type\":\"form\","
    "\"totalElements\":7},\"content\":{\"sections\":[1,2]}}";

static struct event_base *base;
static struct page *pages;
static int opened, open_now, navigating, most_navigating, flaky_left;

static void
page_unlink(struct page *page)
{
	struct page **at = &pages;

	while (*at != page)
		at = &(*at)->next;
	*at = page->next;
	free(page);
}

static void
answer_nav(struct page *page, enum page_status status)
{
	struct page_nav nav = { .status = status,
		.message = status == PAGE_OK ? "" : "it failed",
		.final_url = page->url,
		.mime = "text/html",
		.http_status = status == PAGE_OK ? 200 : 0,
		.elapsed_ms = 1 };
	page_nav_cb *cb = page->nav_cb;

	if (page->reading && strstr(page->url, "//mute") != NULL)
		nav.doc_error = "TypeError: mute";
	else if (page->reading && status == PAGE_OK) {
		nav.doc = document;
		nav.doc_len = sizeof(document) - 1;
	}
	page->reading = false;

	page->nav_cb = NULL;
	page->busy = false;
	navigating--;
	cb(page, &nav, page->arg);
}

static void
fake_step(evutil_socket_t fd, short what, void *arg)
{
	struct page *page = arg;

	(void)fd;
	(void)what;
	if (page->closing) {
		if (page->nav_cb != NULL)
			answer_nav(page, PAGE_CLOSED);
		open_now--;
		if (page->close_cb != NULL)
			page->close_cb(page, PAGE_OK, "", page->close_arg);
		page_unlink(page);
	} else if (page->open_cb != NULL) {
		page_cb *cb = page->open_cb;

		page->open_cb = NULL;
		page->open = true;
		cb(page, PAGE_OK, "", page->arg);
	} else if (page->result_cb != NULL) {
		struct page_result r = { PAGE_OK, "", document,
			sizeof(document) - 1 };
		page_result_cb *cb = page->result_cb;
		char answer[sizeof(page->answer)];

		strlcpy(answer, page->answer, sizeof(answer));
		page->answer[0] = '\0';
		if (page->lost)
			r = (struct page_result){ PAGE_NO_ELEMENT,
				"no field is called it", NULL, 0 };
		else if (answer[0] != '\0') {
			r.json = answer;
			r.len = strlen(answer);
		}
		page->lost = false;

		page->result_cb = NULL;
		page->busy = false;
		cb(page, &r, page->arg);
	} else if (page->nav_cb != NULL) {
		enum page_status status = PAGE_OK;

		if (strstr(page->url, "//fail") != NULL)
			status = PAGE_NAVIGATION_FAILED;
		if (strstr(page->url, "//crash") != NULL)
			status = PAGE_CRASHED;
		if (strstr(page->url, "//flaky") != NULL && flaky_left-- > 0)
			status = PAGE_NAVIGATION_TIMEOUT;
		answer_nav(page, status);
	}
}

static void
soon(struct page *page)
{
	const struct timeval now = { 0, 0 };

	(void)event_base_once(base, -1, EV_TIMEOUT, fake_step, page, &now);
}

struct page *
page_open(struct browser *b, page_cb *cb, void *arg)
{
	struct page *page = calloc(1, sizeof(*page));

	(void)b;
	page->open_cb = cb;
	page->arg = arg;
	page->next = pages;
	pages = page;
	opened++;
	open_now++;
	soon(page);
	return page;
}

bool
page_navigate(struct page *page, const char *url,
    const struct page_nav_options *opts, page_nav_cb *cb, void *arg)
{
	(void)opts;
	if (!page->open || page->busy)
		return false;
	if (url != page->url)
		strlcpy(page->url, url, sizeof(page->url));
	page->busy = true;
	page->nav_cb = cb;
	page->arg = arg;
	if (++navigating > most_navigating)
		most_navigating = navigating;
	if (strstr(url, "//hang") == NULL)
		soon(page);
	return true;
}

bool
page_read(struct page *page, const char *url,
    const struct page_nav_options *opts,
    const struct page_extract_options *extract, page_nav_cb *cb, void *arg)
{
	(void)extract;
	if (!page_navigate(page, url, opts, cb, arg))
		return false;
	page->reading = true;
	return true;
}

void
browser_set_device(struct browser *b, const struct browser_device *device)
{
}

void
browser_accept_dialogs(struct browser *b, bool accept)
{
	(void)b;
	(void)accept;
}

bool
browser_write_dialogs(const struct browser *b, struct buf *out)
{
	(void)b;
	(void)out;
	return false;
}

bool
page_wait_stable(struct page *page, const struct page_nav_options *opts,
    page_nav_cb *cb, void *arg)
{
	(void)opts;
	return page_navigate(page, page->url, NULL, cb, arg);
}

bool
page_eval(struct page *page, const char *source, size_t source_len,
    const char *args, size_t args_len, int timeout_ms, page_result_cb *cb,
    void *arg)
{
	(void)source;
	(void)source_len;
	(void)args;
	(void)args_len;
	(void)timeout_ms;
	page->busy = true;
	page->result_cb = cb;
	page->arg = arg;
	soon(page);
	return true;
}

bool
page_count_cookies(struct page *page, page_result_cb *cb, void *arg)
{
	return page_eval(page, "", 0, NULL, 0, 0, cb, arg);
}

bool
page_extract(struct page *page, const struct page_extract_options *opts,
    page_result_cb *cb, void *arg)
{
	(void)opts;
	return page_eval(page, "", 0, NULL, 0, 0, cb, arg);
}

/* What it was asked to do is its answer; with "none" there is nothing. */
bool
page_act(struct page *page, enum page_action action,
    const struct page_act_options *o, page_result_cb *cb, void *arg)
{
	snprintf(page->answer, sizeof(page->answer),
	    "{\"action\":%d,\"args\":%.*s,\"value\":%.*s,\"secret\":%s,"
	    "\"jpeg\":%s,\"key\":\"%s\",\"ms\":[%d,%d,%d]}",
	    (int)action, o->args != NULL ? (int)o->args_len : 2,
	    o->args != NULL ? o->args : "{}",
	    o->value != NULL ? (int)o->value_len : 4,
	    o->value != NULL ? o->value : "null", o->secret ? "true" : "false",
	    o->jpeg ? "true" : "false", o->key != NULL ? o->key : "",
	    o->timeout_ms, o->nav_timeout_ms, o->stable_timeout_ms);
	if (strstr(page->answer, "none") != NULL)
		strlcpy(page->answer, "null", sizeof(page->answer));
	page->lost = strstr(page->answer, "missing") != NULL;
	return page_eval(page, "", 0, NULL, 0, 0, cb, arg);
}

void
page_close(struct page *page, page_cb *cb, void *arg)
{
	page->closing = true;
	page->close_cb = cb;
	page->close_arg = arg;
	soon(page);
}

bool
page_is_open(const struct page *page)
{
	return page->open;
}

const char *
page_status_error(enum page_status status)
{
	static const char *const names[] = { "", "URL_NOT_ALLOWED",
		"NAVIGATION_FAILED", "NAVIGATION_TIMEOUT", "DOWNLOAD_REFUSED",
		"PAGE_CRASHED", "ACTION_TIMEOUT", "PAGE_EVAL_FAILED",
		"TAB_CLOSED", "PAGE_CRASHED", "ELEMENT_NOT_FOUND" };

	return names[status];
}

bool
page_status_needs_fresh(enum page_status status)
{
	return status == PAGE_NAVIGATION_TIMEOUT || status == PAGE_CRASHED;
}

/* ---- the programs ---- */

static const char batch[] = {
#include "templates/batch_extract_pages.lua.inc"
};
static struct builtin programs[2] = {
	{ "batch_extract_pages", batch, sizeof(batch) },
};

const struct builtin *
builtin_at(size_t i)
{
	return i < 2 ? &programs[i] : NULL;
}

const struct builtin *
builtin_template(const char *id)
{
	return strcmp(id, "none") == 0 ? NULL
	    : strcmp(id, "test") == 0  ? &programs[1]
				       : &programs[0];
}

/* ---- a run and what supervisord hears of it ---- */

struct heard {
	char log[20000];
	struct buf parts;
	struct buf result;
	int items, failed;
	size_t max_queue;
	bool ended, ok;
	int effects; /* that are answered yet; -1: none is */
	char code[80], message[300], step[80], cause[80];
};

static struct heard heard;
static struct run *run;
static struct chan *below, *above;
static struct outbox *outbox;

static void
note(const char *text)
{
	strlcat(heard.log, text, sizeof(heard.log));
	strlcat(heard.log, ";", sizeof(heard.log));
}

static void
copy_str(char *dst, size_t size, const struct ipc_params *p, enum msg_key key)
{
	strlcpy(dst, ipc_has(p, key) ? ipc_str(p, key) : "", size);
}

static void
hear_end(const struct ipc_params *p)
{
	heard.ended = true;
	heard.ok = ipc_bool(p, F_SUCCESS, false);
	copy_str(heard.code, sizeof(heard.code), p, F_ERROR_CODE);
	copy_str(heard.message, sizeof(heard.message), p, F_MESSAGE);
	copy_str(heard.step, sizeof(heard.step), p, F_FAILED_STEP);
	copy_str(heard.cause, sizeof(heard.cause), p, F_CAUSE);
	(void)event_base_loopbreak(base);
}

static void
answer_effect(void)
{
	struct ipc_params p;

	heard.effects++;
	ipc_params_init(&p, MSG_W_RUN_EFFECT);
	(void)chan_note(above, &p);
}

static void
hear(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	const struct ipc_params *p = &msg->params;
	char text[400];
	const void *bytes;
	size_t len;

	(void)chan;
	(void)ctx;
	text[0] = '\0';
	switch (p->msg) {
	case MSG_S_ITEM_DATA:
		bytes = ipc_bin(p, F_DATA, &len);
		(void)buf_add(&heard.parts, bytes, len);
		return;
	case MSG_S_RESULT_DATA:
		bytes = ipc_bin(p, F_DATA, &len);
		(void)buf_add(&heard.result, bytes, len);
		return;
	case MSG_S_ITEM_END:
		if (ipc_has(p, F_DATA)) {
			bytes = ipc_bin(p, F_DATA, &len);
			(void)buf_add(&heard.parts, bytes, len);
		}
		heard.items++;
		heard.failed += !ipc_bool(p, F_SUCCESS, false);
		snprintf(text, sizeof(text), "item %d %d",
		    (int)ipc_int(p, F_INDEX, -1), (int)ipc_int(p, F_DONE, -1));
		break;
	case MSG_S_STEP_START:
		snprintf(text, sizeof(text), "step %s", ipc_str(p, F_NAME));
		break;
	case MSG_S_STEP_END:
		bytes = ipc_bin(p, F_META, &len);
		snprintf(text, sizeof(text), "end %s %s %.*s",
		    ipc_str(p, F_NAME),
		    ipc_bool(p, F_SUCCESS, false) ? "ok"
						  : ipc_str(p, F_ERROR_CODE),
		    (int)len, bytes == NULL ? "" : (const char *)bytes);
		break;
	case MSG_S_WARNING:
		snprintf(text, sizeof(text), "warn %s", ipc_str(p, F_TEXT));
		break;
	case MSG_S_ARTIFACT_END:
		snprintf(text, sizeof(text), "artifact %s", ipc_str(p, F_NAME));
		break;
	case MSG_S_EFFECT:
		snprintf(text, sizeof(text), "effect %s", ipc_str(p, F_ACTION));
		if (heard.effects >= 0)
			answer_effect();
		break;
	case MSG_S_RUN_END:
		hear_end(p);
		return;
	default:
		snprintf(text, sizeof(text), "%s", msg_row(p->msg)->name);
		break;
	}
	note(text);
}

static void
closed(struct chan *chan, const char *reason, void *ctx)
{
	(void)chan;
	(void)ctx;
	strlcpy(heard.message, reason, sizeof(heard.message));
	(void)event_base_loopbreak(base);
}

static void
drained(struct chan *chan, void *ctx)
{
	(void)chan;
	(void)ctx;
	if (outbox_drained(outbox))
		run_drained(run);
}

static void
told(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	const char *why;

	(void)chan;
	(void)ctx;
	if (msg->params.msg == MSG_W_RUN_EFFECT)
		(void)run_effect_stored(run, &why);
}

static void
report_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	(void)run_report_end(run);
}

static void
run_ended(void *ctx)
{
	const struct timeval now = { 0, 0 };

	(void)ctx;
	(void)event_base_once(base, -1, EV_TIMEOUT, report_end, NULL, &now);
}

static void
set_up(const char *id, const char *text, const char *inputs)
{
	static const struct chan_ops up = { hear, NULL, closed, NULL, NULL };
	static const struct chan_ops down = { told, NULL, closed, drained,
		NULL };
	int sock[2];

	base = event_base_new();
	buf_clear(&heard.parts);
	buf_clear(&heard.result);
	memset(&heard, 0, sizeof(heard));
	buf_init(&heard.parts, (size_t)256 << 20);
	buf_init(&heard.result, 1 << 20);
	opened = open_now = navigating = most_navigating = 0;
	(void)!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sock);
	above = chan_new(base, sock[0], IPC_UP, &up, NULL);
	below = chan_new(base, sock[1], IPC_DOWN, &down, NULL);
	chan_set_queue_limit(below, OUTBOX_CHAN_BYTES);
	outbox = outbox_new(below);
	chan_set_phase(above, PEER_RUN);
	chan_set_phase(below, PEER_RUN);
	run = run_new(outbox, run_ended, NULL);
	strlcpy(run->template_id, id, sizeof(run->template_id));
	run->max_tabs = 20;
	run->memory_bytes = 64 << 20;
	programs[1].id = "test";
	programs[1].text = text;
	programs[1].len = text == NULL ? 0 : strlen(text);
	(void)buf_add(&run->inputs, inputs, strlen(inputs));
	run->inputs_complete = run->journal_complete = true;
}

static void
loop(void)
{
	(void)event_base_dispatch(base);
}

/* Lets callbacks that are still due come, and frees everything. */
static void
tear_down(void)
{
	for (int i = 0; i < 5; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
	run_free(&run);
	while (pages != NULL)
		page_unlink(pages);
	chan_free(&above);
	outbox_free(&outbox);
	chan_free(&below);
	/* What was still to come to the pages is forgotten with it. */
	event_base_free(base);
	base = NULL;
}

static void
run_program(const char *text)
{
	static struct browser browser;

	set_up("test", text, "{\"n\":3}");
	run_go(run, &browser, NULL);
	loop();
}

/* The program must end the run with this code (NULL: well). */
static void
ends(const char *text, const char *code, const char *in_message)
{
	run_program(text);
	if (!ok(heard.ended && heard.ok == (code == NULL) &&
		    strcmp(heard.code, code == NULL ? "" : code) == 0 &&
		    strstr(heard.message, in_message) != NULL,
		"%.60s", text))
		printf("#   %s: %s (%s)\n", heard.code, heard.message,
		    heard.cause);
	tear_down();
}

#define PROGRAM(body) "return {id='test', run = function(ctx) " body " end}"

#define TAB(body) \
	PROGRAM("local t = ctx:tab() assert(t:navigate('http://a/')) " body)

/* What templates ask of a page reaches the page layer as it is. */
static void
test_actions(void)
{
	ends(TAB("local r = t:click({mode='semantic', query='go'}, "
		 "{timeoutMs=5, navigationTimeoutMs=6, stableTimeoutMs=7}) "
		 "assert(r.action == 1 and r.args.locator.query == 'go') "
		 "assert(r.ms[1] == 5 and r.ms[2] == 6 and r.ms[3] == 7)"),
	    NULL, "");
	ends(TAB("local r = t:fill({mode='selector', selector='#a'}, 'x\"y') "
		 "assert(r.action == 2 and r.value == 'x\"y' and "
		 "r.args.locator.selector == '#a' and not r.secret)"),
	    NULL, "");
	ends(TAB("assert(t:fill({}, true).value == true) "
		 "assert(t:fill({}, {'a', 'b'}).value[2] == 'b')"),
	    NULL, "");
	ends(TAB("assert(t:press('Enter').key == 'Enter') "
		 "assert(t:submit().args.locator == nil) "
		 "assert(t:submit({query='q'}).args.locator.query == 'q')"),
	    NULL, "");
	ends(TAB("local r = t:wait{type='urlContains', value='x', timeoutMs=9} "
		 "assert(r.args.condition.value == 'x' and r.ms[1] == 9) "
		 "assert(t:wait{type='stable'}.finalUrl == 'http://a/')"),
	    NULL, "");
	ends(
	    TAB("assert(t:info().action == 6) "
		"local s = t:screenshot{fullPage=true, format='jpeg'} "
		"assert(s:find('\"fullPage\":true') and s:find('jpeg\":true')) "
		"assert(t:screenshot())"),
	    NULL, "");
	ends(TAB("local r, e = t:find{query='none'} "
		 "assert(r == nil and e == nil)"),
	    NULL, "");
	ends(TAB("local r, e = t:click{query='missing'} assert(r == nil and "
		 "e.code == 'ELEMENT_NOT_FOUND' and not e.needsFresh) "
		 "error(e)"),
	    "ELEMENT_NOT_FOUND", "no field is called it");
	ends(TAB("t:click('go')"), "TEMPLATE_FAULT", "table expected");
	ends(TAB("t:fill({})"), "TEMPLATE_FAULT", "a value");
	ends(
	    TAB("t:click({}, {timeoutMs='x'})"), "TEMPLATE_FAULT", "timeoutMs");
	ends(TAB("t:screenshot{format='gif'}"), "TEMPLATE_FAULT", "png");
	ends(PROGRAM("local r, e = ctx:tab():click{} "
		     "assert(r == nil and e.cause == 'TAB_CLOSED')"),
	    NULL, "");
}

static void
run_begun(const char *text)
{
	static struct browser browser;

	set_up("test", text, "{}");
	heard.effects = -1;
	run_go(run, &browser, NULL);
	for (int i = 0; i < 50; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
}

/* What changes something waits until supervisord has stored that it does. */
static void
test_effects(void)
{
	const char *why = "";

	run_begun(TAB("assert(t:look('() => 1')) t:find{query='q'} "
		      "t:wait{type='stable'} t:screenshot() ctx:warn('read') "
		      "assert(t:click{query='q'}) ctx:warn('clicked') "
		      "assert(t:submit()) return {}"));
	is_str(heard.log, "warn read;effect click;", "a click waits");
	answer_effect();
	loop();
	is_str(heard.log, "warn read;effect click;warn clicked;",
	    "until it is stored, and nothing else does");
	ok(heard.ended && heard.ok, "the run goes on");
	tear_down();

	for (int i = 0; i < 4; i++) {
		static const char *const acts[] = {
			TAB("t:fill({}, 'x', {timeoutMs = 5})"),
			TAB("t:press('Enter')"), TAB("t:submit()"),
			TAB("t:eval('() => 1')")
		};
		static const char *const names[] = { "effect fill;",
			"effect press;", "effect submit;", "effect eval;" };

		run_begun(acts[i]);
		is_str(heard.log, names[i], "is told and waits");
		run_stop(run, ERR_RUN_CANCELED, "stop");
		loop();
		is_str(heard.code, "RUN_CANCELED", "and can be canceled");
		answer_effect();
		tear_down();
	}

	run_begun(PROGRAM("local function f(t) t:navigate('http://a/') "
			  "t:press('a') ctx:warn('done') end "
			  "ctx:each({1, 2}, 2, f)"));
	is_str(heard.log, "effect press;", "two that act wait for one answer");
	answer_effect();
	loop();
	is_str(
	    heard.log, "effect press;warn done;warn done;", "and both go on");
	tear_down();

	run_begun(PROGRAM("ctx:tab():navigate('http://hang')"));
	ok(!run_effect_stored(run, &why) && *why != '\0',
	    "an answer to what was never told is refused");
	run_abort(run, ERR_INTERNAL, "");
	tear_down();
}

static void
test_ends(void)
{
	ends(PROGRAM("assert(ctx.inputs.n == 3 and ctx.limits.maxTabs == 20) "
		     "return {a = 1}"),
	    NULL, "");
	ends(PROGRAM("error('oh')"), "TEMPLATE_FAULT", "oh");
	ends(PROGRAM("error()"), "TEMPLATE_FAULT", "no error text");
	ends(PROGRAM("coroutine.yield(1)"), "TEMPLATE_FAULT", "");
	ends(PROGRAM("error{code='QUEUE_FULL', message='m'}"), "QUEUE_FULL",
	    "m");
	ends(PROGRAM("error{code='MY_OWN', message='m'}"),
	    "STEP_EXECUTION_FAILED", "m");
	ends(PROGRAM("while true do end"), "TEMPLATE_LIMIT", "instructions");
	ends(PROGRAM("local t = {} while true do pcall(function() t[#t + 1] = "
		     "('x'):rep(1 << 20) .. #t end) end"),
	    "TEMPLATE_LIMIT", "memory");
	ends(PROGRAM("ctx:item{index=1, key='k', ok=true, record={}, "
		     "parts={[0]=('x'):rep(3840001)}}"),
	    "TEMPLATE_FAULT", "above 3840000 bytes");
	ends(PROGRAM("ctx:tab():read('http://a/', {}, {settle='x'})"),
	    "TEMPLATE_FAULT", "network, text or ms");
	ends(PROGRAM("for _, s in ipairs{5, 'network', 'text'} do "
		     "assert(ctx:tab():read('http://a/', {}, "
		     "{settle=s}).pending == nil) end"),
	    NULL, "");
	ends("while true do end", "TEMPLATE_FAULT", "instructions");
	ends("no lua", "TEMPLATE_FAULT", "syntax");
	ends(PROGRAM("coroutine.wrap(function() ctx:tab() end)()"),
	    "TEMPLATE_FAULT", "coroutine of your own");
	ends(PROGRAM("local t = ctx:tab(); ('x'):gsub('x', function() "
		     "t:navigate('http://ok') end)"),
	    "TEMPLATE_FAULT", "callback");
	ends(PROGRAM("return function() end"), "TEMPLATE_FAULT", "JSON");
	ends(PROGRAM("ctx:item{index = 1, key = 'k', record = {}} "
		     "ctx:item{index = 1, key = 'k', record = {}}"),
	    "TEMPLATE_FAULT", "done already");
	ends(PROGRAM("ctx:item{index = 1, key = 'k', record = "
		     "('x'):rep(20000)}"),
	    "TEMPLATE_FAULT", "16 KiB");
	ends(PROGRAM("ctx:phase('takeover')"), "TEMPLATE_FAULT", "retrying");
	ends(
	    PROGRAM("ctx:phase('waiting_user')"), "TEMPLATE_FAULT", "retrying");
	ends(PROGRAM("ctx:artifact{kind = 'csv', mime = 'text/csv', "
		     "name = '../x', data = 'x'}"),
	    "TEMPLATE_FAULT", "file name");
	ends(PROGRAM("ctx:collect{part = 0, kind = 'csv', mime = 'csv', "
		     "name = 'x'}"),
	    "TEMPLATE_FAULT", "media type");
	ends(PROGRAM("ctx:collect{part = 8, kind = 'a', mime = 'b', "
		     "name = 'c'}"),
	    "TEMPLATE_FAULT", "0..7");
}

static void
test_steps(void)
{
	run_program(PROGRAM(
	    "local a = ctx:step('one', function() return {n = 1} end) "
	    "assert(a.n == 1) ctx:warn('bad \\xff\\n byte') "
	    "ctx:artifact{kind = 'csv', mime = 'text/csv', name = 'x.csv', "
	    "data = ('y'):rep(150000)} ctx:step_retry('one', 'X') "
	    "ctx:phase('acting') ctx:progress{done = 1, total = 2} "
	    "pcall(function() ctx:step('two', function() error{code = "
	    "'NAVIGATION_TIMEOUT', message = 'late'} end) end) "
	    "ctx:step('three', function() ctx:step('four', function() "
	    "while true do end end) end)"));
	is_str(heard.log,
	    "step one;end one ok {\"n\":1};warn bad ?? byte;artifact.data;"
	    "artifact.data;artifact.data;artifact x.csv;step.retry;phase;"
	    "progress;step two;end two NAVIGATION_TIMEOUT ;step three;"
	    "step four;end four TEMPLATE_LIMIT ;end three TEMPLATE_LIMIT ;",
	    "steps, artifacts and the closing of open steps");
	is_str(heard.code, "TEMPLATE_LIMIT", "and the end");
	tear_down();
}

static void
test_window(void)
{
	run_program(PROGRAM(
	    "local list = {} for i = 1, 20 do list[i] = 'http://ok/' .. i end "
	    "local seen = 0 ctx:each(list, 3, function(tab, url, i) "
	    "local nav = assert(tab:navigate(url)) "
	    "assert(nav.finalUrl == url and nav.status == 200) "
	    "local doc = assert(tab:extract()) "
	    "assert(doc:get('pageInfo', 'totalElements') == 7) "
	    "assert(tab:eval('() => 1').content.sections[2] == 2) "
	    "seen = seen + 1 end) return {seen = seen}"));
	ok(heard.ok, "a window over 20 addresses: %s", heard.message);
	is_int(most_navigating, 3, "three at a time");
	is_int(opened, 3, "in tabs that are kept");
	ok(heard.result.len == 11 &&
		memcmp(heard.result.data, "{\"seen\":20}", 11) == 0,
	    "all seen");
	tear_down();
	is_int(open_now, 0, "all tabs were closed");
}

static void
test_read(void)
{
	run_program(PROGRAM(
	    "ctx:each({1}, 1, function(t) local nav, err = t:read('http://ok/', "
	    "{content = true}, {timeoutMs = 500}) assert(not err) "
	    "assert(nav.status == 200 and nav.mime == 'text/html') "
	    "assert(nav.doc:get('pageInfo', 'title') == 'T\\u{e9}') "
	    "nav, err = t:read('http://mute/') assert(nav.status == 200) "
	    "assert(nav.doc == nil and err.code == 'STEP_EXECUTION_FAILED') "
	    "assert(err.message == 'TypeError: mute' and not err.needsFresh) "
	    "nav, err = t:read('http://crash/') assert(nav == nil) "
	    "assert(err.code == 'PAGE_CRASHED' and err.needsFresh) "
	    "assert(not pcall(t.read, t, 'http://ok/', 7)) "
	    "nav = t:navigate('http://ok/') assert(nav.doc == nil) end) "
	    "return {}"));
	ok(heard.ok, "reading in one: %s", heard.message);
	tear_down();
}

static void
test_failing_slot(void)
{
	run_program(PROGRAM(
	    "local ok, err = pcall(function() ctx:each({1, 2, 3, 4}, 4, "
	    "function(tab, v) if v < 4 then tab:navigate('http://hang/') end "
	    "tab:navigate('http://ok/') error({code = 'INTERNAL', message = "
	    "'slot ' .. v}) end) end) assert(not ok and err.message == "
	    "'slot 4') local t = ctx:tab() assert(t:navigate('http://ok/')) "
	    "for i = 1, 20000 do local x = {} end t:close() return {}"));
	ok(heard.ok, "one slot's error ends the others: %s", heard.message);
	tear_down();
	is_int(open_now, 0, "their tabs are closed although they hung");
}

static void
test_stop(const char *text, const char *what)
{
	const struct timeval soon_tv = { 0, 20000 };

	set_up("test", text, "{}");
	run_go(run, NULL, NULL);
	(void)event_base_loopexit(base, &soon_tv);
	loop();
	ok(!run->over, "%s: waits for ever", what);
	run_stop(run, ERR_RUN_CANCELED, "stopped");
	ok(run->over, "%s: is over at once", what);
	loop();
	is_str(heard.code, "RUN_CANCELED", "canceled");
	tear_down();
}

static void
test_batch(void)
{
	static struct browser browser;
	static const char inputs[] =
	    "{\"urls\":[\"http://ok/1\",\"http://flaky/2\",\"http://crash/3\","
	    "\"http://fail/4\",\"http://ok/5\",\"http://ok/6\"],"
	    "\"csv\":true,\"concurrency\":1}";
	/* SHA-256 of "http://ok/5" begins so. */
	static const uint8_t five[8] = { 0x05, 0x6a, 0xce, 0x5b, 0xd2, 0x3f,
		0x84, 0xc7 };

	set_up("batch_extract_pages", NULL, inputs);
	run->items[4].done = run->items[5].done = true;
	memcpy(run->items[4].digest, five, sizeof(five));
	run->items_done = 1;
	run->items[5].done = false;
	flaky_left = 1;
	run_go(run, &browser, NULL);
	loop();
	ok(heard.ok, "the batch is done: %s", heard.message);
	is_int(heard.items, 5, "five items, the journaled one is not sent");
	is_int(heard.failed, 2, "two of them failed");
	is_int(opened, 4, "fresh tabs: after the timeout, twice after a crash");
	ok(strstr(heard.log,
	       "item 5 6;end extract_pages ok {\"done_before\":1,"
	       "\"failed_items\":2,\"succeeded\":3,\"total\":6}") != NULL,
	    "and counted");
	(void)buf_add(&heard.parts, "", 1);
	ok(strstr((char *)heard.parts.data,
	       "http://flaky/2,http://flaky/2,200,T\xc3\xa9,form,7,2,true,,,") !=
		NULL,
	    "a CSV row");
	ok(strstr((char *)heard.parts.data, "\"errorCode\":\"PAGE_CRASHED\"") !=
		NULL,
	    "an item's error");
	tear_down();
}

static void
watch(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (chan_queue_bytes(below) > heard.max_queue)
		heard.max_queue = chan_queue_bytes(below);
}

static void
test_back_pressure(void)
{
	const struct timeval often = { 0, 1000 }, later = { 0, 200000 };
	struct event *watcher;

	set_up("test",
	    PROGRAM("local list = {} for i = 1, 100 do list[i] = i end "
		    "local data = ('z'):rep(200000) ctx:each(list, 5, "
		    "function(tab, v) ctx:item{index = v, key = 'k', ok = true,"
		    " record = {}, parts = {[0] = data}} end) return {}"),
	    "{}");
	watcher = event_new(base, -1, EV_PERSIST, watch, NULL);
	chan_hold_reading(above, true);
	(void)event_add(watcher, &often);
	run_go(run, NULL, NULL);
	(void)event_base_loopexit(base, &later);
	loop();
	ok(!run->over && run->items_done < 40,
	    "a supervisor that does not read stops the template (%d items)",
	    run->items_done);
	chan_hold_reading(above, false);
	loop();
	ok(heard.ok, "and reading goes on: %s", heard.message);
	is_int(heard.items, 100, "with every item");
	is_int(heard.parts.len, 100 * 200000, "and every byte");
	ok(heard.max_queue > 0 && heard.max_queue < OUTBOX_CHAN_BYTES,
	    "the queue stayed within %zu bytes", heard.max_queue);
	event_free(watcher);
	tear_down();
}

int
main(void)
{
	test_ends();
	test_actions();
	test_effects();
	test_steps();
	test_window();
	test_read();
	test_failing_slot();
	test_stop(PROGRAM("ctx:tab():navigate('http://hang/')"), "a wait");
	test_stop(PROGRAM("local t = ctx:tab() while true do "
			  "pcall(t.navigate, t, 'http://hang/') end"),
	    "a program that swallows errors");
	test_stop(PROGRAM("ctx:each({1, 2, 3}, 3, function(tab) "
			  "pcall(tab.navigate, tab, 'http://hang/') end)"),
	    "a window");
	test_batch();
	test_back_pressure();
	buf_clear(&heard.parts);
	buf_clear(&heard.result);
	return done_testing();
}
