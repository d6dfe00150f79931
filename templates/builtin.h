/*
 * builtin: the template programs that are compiled into workerd.
 */
#ifndef TEMPLATES_BUILTIN_H
#define TEMPLATES_BUILTIN_H

#include <stddef.h>

struct builtin {
	const char *id;
	const char *text; /* Lua source, no NUL at its end */
	size_t len;
};

/* NULL when there is none of that id. */
const struct builtin *builtin_template(const char *id);
/* The i-th of all, from 0; NULL beyond the last. */
const struct builtin *builtin_at(size_t i);

#endif
