/*
 * Actions, in the worker: each is a few steps inside the page (act.js and what
 * it is joined with, in the isolated world) with the hands' work between them,
 * and then the tab settles. A step that comes before anything was done is
 * repeated when its document goes away under it; what was done is never done
 * again. What moves away between aiming and pressing gets nothing of the click,
 * and the page is aimed at once more.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/panic.h"
#include "json/writer.h"
#include "page/act.h"
#include "page/acting.h"
#include "page/priv.h"
#include "page/scripts.h"

#define ACT_RETRY_MS 100

static const char *const told_names[] = { "failed", "message", "how", "x", "y",
	"hit", "by", "element", "warnings", "clip", "origin", "text" };

#define STEP_WHOSE "whose" /* the first of a fill that is asked about */

/* The steps of an action: the first, and the one when the hands are done. */
static const struct {
	const char *first;
	const char *then;
	bool answers; /* what the first step says is the result */
} plans[PAGE_ACT__MAX] = {
	[PAGE_ACT_FIND] = { "find", NULL, true },
	[PAGE_ACT_CLICK] = { "aim", "pressed", false },
	[PAGE_ACT_FILL] = { "fill", "filled", false },
	[PAGE_ACT_PRESS] = { "ready", "rest", false },
	[PAGE_ACT_SUBMIT] = { "submit", "submitted", false },
	[PAGE_ACT_WAIT] = { "wait", NULL, true },
	[PAGE_ACT_INFO] = { "info", NULL, true },
	[PAGE_ACT_LIST] = { "list", NULL, true },
	[PAGE_ACT_SIGNS] = { "signs", NULL, true },
	[PAGE_ACT_SHOT] = { "mask", "unmask", false },
};

static const struct {
	const char *name;
	enum page_status status;
} refusals[] = {
	{ "element", PAGE_NO_ELEMENT },
	{ "operable", PAGE_NOT_OPERABLE },
	{ "locator", PAGE_BAD_LOCATOR },
	{ "value", PAGE_BAD_LOCATOR },
	{ "met", PAGE_NOT_MET },
	{ "form", PAGE_FORM_INVALID },
};

void
act_init(struct page *p)
{
	buf_init(&p->act.args, ACT_ARGS_MAX);
	buf_init(&p->act.value, ACT_ARGS_MAX);
	buf_init(&p->act.element, ACT_ARGS_MAX);
	buf_init(&p->act.warnings, ACT_ARGS_MAX);
	buf_init(&p->act.shot, ACT_SHOT_MAX);
}

void
act_clear(struct page *p)
{
	struct page_acting *a = &p->act;

	if (a->value.data != NULL)
		explicit_bzero(a->value.data, a->value.cap);
	buf_clear(&a->args);
	buf_clear(&a->value);
	buf_clear(&a->element);
	buf_clear(&a->warnings);
	buf_clear(&a->shot);
}

/* ---- the result ---- */

/* Adds what stands between the brackets of an array. */
static void
act_add_warnings(struct page *p, const void *inner, size_t len)
{
	struct buf *b = &p->act.warnings;

	buf_add_str(b, b->len == 0 ? "[" : ",");
	buf_add(b, inner, len);
}

void
act_warn(struct page *p, const char *text)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, PAGE_MESSAGE_MAX);
	json_writer_init(&w, &b);
	json_write_str(&w, text);
	if (json_writer_finish(&w))
		act_add_warnings(p, b.data, b.len);
	buf_clear(&b);
}

static void
act_write_result(struct page *p, struct buf *out)
{
	struct page_acting *a = &p->act;
	struct json_writer w;

	if (plans[a->action].answers) {
		buf_add(out, a->element.data, a->element.len);
		return;
	}
	buf_add_str(&a->warnings, a->warnings.len == 0 ? "[]" : "]");
	json_writer_init(&w, out);
	json_write_begin_object(&w);
	if (a->element.len > 0)
		json_put_raw(&w, "element", a->element.data, a->element.len);
	json_put_bool(&w, "navigated", a->navigated);
	json_put_bool(&w, "newTab", a->old_target[0] != '\0');
	if (a->settling && p->load.url[0] != '\0')
		json_put_str(&w, "url", p->load.url);
	json_put_raw(&w, "warnings", a->warnings.data, a->warnings.len);
	json_write_end_object(&w);
}

