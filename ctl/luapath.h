/*
 * luapath: where in a Lua text a member of a table is set, for messages about
 * values that are known by a JSON pointer only.
 */
#ifndef CTL_LUAPATH_H
#define CTL_LUAPATH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line on which the member that the pointer ("/inputs/type") leads to is
 * set, else that of the nearest member around it; 0 when none is found. It
 * follows nested table constructors, which is how templates are written; it
 * knows nothing of values that are computed.
 */
int64_t luapath_line(const char *text, size_t len, const char *pointer);

#endif
