/*
 * vm_base: the basic, coroutine and table libraries as templates see them.
 * Runs in workerd only.
 *
 * Replaced is whatever could catch a killed state's error, run where the count
 * hook does not see it (finalizers, message handlers, long loops in C), load
 * code or touch the process. The rest is Lua's own.
 */
#include <stdlib.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "workerd/vm.h"

#define COROUTINE_STEPS 1000 /* at least the hook's period: see vm.c */

/* ---- pcall, xpcall ---- */

static int
finish_pcall(lua_State *L, int status, lua_KContext extra)
{
	vm_check(L, status);
	if (status != LUA_OK && status != LUA_YIELD) {
		lua_pushboolean(L, 0);
		lua_pushvalue(L, -2);
		return 2;
	}
	return lua_gettop(L) - (int)extra;
}

static int
safe_pcall(lua_State *L)
{
	int status;

	luaL_checkany(L, 1);
	lua_pushboolean(L, 1);
	lua_insert(L, 1);
	status =
	    lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
	return finish_pcall(L, status, 0);
}

/* The handler would run while hooks are off if the error came from one. */
static int
message_handler(lua_State *L)
{
	if (vm_killed(vm_of(L)) != VM_ALIVE)
		return 1;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 1, 1);
	return 1;
}

static int
safe_xpcall(lua_State *L)
{
	int n = lua_gettop(L);
	int status;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, message_handler, 1);
	lua_replace(L, 2);
	lua_pushboolean(L, 1);
	lua_pushvalue(L, 1);
	lua_rotate(L, 3, 2);
	status = lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, finish_pcall);
	return finish_pcall(L, status, 2);
}

/* ---- metatables ---- */

static int
safe_setmetatable(lua_State *L)
{
	int type = lua_type(L, 2);

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argexpected(
	    L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	if (type == LUA_TTABLE) {
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL)
			return luaL_error(L, "templates have no finalizers");
	}
	lua_settop(L, 2);
	lua_setmetatable(L, 1);
	return 1;
}

void
vm_open_base(lua_State *L)
{
	static const char *const removed[] = { "collectgarbage", "dofile",
		"load", "loadfile", "loadstring", "print", "require", "warn" };
	static const luaL_Reg replaced[] = { { "pcall", safe_pcall },
		{ "xpcall", safe_xpcall },
		{ "setmetatable", safe_setmetatable }, { NULL, NULL } };

	luaL_requiref(L, "_G", luaopen_base, 1);
	for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
		lua_pushnil(L);
		lua_setfield(L, -2, removed[i]);
	}
	luaL_setfuncs(L, replaced, 0);
	lua_pop(L, 1);
}

/* ---- coroutine ---- */

static lua_State *
check_thread(lua_State *L)
{
	lua_State *co = lua_tothread(L, 1);

	luaL_argexpected(L, co != NULL, 1, "coroutine");
	return co;
}

static int
safe_create(lua_State *L)
{
	lua_State *co;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	vm_charge(L, COROUTINE_STEPS);
	co = lua_newthread(L);
	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	return 1;
}

/* Moves nargs values in, runs; -1 with the error on top, else the results. */
static int
resume_moved(lua_State *L, lua_State *co, int nargs)
{
	int status, nres;

	if (lua_status(co) == LUA_OK && lua_gettop(co) == 0) {
		lua_pushliteral(L, "cannot resume dead coroutine");
		return -1;
	}
	if (!lua_checkstack(co, nargs))
		luaL_error(L, "too many arguments to resume");
	lua_xmove(L, co, nargs);
	status = lua_resume(co, L, nargs, &nres);
	vm_check(L, status);
	if (status == LUA_OK || status == LUA_YIELD) {
		luaL_checkstack(L, nres + 1, "too many results to resume");
		lua_xmove(co, L, nres);
		return nres;
	}
	lua_xmove(co, L, 1);
	return -1;
}