void
act_finish(struct page *p, enum page_status status, const char *message)
{
	struct page_result result = { status, message, NULL, 0 };
	page_result_cb *cb = p->cb.result;
	struct buf out = p->act.shot;

	buf_init(&p->act.shot, ACT_SHOT_MAX);
	if (out.len == 0)
		buf_init(&out, ACT_ARGS_MAX * 2);
	if (status == PAGE_OK) {
		if (out.len == 0)
			act_write_result(p, &out);
		result.json = (const char *)out.data;
		result.len = out.len;
	}
	act_clear(p);
	cb(p, &result, p->arg);
	buf_clear(&out);
}

/* ---- the steps inside the page ---- */

static int
act_left_ms(const struct page *p)
{
	int64_t left = p->act.end_ms - clock_mono_ms();

	return left > 0 ? (int)left : 0;
}

static void
act_write_argument(struct page *p, struct buf *b)
{
	const struct page_acting *a = &p->act;
	struct json_writer w;

	script_begin_argument(p, &w, b);
	json_put_str(&w, "step", a->step);
	json_put_int64(&w, "timeoutMs", act_left_ms(p));
	json_put_int64(&w, "totalMs", a->timeout_ms);
	json_put_bool(&w, "secret", a->secret);
	json_put_bool(&w, "secretUsed", p->secret_used);
	if (a->args.len > 0)
		json_put_raw(&w, "args", a->args.data, a->args.len);
	if (a->origin[0] != '\0')
		json_put_str(&w, "origin", a->origin);
	/* To the document that was asked about, and to no other. */
	if (a->value.len > 0 &&
	    (a->may_fill == NULL || (a->world != 0 && a->world == p->context)))
		json_put_raw(&w, "value", a->value.data, a->value.len);
	script_end_argument(&w);
}

static void act_on_told(struct cdp *, const struct cdp_reply *, void *arg);

void
act_on_world(struct page *p)
{
	struct iovec iov[CDP_PARAMS_MAX];
	struct buf head;
	int n = 0;

	if (p->act.may_fill != NULL && !p->act.sent &&
	    p->act.world != p->context)
		p->act.step = STEP_WHOSE;
	buf_init(&head, ACT_ARGS_MAX * 2 + 1024);
	/* Growing would leave copies of a secret behind. */
	(void)buf_reserve(&head, p->act.args.len + p->act.value.len + 512);
	act_write_argument(p, &head);
	iov[n++] = (struct iovec){ head.data, head.len };
	iov[n++] = SCRIPT_LITERAL(",\"functionDeclaration\":\"function(o){");
	iov[n++] = SCRIPT_IOV(common);
	iov[n++] = SCRIPT_IOV(pageinfo);
	iov[n++] = SCRIPT_IOV(concepts);
	iov[n++] = SCRIPT_IOV(words);
	iov[n++] = SCRIPT_IOV(locate);
	iov[n++] = SCRIPT_IOV(reach);
	iov[n++] = SCRIPT_IOV(choose);
	iov[n++] = SCRIPT_IOV(files);
	iov[n++] = SCRIPT_IOV(groups);
	iov[n++] = SCRIPT_IOV(fill);
	iov[n++] = SCRIPT_IOV(list);
	iov[n++] = SCRIPT_IOV(consent);
	iov[n++] = SCRIPT_IOV(results);
	iov[n++] = SCRIPT_IOV(shot);
	iov[n++] = SCRIPT_IOV(signs);
	iov[n++] = SCRIPT_IOV(act);
	iov[n++] = SCRIPT_LITERAL("return act(o)}\"}");
	cdp_call(p->browser->cdp, p->session, "Runtime.callFunctionOn", iov, n,
	    act_left_ms(p) + p->act.input_ms, act_on_told, p);
	if (p->act.secret)
		explicit_bzero(head.data, head.cap);
	buf_clear(&head);
}

