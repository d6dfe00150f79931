/*
 * lua_json: between JSON texts and Lua values. Runs in workerd only. Memory
 * that Lua does not own is held by userdata with a finalizer, because any call
 * into Lua may raise.
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

#define BUF_NAME     "json buffer"
#define ARRAY_NAME   "json array"
#define MAX_DEPTH    JSON_DEPTH_DEFAULT
#define BYTES_A_STEP 64

/* ---- decoding ---- */

static void push_value(lua_State *, struct json_val);

struct buf *
lua_json_push_buf(lua_State *L, size_t max_bytes)
{
	struct buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

	buf_init(b, max_bytes);
	luaL_setmetatable(L, BUF_NAME);
	return b;
}

static void
push_str(lua_State *L, struct json_val v)
{
	size_t len = json_str_len(v);
	const char *text = json_str_borrow(v, &len);
	struct buf *b;

	if (text != NULL) {
		lua_pushlstring(L, text, len);
		return;
	}
	b = lua_json_push_buf(L, LUA_JSON_MAX_BYTES);
	if (!json_str_add(v, b))
		luaL_error(L, "out of memory");
	lua_pushlstring(L, (const char *)b->data, b->len);
	buf_clear(b);
	lua_remove(L, -2);
}

static void
push_number(lua_State *L, struct json_val v)
{
	int64_t i;
	double d;

	if (json_get_int64(v, &i))
		lua_pushinteger(L, i);
	else if (json_get_double(v, &d))
		lua_pushnumber(L, d);
	else
		luaL_error(L, "number out of range");
}

static void
push_array(lua_State *L, struct json_val v)
{
	struct json_iter it = json_iter(v);
	lua_Integer n = 0;

	lua_createtable(L, (int)json_len(v), 0);
	luaL_setmetatable(L, ARRAY_NAME);
	while (json_iter_next(&it)) {
		push_value(L, it.val);
		lua_rawseti(L, -2, ++n);
	}
}

static void
push_object(lua_State *L, struct json_val v)
{
	struct json_iter it = json_iter(v);

	lua_createtable(L, 0, (int)json_len(v));
	while (json_iter_next(&it)) {
		push_str(L, it.key);
		push_value(L, it.val);
		lua_rawset(L, -3);
	}
}

static void
push_value(lua_State *L, struct json_val v)
{
	bool b = false;

	luaL_checkstack(L, 6, "JSON too deep");
	switch (json_type_of(v)) {
	case JSON_NULL:
		lua_json_push_null(L);
		break;
	case JSON_BOOL:
		(void)json_get_bool(v, &b);
		lua_pushboolean(L, b);
		break;
	case JSON_NUMBER:
		push_number(L, v);
		break;
	case JSON_STRING:
		push_str(L, v);
		break;
	case JSON_ARRAY:
		push_array(L, v);
		break;
	case JSON_OBJECT:
		push_object(L, v);
		break;
	case JSON_MISSING:
	case JSON_TYPE__MAX:
		lua_pushnil(L);
		break;
	}
}

void
lua_json_push(lua_State *L, struct json_val v)
{
	push_value(L, v);
}

void
lua_json_push_null(lua_State *L)
{
	lua_pushlightuserdata(L, NULL);
}

/* ---- encoding ---- */

static void write_value(lua_State *, int index, struct json_writer *);

struct key {
	const char *text;
	size_t len;
};

static int
compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int c = memcmp(x->text, y->text, len);

	if (c != 0)
		return c;
	return x->len < y->len ? -1 : x->len > y->len;
}

static size_t
count_members(lua_State *L, int index)
{
	size_t n = 0;

	lua_pushnil(L);
	while (lua_next(L, index) != 0) {
		lua_pop(L, 1);
		n++;
	}
	return n;
}