static int
safe_resume(lua_State *L)
{
	lua_State *co = check_thread(L);
	int n = resume_moved(L, co, lua_gettop(L) - 1);

	lua_pushboolean(L, n >= 0);
	n = n < 0 ? 1 : n;
	lua_insert(L, -(n + 1));
	return n + 1;
}

static int
wrapped(lua_State *L)
{
	lua_State *co = lua_tothread(L, lua_upvalueindex(1));
	int n = resume_moved(L, co, lua_gettop(L));

	if (n >= 0)
		return n;
	if (lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD) {
		(void)lua_resetthread(co);
		vm_check(L, LUA_OK);
	}
	return lua_error(L);
}

static int
safe_wrap(lua_State *L)
{
	safe_create(L);
	lua_pushcclosure(L, wrapped, 1);
	return 1;
}

static int
safe_close(lua_State *L)
{
	int n;

	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	n = lua_gettop(L);
	lua_call(L, n - 1, LUA_MULTRET);
	vm_check(L, LUA_OK);
	return lua_gettop(L);
}

void
vm_open_coroutine(lua_State *L)
{
	static const luaL_Reg replaced[] = { { "create", safe_create },
		{ "resume", safe_resume }, { "wrap", safe_wrap },
		{ NULL, NULL } };

	luaL_requiref(L, "coroutine", luaopen_coroutine, 1);
	luaL_setfuncs(L, replaced, 0);
	lua_getfield(L, -1, "close");
	lua_pushcclosure(L, safe_close, 1);
	lua_setfield(L, -2, "close");
	/* A task of the scheduler must not be resumed by anybody else. */
	lua_pushnil(L);
	lua_setfield(L, -2, "running");
	lua_pop(L, 1);
}

/* ---- table: loops in C over lengths that a metatable could make up ---- */

static int
call_original(lua_State *L)
{
	int n = lua_gettop(L);

	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, n, LUA_MULTRET);
	return lua_gettop(L);
}

static void
check_plain(lua_State *L, int arg)
{
	luaL_checktype(L, arg, LUA_TTABLE);
	if (!lua_getmetatable(L, arg))
		return;
	lua_pushliteral(L, "__len");
	if (lua_rawget(L, -2) != LUA_TNIL)
		luaL_argerror(L, arg, "a table without __len expected");
	lua_pop(L, 2);
}

static int
counted_table(lua_State *L)
{
	check_plain(L, 1);
	vm_charge(L, lua_rawlen(L, 1) + 1);
	return call_original(L);
}

static int
counted_sort(lua_State *L)
{
	lua_Unsigned n;

	check_plain(L, 1);
	n = lua_rawlen(L, 1);
	vm_charge(L, n * 20 + 1);
	return call_original(L);
}

static int
counted_concat(lua_State *L)
{
	lua_Integer first = luaL_optinteger(L, 3, 1);
	lua_Integer last;

	check_plain(L, 1);
	last = luaL_optinteger(L, 4, (lua_Integer)lua_rawlen(L, 1));
	if (last >= first)
		vm_charge(L, (uint64_t)last - (uint64_t)first + 1);
	return call_original(L);
}

static int
counted_move(lua_State *L)
{
	lua_Integer first = luaL_checkinteger(L, 2);
	lua_Integer last = luaL_checkinteger(L, 3);

	if (last >= first)
		vm_charge(L, (uint64_t)last - (uint64_t)first + 1);
	return call_original(L);
}

void
vm_open_table(lua_State *L)
{
	static const luaL_Reg replaced[] = { { "insert", counted_table },
		{ "remove", counted_table }, { "sort", counted_sort },
		{ "concat", counted_concat }, { "move", counted_move },
		{ NULL, NULL } };

	luaL_requiref(L, "table", luaopen_table, 1);
	for (const luaL_Reg *r = replaced; r->name != NULL; r++) {
		lua_getfield(L, -1, r->name);
		lua_pushcclosure(L, r->func, 1);
		lua_setfield(L, -2, r->name);
	}
	lua_pop(L, 1);
}