void
act_step(struct page *p, const char *step)
{
	p->act.step = step;
	if (p->context != 0)
		act_on_world(p);
	else
		script_need_world(p);
}

static const char *
act_first(const struct page *p)
{
	return p->act.may_fill != NULL ? STEP_WHOSE
				       : plans[p->act.action].first;
}

/* In another document, which may be anybody's. */
static void
act_begin_again(struct page *p)
{
	p->context = 0;
	p->act.world = 0;
	p->act.step = act_first(p);
	page_pause(p, ACT_RETRY_MS);
}

void
act_on_pause(struct page *p)
{
	if (act_left_ms(p) > 0)
		act_step(p, p->act.step);
	else
		page_finish(p, PAGE_NOT_OPERABLE,
		    "the page kept loading other documents");
}

void
act_settle(struct page *p)
{
	struct page_acting *a = &p->act;

	a->settling = true;
	a->asking = false;
	load_begin_settling(p, &a->nav, a->leaving, a->loading);
}

static void
act_refused(struct page *p, const struct json_span *told)
{
	char message[PAGE_MESSAGE_MAX] = "";
	size_t i;

	if (told[TOLD_MESSAGE].ptr != NULL)
		(void)json_span_str_copy(
		    told[TOLD_MESSAGE], message, sizeof(message));
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (json_span_str_eq(told[TOLD_FAILED], refusals[i].name)) {
			page_finish(p, refusals[i].status, message);
			return;
		}
	}
	page_finish(p, PAGE_SCRIPT_FAILED, message);
}

static bool
act_flag_is_false(struct json_span span)
{
	bool flag = true;

	return span.ptr != NULL && json_span_get_bool(span, &flag) && !flag;
}

/* Nothing was pressed: something came between. Once more, as long as there is
 * time. */
static void
act_missed(struct page *p, const struct json_span *told)
{
	char by[PAGE_MESSAGE_MAX - 128] = "", message[PAGE_MESSAGE_MAX];

	p->act.sent = false;
	if (act_left_ms(p) > 0) {
		act_step(p, act_first(p));
		return;
	}
	if (told[TOLD_BY].ptr != NULL)
		(void)json_span_str_copy(told[TOLD_BY], by, sizeof(by));
	snprintf(message, sizeof(message),
	    "whenever it was to be clicked, %s was in its place", by);
	page_finish(p, PAGE_NOT_OPERABLE, message);
}

/* The document is known: may it be told the value? */
static void
act_judge(struct page *p, const struct json_span *told)
{
	struct page_acting *a = &p->act;
	char why[PAGE_MESSAGE_MAX] = "the page does not say whose the field is";

	a->origin[0] = '\0';
	a->world = 0;
	if (told[TOLD_ORIGIN].ptr == NULL ||
	    !json_span_str_copy(
		told[TOLD_ORIGIN], a->origin, sizeof(a->origin)) ||
	    !a->may_fill(a->guard, a->origin, why, sizeof(why)))
		page_finish(p, PAGE_REFUSED, why);
	else {
		a->world = p->context;
		act_step(p, plans[a->action].first);
	}
}

static void
act_go_on(struct page *p, const struct json_span *told)
{
	if (strcmp(p->act.step, STEP_WHOSE) == 0) {
		act_judge(p, told);
		return;
	}
	if (act_flag_is_false(told[TOLD_HIT])) {
		act_missed(p, told);
		return;
	}
	if (plans[p->act.action].answers) {
		page_finish(p, PAGE_OK, "");
		return;
	}
	act_use_hands(p, told);
}

