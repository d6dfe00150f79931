/*
 * lua_view: what lua_json.c and lua_view.c share. The functions for everybody
 * else are in lua_json.h.
 */
#ifndef WORKERD_LUA_VIEW_H
#define WORKERD_LUA_VIEW_H

#include <stdbool.h>

#include <lua.h>

struct json_writer;

/* Makes the metatable of views. */
void lua_view_open(lua_State *);
/* Writes the text of the view at index; false if it is none. */
bool lua_view_write(lua_State *, int index, struct json_writer *);

/* Pushes a new protected metatable, with a finalizer unless gc is NULL. */
void lua_json_new_metatable(lua_State *, const char *name, lua_CFunction gc);
/* Makes the table on top an array for the encoder. */
void lua_json_mark_array(lua_State *);

#endif
