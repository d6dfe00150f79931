/*
 * rows: the words in which a table of system calls is written. Only for the
 * file that includes the table.
 *
 *	static const struct confine_call calls[] = {
 *	#include "workerd/calls.def"
 *	};
 */
#ifndef CONFINE_ROWS_H
#define CONFINE_ROWS_H

#include "confine/confine.h"

#define ALLOW(call)  { .name = #call, .answer = CONFINE_ALLOW },
#define REFUSE(call) { .name = #call, .answer = CONFINE_REFUSE },
#define ABSENT(call) { .name = #call, .answer = CONFINE_ABSENT },
/* Up to CONFINE_WHENS conditions, each for another argument. */
#define ALLOW_IF(call, ...) \
	{ .name = #call, .answer = CONFINE_ALLOW, .when = { __VA_ARGS__ } },
#define REFUSE_IF(call, ...) \
	{ .name = #call, .answer = CONFINE_REFUSE, .when = { __VA_ARGS__ } },
#define ABSENT_IF(call, ...) \
	{ .name = #call, .answer = CONFINE_ABSENT, .when = { __VA_ARGS__ } },

/* Conditions: the number of an argument, from 0, and what it must be. */
#define BITS(n, bits, is)                                         \
	{                                                         \
		.test = CONFINE_BITS, .arg = (n), .mask = (bits), \
		.value = (is)                                     \
	}
/* For an int: the kernel does not look at the upper half either. */
#define IS(n, is)        BITS(n, UINT32_MAX, (uint32_t)(is))
#define WITHOUT(n, bits) BITS(n, bits, 0)
/* At least; a stray bit in the upper half makes it more, never less. */
#define LEAST(n, is)                                             \
	{                                                        \
		.test = CONFINE_LEAST, .arg = (n), .value = (is) \
	}
#define SELF(n)                                  \
	{                                        \
		.test = CONFINE_SELF, .arg = (n) \
	}

#endif
