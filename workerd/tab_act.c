/*
 * tab_act: what templates do with a page: find, click, fill, press, submit,
 * wait, info, pictures. Runs in workerd only. Locators and conditions go to the page's
 * script as they are, which says what is wrong with one; a value that is to be
 * filled in is never pushed, logged or named in an error. What may change
 * something is done only when supervisord knows of it: run_act().
 */
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "json/writer.h"
#include "page/act.h"
#include "page/cookies.h"
#include "workerd/lua_json.h"
#include "workerd/report.h"
#include "workerd/run.h"
#include "workerd/secret.h"
#include "workerd/tab.h"

#define SECRET_MAX_BYTES ((size_t)512 << 10) /* as JSON */

static int
field_ms(lua_State *L, int index, const char *name)
{
	if (!lua_istable(L, index))
		return 0;
	return run_field_int(L, index, name, 0, TAB_MAX_TIME_MS, 0);
}

/* {timeoutMs, navigationTimeoutMs, stableTimeoutMs}, or nil */
static struct page_act_options
act_options(lua_State *L, int index)
{
	struct page_act_options o;

	memset(&o, 0, sizeof(o));
	if (!lua_isnoneornil(L, index))
		luaL_checktype(L, index, LUA_TTABLE);
	o.timeout_ms = field_ms(L, index, "timeoutMs");
	o.nav_timeout_ms = field_ms(L, index, "navigationTimeoutMs");
	o.stable_timeout_ms = field_ms(L, index, "stableTimeoutMs");
	return o;
}

/* Leaves the JSON text of {name = the value at index} on the stack. */
static void
push_args(
    lua_State *L, const char *name, int index, struct page_act_options *ret)
{
	luaL_checktype(L, index, LUA_TTABLE);
	lua_createtable(L, 0, 1);
	lua_pushvalue(L, index);
	lua_setfield(L, -2, name);
	lua_json_encode(L, -1);
	ret->args = lua_tolstring(L, -1, &ret->args_len);
}

static int
start(lua_State *L, struct tab *tab, enum page_action action,
    const struct page_act_options *o)
{
	if (tab->page == NULL ||
	    !page_act(tab->page, action, o, tab_on_result, tab))
		return tab_no_page(L);
	return tab_await(L, tab, tab_push_evaluated);
}

/* An element that is not there is nil without an error. */
static int
push_found(lua_State *L, void *arg)
{
	int n = tab_push_evaluated(L, arg);

	if (n == 1 && lua_islightuserdata(L, -1))
		lua_pushnil(L);
	return n;
}

/* The locator, and the flag of that name if it is among the options. */
static void
push_flag_args(
    lua_State *L, const char *flag, int options, struct page_act_options *ret)
{
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_createtable(L, 0, 2);
	lua_pushvalue(L, 2);
	lua_setfield(L, -2, "locator");
	if (lua_istable(L, options)) {
		lua_getfield(L, options, flag);
		lua_setfield(L, -2, flag);
	}
	lua_json_encode(L, -1);
	ret->args = lua_tolstring(L, -1, &ret->args_len);
}

/*
 * find(locator, {operable=}): operable: only a field that can be filled in now
 */
static int
tab_find(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 3);

	push_flag_args(L, "operable", 3, &o);
	if (tab->page == NULL ||
	    !page_act(tab->page, PAGE_ACT_FIND, &o, tab_on_result, tab))
		return tab_no_page(L);
	return tab_await(L, tab, push_found);
}

#define ACT_ARGS 4 /* with the tab itself */

static int
act(lua_State *L, const char *name, sched_resume_fn *fn)
{
	/* What is resumed finds its arguments where they are. */
	lua_settop(L, ACT_ARGS);
	return run_act(L, tab_check(L)->run, name, fn);
}

static int
do_click(lua_State *L, void *arg)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 3);

	push_args(L, "locator", 2, &o);
	return start(L, tab, PAGE_ACT_CLICK, &o);
}

/* click(locator, options) */
static int
tab_click(lua_State *L)
{
	return act(L, "click", do_click);
}

