/*
 * vm_pattern: Lua patterns (Lua 5.4 manual, section 6.4.1) whose work is
 * counted. Lua's own matcher can run for hours inside one instruction, out of
 * the count hook's sight; this one charges its steps to the state's budget.
 */
#ifndef WORKERD_VM_PATTERN_H
#define WORKERD_VM_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

#define PATTERN_MAX_CAPTURES 32

struct pattern_capture {
	const char *start;
	ptrdiff_t len; /* or one of the two below */
};

#define PATTERN_OPEN     (-1)
#define PATTERN_POSITION (-2)

/* All bytes are borrowed. Errors in the pattern are raised in L. */
struct pattern {
	lua_State *L;
	const char *subject;
	const char *subject_end;
	const char *text; /* without the anchor */
	const char *text_end;
	bool anchored;
	unsigned depth;
	unsigned uncharged;
	int ncaptures;
	struct pattern_capture captures[PATTERN_MAX_CAPTURES];
};

void pattern_init(struct pattern *, lua_State *, const char *subject,
    size_t subject_len, const char *text, size_t text_len);
/* Matches exactly at from; the end of the match, or NULL. */
const char *pattern_match(struct pattern *, const char *from);
/*
 * Pushes the captures; the whole match, from..end, when there are none and
 * whole is asked for. Returns how many.
 */
int
pattern_push(struct pattern *, const char *from, const char *end, bool whole);
/* Pushes capture i (0 based); the whole match for 0 without captures. */
void
pattern_push_one(struct pattern *, int i, const char *from, const char *end);

#endif
