/*
 * program: a template's text becomes its table, for those who run it and those
 * who only read its metadata.
 */
#ifndef WORKERD_PROGRAM_H
#define WORKERD_PROGRAM_H

struct builtin;
struct lua_State;

/*
 * Runs the template's text and leaves what it returns on the stack. Raises
 * what the text raises; lua_json_open() was called before.
 */
void program_push(struct lua_State *, const struct builtin *);

#endif