/* Told of each time, done or refused. */
static bool
may_fill(void *arg, const char *origin, char *why, size_t size)
{
	const struct tab *tab = arg;
	const char *name = secrets_name(tab->filling, tab->filling_number);
	bool good = secrets_may_fill(tab->filling, tab->filling_number, origin);

	(void)report_secret(tab->run->out, name, origin, good);
	if (!good)
		snprintf(why, size,
		    "the secret \"%s\" is not for %.160s; to permit it: "
		    "browsertaskctl secret hosts %s --for-host HOST",
		    name, origin, name);
	return good;
}

/* A secret is never a string of Lua, which nobody could wipe. */
static bool
fill_secret(
    struct tab *tab, struct page_act_options *o, const char *text, size_t len)
{
	struct json_writer w;
	struct buf b;
	bool begun = false;

	/* Each byte may need six; growing would leave copies behind. */
	buf_init(&b, SECRET_MAX_BYTES);
	if (buf_reserve(&b, 6 * len + 2) != NULL) {
		json_writer_init(&w, &b);
		json_write_strn(&w, text, len);
		o->value = (const char *)b.data;
		o->value_len = b.len;
		o->secret = true;
		begun = json_writer_finish(&w) && tab->page != NULL &&
		    page_act(tab->page, PAGE_ACT_FILL, o, tab_on_result, tab);
		explicit_bzero(b.data, b.cap);
	}
	buf_clear(&b);
	return begun;
}

static int
do_fill(lua_State *L, void *arg)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 4);
	const char *secret;
	size_t len;

	luaL_argcheck(L, !lua_isnoneornil(L, 3), 3, "a value");
	push_flag_args(L, "free", 4, &o);
	secret = secret_text(L, 3, &len);
	if (secret != NULL) {
		tab->filling_number =
		    (size_t)secret_number(L, 3, &tab->filling);
		if (secrets_name(tab->filling, tab->filling_number)[0] !=
		    '\0') {
			o.may_fill = may_fill;
			o.guard = tab;
		}
		if (!fill_secret(tab, &o, secret, len))
			return tab_no_page(L);
		return tab_await(L, tab, tab_push_evaluated);
	}
	lua_json_encode(L, 3);
	o.value = lua_tolstring(L, -1, &o.value_len);
	return start(L, tab, PAGE_ACT_FILL, &o);
}

/* fill(locator, value, options) */
static int
tab_fill(lua_State *L)
{
	return act(L, "fill", do_fill);
}

static int
do_press(lua_State *L, void *arg)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 3);

	o.key = luaL_checkstring(L, 2);
	return start(L, tab, PAGE_ACT_PRESS, &o);
}

/* press(key, options) */
static int
tab_press(lua_State *L)
{
	return act(L, "press", do_press);
}

static int
do_submit(lua_State *L, void *arg)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 3);

	if (!lua_isnoneornil(L, 2))
		push_args(L, "locator", 2, &o);
	return start(L, tab, PAGE_ACT_SUBMIT, &o);
}

/* submit(locator or nil, options) */
static int
tab_submit(lua_State *L)
{
	return act(L, "submit", do_submit);
}

static int
run_script(lua_State *L, void *arg)
{
	struct tab *tab = tab_check(L);
	size_t source_len, args_len = 0;
	const char *source = luaL_checklstring(L, 2, &source_len);
	const char *args = NULL;
	lua_Integer ms = luaL_optinteger(L, 4, PAGE_EXTRACT_TIMEOUT_MS);

	luaL_argcheck(L, ms >= 1 && ms <= TAB_MAX_TIME_MS, 4, "milliseconds");
	lua_settop(L, 3);
	if (!lua_isnil(L, 3)) {
		lua_json_encode(L, 3);
		args = lua_tolstring(L, -1, &args_len);
	}
	if (tab->page == NULL ||
	    !page_eval(tab->page, source, source_len, args, args_len, (int)ms,
		tab_on_result, tab))
		return tab_no_page(L);
	return tab_await(L, tab, tab_push_evaluated);
}

/* eval(source, argument, timeoutMs): the value of the JavaScript function */
static int
tab_eval(lua_State *L)
{
	return act(L, "eval", run_script);
}

/* look(source, argument, timeoutMs): the same, of one that only reads */
static int
tab_look(lua_State *L)
{
	return run_script(L, NULL);
}

