/*
 * secret: the values of a run that nothing but a page may get to see, and how
 * a template holds one without being able to read it. Runs in workerd only.
 *
 * In Lua a secret is a userdata: it has no length, joins no text, is no JSON,
 * and tostring() of it is "[secret]". It stands in ctx.inputs where the caller
 * gave the value. Only functions that fill something with it look inside, and
 * must not keep the text or put it into an error.
 */
#ifndef WORKERD_SECRET_H
#define WORKERD_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

struct secrets;

enum secrets_status {
	SECRETS_MORE,     /* read again when the pipe is readable */
	SECRETS_COMPLETE, /* all are there */
	SECRETS_LOST,     /* what came is not what was announced */
	SECRETS__MAX
};

/* NULL when memory ran out. */
struct secrets *secrets_new(void);
/* Wipes them. */
void secrets_free(struct secrets **);
/*
 * Reads what is in the (non-blocking) pipe; up to its end, which completes
 * them: one JSON array of strings, which may be missing, and stored secrets, as
 * launcher/secrets.h says. Not to be called again after that.
 */
enum secrets_status secrets_read(struct secrets *, int fd);
size_t secrets_count(const struct secrets *);
/* The name of a stored one, else "". */
const char *secrets_name(const struct secrets *, size_t i);
/*
 * Whether a document of this origin may be given value i: what is not stored
 * goes anywhere.
 */
bool secrets_may_fill(const struct secrets *, size_t i, const char *origin);
/* Value i < count, NUL-terminated (it may have more NULs), borrowed. */
const char *secrets_value(const struct secrets *, size_t i, size_t *ret_len);

/* ---- in Lua; all in protected mode ---- */

/* Makes the metatable; once per state. */
void secret_open(lua_State *);
/*
 * Puts secrets in place of every table {secret=N} and {secretRef=name} inside the table on top of
 * the stack. Raises when there is no secret of that number. The values are
 * borrowed as long as the state lives.
 */
void secret_place(lua_State *, const struct secrets *);
/* The number of the secret at index among *ret_owner's; -1: something else. */
int secret_number(lua_State *, int index, const struct secrets **ret_owner);
/*
 * The text of the secret at index, NUL-terminated and borrowed as long as the
 * value is on the stack; NULL when there is something else.
 */
const char *secret_text(lua_State *, int index, size_t *ret_len);
/*
 * Takes the secrets out of the string on top of the stack, which is to leave
 * the worker: those of the redactor that is installed (redact.h).
 */
void secret_clean(lua_State *);

#endif
