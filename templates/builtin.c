/*
 * builtin: the table of compiled-in templates. Linked into workerd only, the
 * one program that may run them.
 */
#include <string.h>

#include "templates/builtin.h"

static const char batch_extract_pages[] = {
#include "templates/batch_extract_pages.lua.inc"
};
static const char multi_tab_compare[] = {
#include "templates/multi_tab_compare.lua.inc"
};

#define ROW(name) { #name, name, sizeof(name) },
static const struct builtin table[] = { ROW(batch_extract_pages)
	    ROW(multi_tab_compare) };
#undef ROW

const struct builtin *
builtin_at(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const struct builtin *
builtin_template(const char *id)
{
	for (size_t i = 0; builtin_at(i) != NULL; i++)
		if (strcmp(table[i].id, id) == 0)
			return &table[i];
	return NULL;
}
