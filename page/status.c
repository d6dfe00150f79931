/*
 * Names of what can happen to a page, and which addresses may be opened at
 * all, for the worker. The list of schemes is a second fence: what may be
 * reached is decided by the browser's network, not here.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "model/errors.h"
#include "page/priv.h"

static const struct {
	enum err_code code;
	bool fresh;
} status_table[PAGE__MAX] = {
	[PAGE_OK] = { ERR_NONE, false },
	[PAGE_BAD_URL] = { ERR_URL_NOT_ALLOWED, false },
	[PAGE_NAVIGATION_FAILED] = { ERR_NAVIGATION_FAILED, false },
	[PAGE_NAVIGATION_TIMEOUT] = { ERR_NAVIGATION_TIMEOUT, true },
	[PAGE_DOWNLOAD] = { ERR_DOWNLOAD_REFUSED, false },
	[PAGE_CRASHED] = { ERR_PAGE_CRASHED, true },
	[PAGE_TIMEOUT] = { ERR_ACTION_TIMEOUT, true },
	[PAGE_SCRIPT_FAILED] = { ERR_PAGE_EVAL_FAILED, false },
	[PAGE_CLOSED] = { ERR_TAB_CLOSED, true },
	[PAGE_GONE] = { ERR_PAGE_CRASHED, false },
	[PAGE_NO_ELEMENT] = { ERR_ELEMENT_NOT_FOUND, false },
	[PAGE_NOT_OPERABLE] = { ERR_ELEMENT_NOT_OPERABLE, false },
	[PAGE_NOT_MET] = { ERR_ACTION_TIMEOUT, false },
	[PAGE_BAD_LOCATOR] = { ERR_INVALID_PARAMETER, false },
	[PAGE_FORM_INVALID] = { ERR_FORM_INVALID, false },
	[PAGE_REFUSED] = { ERR_POLICY_DENIED, false },
	[PAGE_UNTRUSTED] = { ERR_TRUST_LEVEL_NOT_ALLOWED, false },
};

const char *
page_status_error(enum page_status status)
{
	return status < PAGE__MAX ? err_name(status_table[status].code) : "";
}

bool
page_status_needs_fresh(enum page_status status)
{
	return status < PAGE__MAX && status_table[status].fresh;
}

void
page_load_error(const char *name, char *ret_text, size_t size)
{
	static const char *const rows[][2] = {
#define NETERROR(name, words) { "net::ERR_" #name, words },
#include "page/neterrors.def"
#undef NETERROR
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i][0], name) != 0)
			continue;
		snprintf(ret_text, size, "%s (%s)", rows[i][1], name);
		return;
	}
	snprintf(ret_text, size, "the page could not be loaded (%s)", name);
}

static bool
url_refuse(const char **ret_why, const char *why)
{
	if (ret_why != NULL)
		*ret_why = why;
	return false;
}

/* Has a host that is more than a separator. */
static bool
url_has_host(const char *rest)
{
	size_t len = strcspn(rest, "/?#\\");
	const char *at = memchr(rest, '@', len);

	if (at != NULL) {
		len -= (size_t)(at - rest) + 1;
		rest = at + 1;
	}
	return len > 0 && rest[0] != ':';
}

bool
page_url_allowed(const char *url, bool allow_data, const char **ret_why)
{
	size_t len = strlen(url);

	if (len == 0 || len > PAGE_URL_MAX_BYTES)
		return url_refuse(ret_why, "the address is empty or too long");
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)url[i] <= ' ' || url[i] == 0x7f)
			return url_refuse(ret_why,
			    "the address has a space or control character");
	}
	if (strncasecmp(url, "http://", 7) == 0)
		url += 7;
	else if (strncasecmp(url, "https://", 8) == 0)
		url += 8;
	else if (strcasecmp(url, "about:blank") == 0 ||
	    (allow_data && strncasecmp(url, "data:", 5) == 0))
		return true;
	else
		return url_refuse(
		    ret_why, "only http and https addresses may be opened");
	if (!url_has_host(url))
		return url_refuse(ret_why, "the address names no host");
	return true;
}
