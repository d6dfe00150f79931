/*
 * tab: the pages of a run as templates see them, in workerd only. A tab opens
 * its page when it first needs one and may replace it by a fresh one; what a
 * page did comes back as nil and an error table, never as a raised error. The
 * page layer calls back with a tab that lives until its page has been closed.
 */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "page/page.h"
#include "workerd/lua_json.h"
#include "workerd/run.h"
#include "workerd/tab.h"

#define TAB_NAME "tab"

static void
tab_unlink(struct tab *tab)
{
	struct tab **at = &tab->run->tabs;

	while (*at != NULL && *at != tab)
		at = &(*at)->next;
	if (*at != NULL)
		*at = tab->next;
	free(tab);
}

void
tab_free_all(struct run *run)
{
	while (run->tabs != NULL)
		tab_unlink(run->tabs);
}

struct tab *
tab_check(lua_State *L)
{
	struct tab **box = luaL_checkudata(L, 1, TAB_NAME);
	struct tab *tab = *box;

	sched_check(tab->run->sched, L);
	if (tab->op != 0)
		luaL_error(L, "the tab is busy");
	return tab;
}

/* ---- results ---- */

int
tab_push_failure(lua_State *L, enum page_status status, const char *message)
{
	enum err_code code = err_by_name(page_status_error(status));

	lua_pushnil(L);
	sched_push_error(L, code == ERR_NONE ? ERR_INTERNAL : code, message);
	lua_pushboolean(L, page_status_needs_fresh(status));
	lua_setfield(L, -2, "needsFresh");
	return 2;
}

int
tab_no_page(lua_State *L)
{
	return tab_push_failure(L, PAGE_CLOSED, "the tab has no page");
}

/* A table of what there is of it, or nil. */
static void
push_pending(lua_State *L, const struct page_pending *p)
{
	const struct {
		const char *name;
		int n;
	} all[] = { { "requests", p->requests }, { "timers", p->timers },
		{ "connections", p->connections },
		{ "refreshMs", p->refresh_ms } };

	lua_pushnil(L);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].n == 0)
			continue;
		if (lua_isnil(L, -1)) {
			lua_pop(L, 1);
			lua_newtable(L);
		}
		lua_pushinteger(L, all[i].n);
		lua_setfield(L, -2, all[i].name);
	}
}

static int
push_nav(lua_State *L, void *arg)
{
	const struct outcome *o = arg;
	const struct page_nav *nav = o->nav;

	if (nav == NULL || nav->status != PAGE_OK)
		return tab_push_failure(L, o->status, o->message);
	lua_createtable(L, 0, 7);
	lua_pushstring(L, nav->final_url);
	lua_setfield(L, -2, "finalUrl");
	lua_pushstring(L, nav->mime);
	lua_setfield(L, -2, "mime");
	if (nav->http_status > 0) {
		lua_pushinteger(L, nav->http_status);
		lua_setfield(L, -2, "status");
	}
	lua_pushboolean(L, nav->redirected);
	lua_setfield(L, -2, "redirected");
	lua_pushboolean(L, nav->partial);
	lua_setfield(L, -2, "partial");
	lua_pushinteger(L, nav->elapsed_ms);
	lua_setfield(L, -2, "elapsedMs");
	push_pending(L, &nav->pending);
	lua_setfield(L, -2, "pending");
	return 1;
}

int
tab_push_view(lua_State *L, void *arg)
{
	const struct outcome *o = arg;

	if (o->result == NULL || o->status != PAGE_OK)
		return tab_push_failure(L, o->status, o->message);
	if (o->result->len > LUA_JSON_MAX_BYTES)
		return tab_push_failure(
		    L, PAGE_SCRIPT_FAILED, "the page gave too much data");
	lua_json_push_view(L, o->result->json, o->result->len);
	return 1;
}

int
tab_push_evaluated(lua_State *L, void *arg)
{
	int n = tab_push_view(L, arg);

	if (n != 1)
		return n;
	lua_getfield(L, -1, "get");
	lua_insert(L, -2);
	lua_call(L, 1, 1);
	return 1;
}