static bool
is_stable(lua_State *L, int index)
{
	bool is;

	lua_getfield(L, index, "type");
	is = lua_type(L, -1) == LUA_TSTRING &&
	    strcmp(lua_tostring(L, -1), "stable") == 0;
	lua_pop(L, 1);
	return is;
}

/* wait{type=, value=, timeoutMs=} */
static int
tab_wait(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 2);
	struct page_nav_options nav = { 0 };

	luaL_checktype(L, 2, LUA_TTABLE);
	if (is_stable(L, 2)) {
		nav.stable_timeout_ms =
		    o.timeout_ms > 0 ? o.timeout_ms : PAGE_ACT_TIMEOUT_MS;
		return tab_await_stable(L, tab, &nav);
	}
	push_args(L, "condition", 2, &o);
	return start(L, tab, PAGE_ACT_WAIT, &o);
}

static int
tab_info(lua_State *L)
{
	struct page_act_options o;

	memset(&o, 0, sizeof(o));
	return start(L, tab_check(L), PAGE_ACT_INFO, &o);
}

/* list{go=mark|scroll|changed, timeoutMs=}: see page/list.js */
static int
tab_list(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 2);

	lua_settop(L, 2);
	lua_json_encode(L, 2);
	o.args = lua_tolstring(L, -1, &o.args_len);
	return start(L, tab, PAGE_ACT_LIST, &o);
}

/* signs{known=, login=, document=, timeoutMs=}: see signs.js */
static int
tab_signs(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 2);

	push_args(L, "signs", 2, &o);
	return start(L, tab, PAGE_ACT_SIGNS, &o);
}

static int
push_bytes(lua_State *L, void *arg)
{
	const struct outcome *o = arg;

	if (o->result == NULL || o->status != PAGE_OK)
		return tab_push_failure(L, o->status, o->message);
	lua_pushlstring(L, o->result->json, o->result->len);
	return 1;
}

/* The members of the table at index that the page's script knows. */
static void
push_shot_args(lua_State *L, int index)
{
	lua_createtable(L, 0, 2);
	if (!lua_istable(L, index))
		return;
	lua_getfield(L, index, "fullPage");
	lua_pushboolean(L, lua_toboolean(L, -1));
	lua_setfield(L, -3, "fullPage");
	lua_pop(L, 1);
	lua_getfield(L, index, "mask");
	lua_setfield(L, -2, "mask");
}

/* screenshot{fullPage=, mask=, format=, timeoutMs=} */
static int
tab_screenshot(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_act_options o = act_options(L, 2);
	const char *format = "png";

	lua_settop(L, 2);
	if (lua_istable(L, 2))
		format = run_field(L, 2, "format", 8, "png", NULL);
	o.jpeg = strcmp(format, "jpeg") == 0;
	luaL_argcheck(L, o.jpeg || strcmp(format, "png") == 0, 2,
	    "format is png or jpeg");
	push_shot_args(L, 2);
	lua_json_encode(L, -1);
	o.args = lua_tolstring(L, -1, &o.args_len);
	if (tab->page == NULL ||
	    !page_act(tab->page, PAGE_ACT_SHOT, &o, tab_on_result, tab))
		return tab_no_page(L);
	return tab_await(L, tab, push_bytes);
}

/* cookies(): {count=, changed=}, see cookies.h */
static int
tab_cookies(lua_State *L)
{
	struct tab *tab = tab_check(L);

	if (tab->page == NULL ||
	    !page_count_cookies(tab->page, tab_on_result, tab))
		return tab_no_page(L);
	return tab_await(L, tab, tab_push_evaluated);
}

void
tab_act_open(lua_State *L)
{
	static const luaL_Reg methods[] = { { "click", tab_click },
		{ "cookies", tab_cookies }, { "eval", tab_eval },
		{ "fill", tab_fill }, { "find", tab_find },
		{ "info", tab_info }, { "list", tab_list },
		{ "look", tab_look }, { "press", tab_press },
		{ "screenshot", tab_screenshot }, { "signs", tab_signs },
		{ "submit", tab_submit }, { "wait", tab_wait },
		{ NULL, NULL } };

	luaL_setfuncs(L, methods, 0);
}