/* Sorted, so that equal tables are equal texts: Lua's own order varies. */
static void
write_object(lua_State *L, int index, size_t n, struct json_writer *w)
{
	struct key *keys;
	size_t i = 0;

	keys = lua_newuserdatauv(L, (n + 1) * sizeof(*keys), 0);
	lua_pushnil(L);
	while (lua_next(L, index) != 0 && i < n) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "JSON: a key is a %s, not a string",
			    luaL_typename(L, -2));
		keys[i].text = lua_tolstring(L, -2, &keys[i].len);
		i++;
		lua_pop(L, 1);
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	json_write_begin_object(w);
	for (i = 0; i < n; i++) {
		lua_pushlstring(L, keys[i].text, keys[i].len);
		lua_rawget(L, index);
		json_write_keyn(w, keys[i].text, keys[i].len);
		write_value(L, lua_gettop(L), w);
		lua_pop(L, 1);
	}
	json_write_end_object(w);
	lua_pop(L, 1);
}

static bool
is_marked_array(lua_State *L, int index)
{
	bool marked;

	if (!lua_getmetatable(L, index))
		return false;
	luaL_getmetatable(L, ARRAY_NAME);
	marked = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return marked;
}

static void
write_table(lua_State *L, int index, struct json_writer *w)
{
	size_t len = lua_rawlen(L, index);
	size_t n = count_members(L, index);

	if (w->depth >= MAX_DEPTH)
		luaL_error(L, "JSON: nested too deeply");
	vm_charge(L, n + 1);
	if (!is_marked_array(L, index) && (len == 0 || len != n)) {
		write_object(L, index, n, w);
		return;
	}
	if (len != n)
		luaL_error(L, "JSON: an array with holes or other keys");
	json_write_begin_array(w);
	for (size_t i = 1; i <= len; i++) {
		lua_rawgeti(L, index, (lua_Integer)i);
		write_value(L, lua_gettop(L), w);
		lua_pop(L, 1);
	}
	json_write_end_array(w);
}

static void
write_other(lua_State *L, int index, struct json_writer *w)
{
	if (lua_islightuserdata(L, index) && lua_touserdata(L, index) == NULL)
		json_write_null(w);
	else if (!lua_view_write(L, index, w))
		luaL_error(
		    L, "JSON: a %s has no text", luaL_typename(L, index));
}

static void
write_value(lua_State *L, int index, struct json_writer *w)
{
	const char *text;
	size_t len;

	luaL_checkstack(L, 8, "JSON: nested too deeply");
	switch (lua_type(L, index)) {
	case LUA_TNIL:
		json_write_null(w);
		break;
	case LUA_TBOOLEAN:
		json_write_bool(w, lua_toboolean(L, index));
		break;
	case LUA_TNUMBER:
		if (lua_isinteger(L, index))
			json_write_int64(w, lua_tointeger(L, index));
		else
			json_write_double(w, lua_tonumber(L, index));
		break;
	case LUA_TSTRING:
		text = lua_tolstring(L, index, &len);
		json_write_strn(w, text, len);
		break;
	case LUA_TTABLE:
		write_table(L, index, w);
		break;
	default:
		write_other(L, index, w);
		break;
	}
}

void
lua_json_encode(lua_State *L, int index)
{
	struct json_writer w;
	struct buf *b;

	index = lua_absindex(L, index);
	b = lua_json_push_buf(L, LUA_JSON_MAX_BYTES);
	json_writer_init(&w, b);
	write_value(L, index, &w);
	if (!json_writer_finish(&w))
		luaL_error(L, "JSON: text too long");
	vm_charge(L, b->len / BYTES_A_STEP);
	lua_pushlstring(L, (const char *)b->data, b->len);
	buf_clear(b);
	lua_remove(L, -2);
}

/* ---- metatables ---- */

static int
buf_gc(lua_State *L)
{
	buf_clear(luaL_checkudata(L, 1, BUF_NAME));
	return 0;
}

void
lua_json_new_metatable(lua_State *L, const char *name, lua_CFunction gc)
{
	luaL_newmetatable(L, name);
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	if (gc == NULL)
		return;
	lua_pushcfunction(L, gc);
	lua_setfield(L, -2, "__gc");
}

void
lua_json_open(lua_State *L)
{
	lua_json_new_metatable(L, ARRAY_NAME, NULL);
	lua_json_new_metatable(L, BUF_NAME, buf_gc);
	lua_pop(L, 2);
	lua_view_open(L);
}

void
lua_json_mark_array(lua_State *L)
{
	luaL_setmetatable(L, ARRAY_NAME);
}
