/*
 * tab_options: how a page is loaded and what is extracted of it, out of tables
 * of Lua. Runs in workerd only.
 */
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "page/page.h"
#include "workerd/run.h"
#include "workerd/tab.h"

/* settle: "network", "text" or milliseconds */
static void
set_settle(lua_State *L, int index, struct page_nav_options *opts)
{
	const char *what;

	if (lua_getfield(L, index, "settle") == LUA_TNUMBER)
		opts->settle_ms =
		    run_field_int(L, index, "settle", 1, TAB_MAX_TIME_MS, 0);
	else if (!lua_isnil(L, -1)) {
		what = luaL_checkstring(L, -1);
		opts->settle = strcmp(what, "text") == 0 ? PAGE_SETTLE_TEXT
							 : PAGE_SETTLE_NETWORK;
		if (opts->settle != PAGE_SETTLE_TEXT &&
		    strcmp(what, "network") != 0)
			luaL_error(L, "settle must be network, text or ms");
	}
	lua_pop(L, 1);
}

struct page_nav_options
tab_nav_options(lua_State *L, int index)
{
	struct page_nav_options opts;

	memset(&opts, 0, sizeof(opts));
	if (lua_istable(L, index)) {
		opts.timeout_ms =
		    run_field_int(L, index, "timeoutMs", 1, TAB_MAX_TIME_MS, 0);
		opts.stable_timeout_ms = run_field_int(
		    L, index, "stableTimeoutMs", 1, TAB_MAX_TIME_MS, 0);
		opts.load_grace_ms = run_field_int(
		    L, index, "loadGraceMs", 1, TAB_MAX_TIME_MS, 0);
		set_settle(L, index, &opts);
	}
	return opts;
}

static bool
field_bool(lua_State *L, int index, const char *name, bool absent)
{
	bool value;

	lua_getfield(L, index, name);
	value = lua_isnil(L, -1) ? absent : lua_toboolean(L, -1);
	lua_pop(L, 1);
	return value;
}

/* {pageInfo=, content=, readability=, maxElements=, ...}, or nil */
struct page_extract_options
tab_extract_options(lua_State *L, int index)
{
	struct page_extract_options opts = { .page_info = true,
		.content = true };

	if (lua_isnoneornil(L, index))
		return opts;
	luaL_checktype(L, index, LUA_TTABLE);
	opts.page_info = field_bool(L, index, "pageInfo", true);
	opts.content = field_bool(L, index, "content", true);
	opts.readability = field_bool(L, index, "readability", false);
	opts.ids = field_bool(L, index, "ids", false);
	opts.rects = field_bool(L, index, "rects", false);
	opts.max_elements = run_field_int(L, index, "maxElements", 1, 1000, 0);
	opts.max_content_length =
	    run_field_int(L, index, "maxContentLength", 1, 50000, 0);
	opts.timeout_ms =
	    run_field_int(L, index, "timeoutMs", 1, TAB_MAX_TIME_MS, 0);
	return opts;
}
