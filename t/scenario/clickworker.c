/*
 * clickworker: the templates of a workerd that has only clicker.lua, for
 * clicks.t. Linked in the place of templates/.
 */
#include <string.h>

#include "templates/builtin.h"

static const char clicker[] = {
#include "t/scenario/clicker.lua.inc"
};

static const struct builtin table = { "clicker", clicker, sizeof(clicker) };

const struct builtin *
builtin_at(size_t i)
{
	return i == 0 ? &table : NULL;
}

const struct builtin *
builtin_template(const char *id)
{
	return strcmp(table.id, id) == 0 ? &table : NULL;
}
