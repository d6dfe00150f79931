/*
 * lua_json: JSON in template programs. Objects are tables, arrays are tables
 * that remember being arrays (so that an empty one stays one), null is
 * ctx.null. A view is JSON text that was checked and is decoded only where it
 * is looked at; encoding one copies its text.
 */
#ifndef WORKERD_LUA_JSON_H
#define WORKERD_LUA_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

#include "common/buf.h"
#include "json/tape.h"

#define LUA_JSON_MAX_BYTES ((size_t)16 << 20)

/* All of these raise on failure and are for protected mode only. */

/* Makes the metatables; once per state. */
void lua_json_open(lua_State *);
/* Pushes the table of functions that templates know as ctx.json. */
void lua_json_push_lib(lua_State *);
void lua_json_push_null(lua_State *);
/* Pushes a buf that is emptied when Lua drops it. */
struct buf *lua_json_push_buf(lua_State *, size_t max_bytes);
/* Pushes the value as Lua data. */
void lua_json_push(lua_State *, struct json_val);
/* Pushes a view of the text, which is copied. */
void lua_json_push_view(lua_State *, const char *text, size_t len);
/* Pushes the JSON text of the value at index. */
void lua_json_encode(lua_State *, int index);

#endif
