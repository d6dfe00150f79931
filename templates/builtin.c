/*
 * builtin: the table of compiled-in templates. Linked into workerd only, the
 * one program that may run them.
 */
#include <string.h>

#include "templates/builtin.h"

static const char batch_extract_pages[] = {
#include "templates/batch_extract_pages.lua.inc"
};
static const char login_keep_session[] = {
#include "templates/login_keep_session.lua.inc"
};
static const char multi_tab_compare[] = {
#include "templates/multi_tab_compare.lua.inc"
};
static const char paginated_extract[] = {
#include "templates/paginated_extract.lua.inc"
};
static const char search_extract[] = {
#include "templates/search_extract.lua.inc"
};
static const char submit_and_verify[] = {
#include "templates/submit_and_verify.lua.inc"
};

static const struct builtin table[] = {
	{ "batch_extract_pages", batch_extract_pages,
	    sizeof(batch_extract_pages) },
	{ "login_keep_session", login_keep_session,
	    sizeof(login_keep_session) },
	{ "multi_tab_compare", multi_tab_compare, sizeof(multi_tab_compare) },
	{ "paginated_extract", paginated_extract, sizeof(paginated_extract) },
	{ "search_extract", search_extract, sizeof(search_extract) },
	{ "submit_and_verify", submit_and_verify, sizeof(submit_and_verify) },
};

const struct builtin *
builtin_at(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const struct builtin *
builtin_template(const char *id)
{
	for (size_t i = 0; builtin_at(i) != NULL; i++)
		if (strcmp(table[i].id, id) == 0)
			return &table[i];
	return NULL;
}
