/*
 * exampleworker: the templates of a workerd that has only the example of
 * browsertask-templates(7), taken from the page when this is built. Linked in
 * the place of templates/, for example.t.
 */
#include <string.h>

#include "templates/builtin.h"

static const char find_text[] = {
#include "t/scenario/find_text.lua.inc"
};

static const struct builtin table = { "find_text", find_text,
	sizeof(find_text) };

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
