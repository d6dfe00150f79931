/*
 * keepworker: the templates of a workerd for sessions.t: "keeper", whose
 * session outlives its run, and "visitor", whose session does not; otherwise
 * they are the same. Linked in the place of templates/.
 */
#include <stdio.h>
#include <string.h>

#include "templates/builtin.h"

static const char body[] = {
#include "t/scenario/keeper.lua.inc"
};

static char text[2][sizeof(body) + 64];
static struct builtin table[] = { { "keeper", text[0], 0 },
	{ "visitor", text[1], 0 } };

static void
fill(void)
{
	for (int i = 0; i < 2; i++) {
		size_t n = (size_t)snprintf(text[i], 64,
		    "local ID, KEEPS = \"%s\", %s ", table[i].id,
		    i == 0 ? "true" : "false");

		memcpy(text[i] + n, body, sizeof(body));
		table[i].len = n + sizeof(body);
	}
}

const struct builtin *
builtin_at(size_t i)
{
	if (table[0].len == 0)
		fill();
	return i < 2 ? &table[i] : NULL;
}

const struct builtin *
builtin_template(const char *id)
{
	for (size_t i = 0; builtin_at(i) != NULL; i++)
		if (strcmp(table[i].id, id) == 0)
			return &table[i];
	return NULL;
}
