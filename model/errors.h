/* errors: the table of errors.def as an enum and its properties. */
#ifndef MODEL_ERRORS_H
#define MODEL_ERRORS_H

#include <stdbool.h>

enum err_code {
	ERR_NONE,
#define ERR(name, mcp, gw, retryable, hint) ERR_##name,
#include "model/errors.def"
#undef ERR
	ERR__MAX
};

/* The internal name, for example "QUEUE_FULL"; "" for ERR_NONE. */
const char *err_name(enum err_code);
/* ERR_NONE for a name that is not in the table. */
enum err_code err_by_name(const char *name);
/* The one of the sixteen codes of the MCP plane this is shown as. */
const char *err_mcp_name(enum err_code);
const char *err_gw_name(enum err_code);
bool err_retryable(enum err_code);
/* What the caller should do next, a sentence. */
const char *err_hint(enum err_code);

#endif