/* The nav has the doc, or an error comes with it. */
static int
push_read(lua_State *L, void *arg)
{
	const struct page_nav *nav = ((const struct outcome *)arg)->nav;
	struct page_result result = { PAGE_OK, "", NULL, 0 };
	struct outcome o = { PAGE_SCRIPT_FAILED, "", NULL, &result };

	if (push_nav(L, arg) != 1)
		return 2;
	if (nav->doc != NULL) {
		result.json = nav->doc;
		result.len = nav->doc_len;
		o.status = PAGE_OK;
	} else if (nav->doc_error != NULL)
		o.message = nav->doc_error;
	if (tab_push_view(L, &o) != 1) {
		lua_remove(L, -2);
		return 2;
	}
	lua_setfield(L, -2, "doc");
	return 1;
}

/* ---- callbacks of the page layer ---- */

static void
finish(struct tab *tab, struct outcome *o)
{
	struct run *run = tab->run;
	uint64_t op = tab->op;

	tab->op = 0;
	/* Without a browser the next item would fail, and the next. */
	if (o->status == PAGE_GONE)
		run_abort(run, ERR_PAGE_CRASHED, o->message);
	if (op != 0 && !run->over)
		(void)sched_complete(run->sched, op, o);
}

static void
on_opened(
    struct page *page, enum page_status status, const char *message, void *arg)
{
	struct tab *tab = arg;
	struct outcome o = { status, message, NULL, NULL };

	tab->open = status == PAGE_OK;
	if (!tab->open) {
		tab->page = NULL; /* it frees itself then */
		if (tab->collected) {
			tab_unlink(tab);
			return;
		}
	}
	finish(tab, &o);
}

static void
on_navigated(struct page *page, const struct page_nav *nav, void *arg)
{
	struct outcome o = { nav->status, nav->message, nav, NULL };

	finish(arg, &o);
}

void
tab_on_result(struct page *page, const struct page_result *result, void *arg)
{
	struct outcome o = { result->status, result->message, NULL, result };

	finish(arg, &o);
}

static void
on_collected(
    struct page *page, enum page_status status, const char *message, void *arg)
{
	tab_unlink(arg);
}

int
tab_await(lua_State *L, struct tab *tab, sched_resume_fn *resume)
{
	/* The callback comes from the loop, so setting op now is in time. */
	tab->op = sched_op(tab->run->sched);
	return sched_wait(tab->run->sched, L, tab->op, resume);
}

static void
let_go(struct tab *tab)
{
	if (tab->page != NULL)
		page_close(tab->page, NULL, NULL);
	tab->page = NULL;
	tab->open = false;
}

/* ---- navigate(url, {timeoutMs=, ...}), read(url, {pageInfo=, ...}, {...}) ---- */

static int
start_navigate(lua_State *L, struct tab *tab)
{
	struct page_nav_options opts = tab_nav_options(L, 3);

	if (!page_navigate(
		tab->page, luaL_checkstring(L, 2), &opts, on_navigated, tab))
		return tab_no_page(L);
	return tab_await(L, tab, push_nav);
}

static int
start_read(lua_State *L, struct tab *tab)
{
	struct page_extract_options extract = tab_extract_options(L, 3);
	struct page_nav_options opts = tab_nav_options(L, 4);

	if (!page_read(tab->page, luaL_checkstring(L, 2), &opts, &extract,
		on_navigated, tab))
		return tab_no_page(L);
	return tab_await(L, tab, push_read);
}

static int
start(lua_State *L, struct tab *tab)
{
	return tab->reading ? start_read(L, tab) : start_navigate(L, tab);
}

static int
opened(lua_State *L, void *arg)
{
	const struct outcome *o = arg;
	struct tab **box = luaL_checkudata(L, 1, TAB_NAME);

	if (o->status != PAGE_OK)
		return tab_push_failure(L, o->status, o->message);
	return start(L, *box);
}

