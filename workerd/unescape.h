/*
 * unescape: whether an escaped character is the one that is looked for.
 */
#ifndef WORKERD_UNESCAPE_H
#define WORKERD_UNESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place of a text, and what is looked for there. */
struct spot {
	const uint8_t *p;
	const uint8_t *end;
	const uint8_t *want;
	size_t left; /* of want */
	int level;   /* how many times the text was escaped */
};

/*
 * Reads %41, + (a space), &lt; or \n: how many bytes of what is wanted it
 * stands for, and where it ends; 0 when it is something else, or no escape.
 */
size_t unescape(const struct spot *, const uint8_t **ret_end);
/* Whether an escape begins at p < end that the text is too short for. */
bool unescape_is_cut(const uint8_t *p, const uint8_t *end);

#endif
