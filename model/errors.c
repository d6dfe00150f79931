#include <string.h>

#include "common/panic.h"
#include "model/errors.h"

static const struct err_row {
	const char *name, *mcp, *gw, *hint;
	bool retryable;
} rows[ERR__MAX] = {
	[ERR_NONE] = { "", "", "", "", false },
#define ERR(name, mcp, gw, retryable, hint) \
	[ERR_##name] = { #name, #mcp, #gw, hint, retryable },
#include "model/errors.def"
#undef ERR
};

static const struct err_row *
err_row(enum err_code code)
{
	ASSERT(code < ERR__MAX);
	return &rows[code];
}

const char *
err_name(enum err_code code)
{
	return err_row(code)->name;
}

enum err_code
err_by_name(const char *name)
{
	for (int i = ERR_NONE + 1; i < ERR__MAX; i++)
		if (strcmp(rows[i].name, name) == 0)
			return (enum err_code)i;
	return ERR_NONE;
}

const char *
err_mcp_name(enum err_code code)
{
	return err_row(code)->mcp;
}

const char *
err_gw_name(enum err_code code)
{
	return err_row(code)->gw;
}

bool
err_retryable(enum err_code code)
{
	return err_row(code)->retryable;
}

const char *
err_hint(enum err_code code)
{
	return err_row(code)->hint;
}