/* Opens the tab's page if it has none yet. */
static int
go(lua_State *L, bool reading)
{
	struct tab *tab = tab_check(L);
	size_t len;
	const char *url = luaL_checklstring(L, 2, &len);

	lua_settop(L, 4);
	tab->reading = reading;
	if (strlen(url) != len)
		return tab_push_failure(
		    L, PAGE_BAD_URL, "a NUL byte in the address");
	if (tab->page != NULL && !page_is_open(tab->page))
		let_go(tab);
	if (tab->page == NULL && tab->run->spare != NULL) {
		tab->page = tab->run->spare;
		tab->run->spare = NULL;
		tab->open = page_is_open(tab->page);
	}
	if (tab->page != NULL)
		return start(L, tab);
	tab->page = page_open(tab->run->browser, on_opened, tab);
	if (tab->page == NULL)
		return tab_push_failure(
		    L, PAGE_CLOSED, "no tab could be opened");
	return tab_await(L, tab, opened);
}

static int
tab_navigate(lua_State *L)
{
	return go(L, false);
}

static int
tab_read(lua_State *L)
{
	return go(L, true);
}

int
tab_await_stable(
    lua_State *L, struct tab *tab, const struct page_nav_options *opts)
{
	if (tab->page == NULL ||
	    !page_wait_stable(tab->page, opts, on_navigated, tab))
		return tab_no_page(L);
	return tab_await(L, tab, push_nav);
}

/* wait_stable(timeoutMs), wait_stable{stableTimeoutMs=, settle=, ...} */
static int
tab_wait_stable(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_nav_options opts = tab_nav_options(L, 2);
	lua_Integer ms = lua_istable(L, 2) ? 0 : luaL_optinteger(L, 2, 0);

	luaL_argcheck(L, ms >= 0 && ms <= TAB_MAX_TIME_MS, 2, "milliseconds");
	if (ms > 0)
		opts.stable_timeout_ms = (int)ms;
	return tab_await_stable(L, tab, &opts);
}

/* ---- extract, eval ---- */

/* extract(options): a view */
static int
tab_extract(lua_State *L)
{
	struct tab *tab = tab_check(L);
	struct page_extract_options opts = tab_extract_options(L, 2);

	if (tab->page == NULL ||
	    !page_extract(tab->page, &opts, tab_on_result, tab))
		return tab_no_page(L);
	return tab_await(L, tab, tab_push_view);
}

/* ---- life ---- */

/* close() and fresh(): the next navigation opens a new page. */
static int
tab_fresh(lua_State *L)
{
	let_go(tab_check(L));
	return 0;
}

/* A session that outlives the run goes on in a tab that is left to it. */
static void
leave(struct tab *tab)
{
	struct page *page = tab->page;

	if (tab->run->keep && page != NULL && page_is_open(page)) {
		tab->page = tab->run->spare;
		tab->run->spare = page;
	}
	let_go(tab);
}

static int
tab_close(lua_State *L)
{
	leave(tab_check(L));
	return 0;
}

static int
tab_gc(lua_State *L)
{
	struct tab **box = luaL_checkudata(L, 1, TAB_NAME);
	struct tab *tab = *box;

	*box = NULL;
	if (tab != NULL && tab->op == 0) {
		leave(tab);
		tab_unlink(tab);
	} else if (tab != NULL) {
		/* Its coroutine was dropped in the middle of an operation. */
		tab->op = 0;
		tab->collected = true;
		page_close(tab->page, on_collected, tab);
	}
	return 0;
}

static int
new_tab(lua_State *L)
{
	struct run *run = run_of(L);
	struct tab **box;

	sched_check(run->sched, L);
	box = lua_newuserdatauv(L, sizeof(struct tab *), 0);
	*box = NULL;
	luaL_setmetatable(L, TAB_NAME);
	*box = calloc(1, sizeof(struct tab));
	if (*box == NULL)
		return luaL_error(L, "out of memory");
	(*box)->run = run;
	(*box)->next = run->tabs;
	run->tabs = *box;
	return 1;
}

void
tab_open(lua_State *L)
{
	static const luaL_Reg methods[] = { { "close", tab_close },
		{ "extract", tab_extract }, { "fresh", tab_fresh },
		{ "navigate", tab_navigate }, { "read", tab_read },
		{ "wait_stable", tab_wait_stable }, { NULL, NULL } };

	luaL_newmetatable(L, TAB_NAME);
	lua_pushcfunction(L, tab_gc);
	lua_setfield(L, -2, "__gc");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	luaL_newlib(L, methods);
	tab_act_open(L);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	lua_pushcfunction(L, new_tab);
	lua_setfield(L, -2, "tab");
}
