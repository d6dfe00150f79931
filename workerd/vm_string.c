/*
 * vm_string: the string library as templates see it. Runs in workerd only.
 * Pattern functions use the counted matcher; rep and the functions that pass
 * over whole strings are charged by length.
 */
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "workerd/vm.h"
#include "workerd/vm_pattern.h"

#define BYTES_A_STEP 64

/* The 1-based start argument as an offset; len + 1 when beyond the end. */
static size_t
start_offset(lua_State *L, int arg, size_t len)
{
	lua_Integer i = luaL_optinteger(L, arg, 1);

	if (i > 0)
		return (lua_Unsigned)i - 1 > len ? len + 1 : (size_t)i - 1;
	if (i == 0 || i < -(lua_Integer)len)
		return 0;
	return len - (size_t)(-i);
}

static bool
has_specials(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != '\0' && strchr("^$*+?.([%-", p[i]) != NULL)
			return true;
	return false;
}

static int
find_plain(lua_State *L, const char *s, size_t slen, const char *p, size_t plen,
    size_t from)
{
	const char *at;

	vm_charge(L, (slen - from) / BYTES_A_STEP + plen / BYTES_A_STEP + 1);
	at = plen == 0 ? s + from : memmem(s + from, slen - from, p, plen);
	if (at == NULL) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, at - s + 1);
	lua_pushinteger(L, (lua_Integer)(at - s) + (lua_Integer)plen);
	return 2;
}

static int
search(lua_State *L, bool find)
{
	size_t slen, plen;
	const char *s = luaL_checklstring(L, 1, &slen);
	const char *p = luaL_checklstring(L, 2, &plen);
	size_t from = start_offset(L, 3, slen);
	struct pattern m;
	const char *at, *end;

	if (from > slen) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || !has_specials(p, plen)))
		return find_plain(L, s, slen, p, plen, from);
	pattern_init(&m, L, s, slen, p, plen);
	for (at = s + from; at <= s + slen; at++) {
		end = pattern_match(&m, at);
		if (end != NULL) {
			if (!find)
				return pattern_push(&m, at, end, true);
			lua_pushinteger(L, at - s + 1);
			lua_pushinteger(L, end - s);
			return pattern_push(&m, at, end, false) + 2;
		}
		if (m.anchored)
			break;
	}
	lua_pushnil(L);
	return 1;
}

static int
string_find(lua_State *L)
{
	return search(L, true);
}

static int
string_match(lua_State *L)
{
	return search(L, false);
}

/* Upvalues: subject, pattern, next offset, end of the last match (or -1). */
static int
gmatch_next(lua_State *L)
{
	size_t slen, plen;
	const char *s = lua_tolstring(L, lua_upvalueindex(1), &slen);
	const char *p = lua_tolstring(L, lua_upvalueindex(2), &plen);
	size_t from = (size_t)lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct pattern m;
	const char *end;

	pattern_init(&m, L, s, slen, p, plen);
	/* In gmatch a '^' is an ordinary character. */
	m.text = p;
	for (; from <= slen; from++) {
		end = pattern_match(&m, s + from);
		if (end == NULL || end - s == last)
			continue;
		lua_pushinteger(L, end - s);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return pattern_push(&m, s + from, end, true);
	}
	return 0;
}

static int
string_gmatch(lua_State *L)
{
	size_t slen, from;

	luaL_checklstring(L, 1, &slen);
	luaL_checkstring(L, 2);
	from = start_offset(L, 3, slen);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)from);
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* A replacement string, in which %0 to %9 and %% are special. */
static void
add_template(struct pattern *m, luaL_Buffer *b, const char *from,
    const char *end, const char *r, size_t rlen)
{
	for (size_t i = 0; i < rlen; i++) {
		if (r[i] != '%') {
			luaL_addchar(b, r[i]);
			continue;
		}
		i++;
		if (i < rlen && r[i] == '%')
			luaL_addchar(b, '%');
		else if (i < rlen && r[i] == '0')
			luaL_addlstring(b, from, (size_t)(end - from));
		else if (i < rlen && r[i] >= '1' && r[i] <= '9') {
			pattern_push_one(m, r[i] - '1', from, end);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(b);
		} else
			luaL_error(
			    m->L, "invalid use of '%%' in replacement string");
	}
}

static void
add_replacement(
    struct pattern *m, luaL_Buffer *b, const char *from, const char *end)
{
	lua_State *L = m->L;
	const char *r;
	size_t rlen;
	int n;

	switch (lua_type(L, 3)) {
	case LUA_TFUNCTION:
		lua_pushvalue(L, 3);
		n = pattern_push(m, from, end, true);
		lua_call(L, n, 1);
		break;
	case LUA_TTABLE:
		pattern_push_one(m, 0, from, end);
		lua_gettable(L, 3);
		break;
	default:
		r = lua_tolstring(L, 3, &rlen);
		add_template(m, b, from, end, r, rlen);
		return;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, from, (size_t)(end - from));
	} else if (lua_isstring(L, -1))
		luaL_addvalue(b);
	else
		luaL_error(L, "invalid replacement value (a %s)",
		    luaL_typename(L, -1));
}

static int
string_gsub(lua_State *L)
{
	size_t slen, plen;
	const char *s = luaL_checklstring(L, 1, &slen);
	const char *p = luaL_checklstring(L, 2, &plen);
	int type = lua_type(L, 3);
	lua_Integer max = luaL_optinteger(L, 4, (lua_Integer)slen + 1);
	lua_Integer n = 0;
	const char *at = s, *last = NULL, *end;
	struct pattern m;
	luaL_Buffer b;

	luaL_argexpected(L,
	    type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TTABLE ||
		type == LUA_TFUNCTION,
	    3, "string/function/table");
	pattern_init(&m, L, s, slen, p, plen);
	luaL_buffinit(L, &b);
	while (n < max) {
		end = pattern_match(&m, at);
		if (end != NULL && end != last) {
			n++;
			add_replacement(&m, &b, at, end);
			at = last = end;
		} else if (at < s + slen)
			luaL_addchar(&b, *at++);
		else
			break;
		if (m.anchored)
			break;
	}
	luaL_addlstring(&b, at, (size_t)(s + slen - at));
	luaL_pushresult(&b);
	lua_pushinteger(L, n);
	return 2;
}

static int
string_rep(lua_State *L)
{
	size_t len, sep_len;
	lua_Integer n;

	luaL_checklstring(L, 1, &len);
	n = luaL_checkinteger(L, 2);
	luaL_optlstring(L, 3, "", &sep_len);
	if (n <= 0 || len + sep_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	vm_charge(L, (uint64_t)n / 8 + 1);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 1);
	return 1;
}

void
vm_open_string(lua_State *L)
{
	static const luaL_Reg replaced[] = { { "find", string_find },
		{ "match", string_match }, { "gmatch", string_gmatch },
		{ "gsub", string_gsub }, { NULL, NULL } };

	luaL_requiref(L, "string", luaopen_string, 1);
	luaL_setfuncs(L, replaced, 0);
	lua_pushnil(L);
	lua_setfield(L, -2, "dump");
	lua_getfield(L, -1, "rep");
	lua_pushcclosure(L, string_rep, 1);
	lua_setfield(L, -2, "rep");
	lua_pop(L, 1);
}
