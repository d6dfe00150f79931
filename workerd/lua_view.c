/*
 * lua_view: JSON texts that template programs hold without decoding them.
 * Runs in workerd only. The document of a view is freed by its finalizer; a
 * view of a part keeps the whole alive.
 */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "common/buf.h"
#include "json/tape.h"
#include "json/writer.h"
#include "workerd/lua_json.h"
#include "workerd/lua_view.h"
#include "workerd/vm.h"

#define VIEW_NAME    "json view"
#define BYTES_A_STEP 64

struct view {
	struct json_doc *doc; /* NULL when another view owns it */
	struct json_val val;
};

bool
lua_view_write(lua_State *L, int index, struct json_writer *w)
{
	const struct view *v = luaL_testudata(L, index, VIEW_NAME);

	if (v == NULL)
		return false;
	if (!json_is_missing(v->val))
		json_write_val(w, v->val);
	else
		json_write_null(w);
	return true;
}

static const struct json_limits view_limits = { LUA_JSON_MAX_BYTES,
	JSON_DEPTH_DEFAULT };

/*
 * The browser escapes all that is not ASCII in a text that has other letters
 * than those of western Europe, which doubles it, and lets halves of characters
 * pass. Such a text is written anew, as UTF-8.
 */
static bool
parse_rewritten(
    const char *text, size_t len, struct view *v, struct json_error *ret_error)
{
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct buf b;
	bool ok;

	if (!json_parse((const uint8_t *)text, len, &view_limits,
		JSON_REPAIR_UTF8, &doc, ret_error))
		return false;
	buf_init(&b, LUA_JSON_MAX_BYTES);
	json_writer_init(&w, &b);
	json_write_val(&w, json_root(doc));
	json_doc_free(&doc);
	*ret_error = (struct json_error){ .kind = JSON_ERROR_LIMIT,
		.message = "too large" };
	ok = json_writer_finish(&w) &&
	    json_parse(b.data, b.len, &view_limits, 0, &v->doc, ret_error);
	buf_clear(&b);
	return ok;
}

static bool
parse_view(
    const char *text, size_t len, struct view *v, struct json_error *ret_error)
{
	if (memmem(text, len, "\\u", 2) == NULL) {
		if (json_parse((const uint8_t *)text, len, &view_limits, 0,
			&v->doc, ret_error))
			return true;
		if (ret_error->kind != JSON_ERROR_SYNTAX)
			return false;
	}
	return parse_rewritten(text, len, v, ret_error);
}

void
lua_json_push_view(lua_State *L, const char *text, size_t len)
{
	struct json_error error;
	struct view *v;

	v = lua_newuserdatauv(L, sizeof(*v), 1);
	memset(v, 0, sizeof(*v));
	luaL_setmetatable(L, VIEW_NAME);
	vm_charge(L, len / BYTES_A_STEP);
	if (!parse_view(text, len, v, &error))
		luaL_error(L, "not JSON: %s (byte %d)", error.message,
		    (int)error.offset);
	v->val = json_root(v->doc);
}

/* Follows the arguments from first on: names, or positions from 1. */
static struct json_val
walk(lua_State *L, int first)
{
	const struct view *v = luaL_checkudata(L, 1, VIEW_NAME);
	struct json_val at = v->val;
	int top = lua_gettop(L);

	for (int i = first; i <= top; i++) {
		size_t len;
		const char *key;

		if (lua_isinteger(L, i)) {
			lua_Integer n = lua_tointeger(L, i);

			at = json_arr_get(at, n < 1 ? SIZE_MAX : (size_t)n - 1);
			continue;
		}
		key = luaL_checklstring(L, i, &len);
		at = json_obj_getn(at, key, len);
	}
	return at;
}

static int
view_get(lua_State *L)
{
	lua_json_push(L, walk(L, 2));
	return 1;
}

static int
view_len(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)json_len(walk(L, 2)));
	return 1;
}

static int
view_at(lua_State *L)
{
	struct json_val at = walk(L, 2);
	struct view *sub;

	if (json_is_missing(at)) {
		lua_pushnil(L);
		return 1;
	}
	sub = lua_newuserdatauv(L, sizeof(*sub), 1);
	sub->doc = NULL;
	sub->val = at;
	luaL_setmetatable(L, VIEW_NAME);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	return 1;
}

static int
view_text(lua_State *L)
{
	const uint8_t *text;
	size_t len;

	if (json_raw(walk(L, 2), &text, &len))
		lua_pushlstring(L, (const char *)text, len);
	else
		lua_pushnil(L);
	return 1;
}

static int
view_gc(lua_State *L)
{
	struct view *v = luaL_checkudata(L, 1, VIEW_NAME);

	json_doc_free(&v->doc);
	return 0;
}

void
lua_view_open(lua_State *L)
{
	static const luaL_Reg methods[] = { { "at", view_at },
		{ "get", view_get }, { "len", view_len }, { "text", view_text },
		{ NULL, NULL } };

	lua_json_new_metatable(L, VIEW_NAME, view_gc);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}

/* ---- ctx.json ---- */

static int
lib_encode(lua_State *L)
{
	luaL_checkany(L, 1);
	lua_json_encode(L, 1);
	return 1;
}

static int
lib_view(lua_State *L)
{
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);

	lua_json_push_view(L, text, len);
	return 1;
}

static int
lib_decode(lua_State *L)
{
	const struct view *v;

	lib_view(L);
	v = luaL_checkudata(L, -1, VIEW_NAME);
	lua_json_push(L, v->val);
	return 1;
}

static int
lib_array(lua_State *L)
{
	if (lua_isnoneornil(L, 1)) {
		lua_settop(L, 0);
		lua_newtable(L);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_json_mark_array(L);
	return 1;
}

void
lua_json_push_lib(lua_State *L)
{
	static const luaL_Reg functions[] = { { "array", lib_array },
		{ "decode", lib_decode }, { "encode", lib_encode },
		{ "raw", lib_view }, { NULL, NULL } };

	luaL_newlib(L, functions);
}
