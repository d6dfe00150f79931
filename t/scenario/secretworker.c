/*
 * secretworker: the templates of a workerd that has only canary.lua. Linked in
 * the place of templates/, for secrets.t.
 */
#include <string.h>

#include "templates/builtin.h"

static const char canary_text[] = {
#include "t/scenario/canary.lua.inc"
};

static const struct builtin table = { "canary", canary_text,
	sizeof(canary_text) };

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
