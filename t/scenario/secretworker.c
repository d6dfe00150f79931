/*
 * secretworker: the templates of a workerd that has only canary.lua, once as it
 * is and once with a session that is kept. Linked in the place of templates/,
 * for secrets.t.
 */
#include <string.h>

#include "templates/builtin.h"

static const char canary_text[] = {
#include "t/scenario/canary.lua.inc"
};

static const char kept_text[] = {
#include "t/scenario/canary_kept.lua.inc"
};

static const struct builtin table[] = {
	{ "canary", canary_text, sizeof(canary_text) },
	{ "canary_kept", kept_text, sizeof(kept_text) },
};

#define TEMPLATES (sizeof(table) / sizeof(table[0]))

const struct builtin *
builtin_at(size_t i)
{
	return i < TEMPLATES ? &table[i] : NULL;
}

const struct builtin *
builtin_template(const char *id)
{
	for (size_t i = 0; i < TEMPLATES; i++)
		if (strcmp(table[i].id, id) == 0)
			return &table[i];
	return NULL;
}
