/*
 * program: calls the text of a template with what it may use before there is a
 * run: JSON and the kit. Runs in workerd only, in a confined state and in
 * protected mode.
 */
#include <lua.h>

#include "templates/builtin.h"
#include "workerd/lua_json.h"
#include "workerd/program.h"
#include "workerd/vm.h"

static const char kit[] = {
#include "workerd/kit.lua.inc"
};

void
program_push(lua_State *L, const struct builtin *t)
{
	lua_pushfstring(L, "=%s", t->id);
	if (vm_load_text(L, lua_tostring(L, -1), t->text, t->len) != LUA_OK)
		lua_error(L);
	lua_remove(L, -2);
	lua_json_push_lib(L);
	if (vm_load_text(L, "=kit", kit, sizeof(kit)) != LUA_OK)
		lua_error(L);
	lua_pushvalue(L, -2);
	lua_call(L, 1, 1);
	lua_call(L, 2, 1);
}