static void
act_keep(struct page *p, const struct json_span *told)
{
	struct page_acting *a = &p->act;
	struct json_span list = told[TOLD_WARNINGS];

	if (told[TOLD_ELEMENT].ptr != NULL) {
		buf_reset(&a->element);
		buf_add(&a->element, told[TOLD_ELEMENT].ptr,
		    told[TOLD_ELEMENT].len);
	}
	if (list.ptr != NULL && list.len > 2 && list.ptr[0] == '[')
		act_add_warnings(p, list.ptr + 1, list.len - 2);
}

static void
act_on_told(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	char message[PAGE_MESSAGE_MAX];
	struct json_span value, told[TOLD__MAX];

	if (r->status == CDP_GONE) {
		page_finish(p, PAGE_GONE, r->message);
		return;
	}
	if (r->status == CDP_TIMEOUT) {
		page_recover(
		    p, PAGE_TIMEOUT, "the page did not answer in time");
		return;
	}
	if (r->status == CDP_ERROR) {
		/* Its document went away: by what was done, or by itself. */
		p->context = 0;
		if (p->act.sent)
			act_settle(p);
		else
			act_begin_again(p);
		return;
	}
	if (!script_split_value(r->result, &value) ||
	    !json_span_members(value, told_names, TOLD__MAX, told)) {
		(void)script_failure(r->result, message, sizeof(message));
		page_finish(p, PAGE_SCRIPT_FAILED, message);
		return;
	}
	if (told[TOLD_FAILED].ptr != NULL) {
		act_refused(p, told);
		return;
	}
	p->act.asking = false;
	act_keep(p, told);
	act_go_on(p, told);
}

void
act_then(struct page *p)
{
	p->act.asking = true;
	act_step(p, plans[p->act.action].then);
}

/* ---- the call ---- */

static int
act_clamp(int value, int min, int max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

bool
page_act(struct page *p, enum page_action action,
    const struct page_act_options *o, page_result_cb *cb, void *arg)
{
	struct page_acting *a = &p->act;

	MAGIC_CHECK(p, PAGE_MAGIC);
	ASSERT(action < PAGE_ACT__MAX);
	if (!page_is_open(p) || p->op != OP_NONE)
		return false;
	memset(a, 0, sizeof(*a));
	act_init(p);
	a->action = action;
	a->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : PAGE_ACT_TIMEOUT_MS;
	if (o->timeout_ms <= 0 &&
	    (action == PAGE_ACT_FIND || action == PAGE_ACT_SIGNS))
		a->timeout_ms = 0;
	a->input_ms = act_clamp(a->timeout_ms, PAGE_RECOVER_MS, PAGE_INPUT_MS);
	a->end_ms = clock_mono_ms() + a->timeout_ms;
	a->nav.timeout_ms = o->nav_timeout_ms;
	a->nav.stable_timeout_ms = o->stable_timeout_ms;
	a->secret = o->secret;
	a->may_fill = o->may_fill;
	a->guard = o->guard;
	a->jpeg = o->jpeg;
	p->secret_used = p->secret_used || o->secret;
	if (o->args != NULL)
		buf_add(&a->args, o->args, o->args_len);
	if (o->value != NULL)
		buf_add(&a->value, o->value, o->value_len);
	p->cb.result = cb;
	page_begin(
	    p, OP_ACT, a->timeout_ms + a->input_ms + PAGE_RECOVER_MS, arg);
	if (a->args.failed || a->value.failed)
		page_finish_later(
		    p, PAGE_BAD_LOCATOR, "the argument is too large");
	else if (action == PAGE_ACT_PRESS &&
	    (o->key == NULL ||
		strlcpy(a->key, o->key, sizeof(a->key)) >= sizeof(a->key) ||
		!input_key_exists(a->key)))
		page_finish_later(
		    p, PAGE_BAD_LOCATOR, "there is no key of this name");
	else
		act_step(p, act_first(p));
	return true;
}
