/*
 * setting_checks: judges of the settings that are texts. Runs in the launcher,
 * which reads the configuration file and the command line, in supervisord and
 * in egressd, which are told the outcome.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/domains.h"
#include "model/protections.h"
#include "model/setting_checks.h"
#include "model/settings.h"

#define RESOLVERS_MAX 8
#define HOST_BYTES    256
#define GROUP_CHARS   32

static bool __attribute__((format(printf, 3, 4)))
bad(char *ret_why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret_why, size, fmt, ap);
	va_end(ap);
	return false;
}

bool
setting_check_characters(const char *value, char *ret_why, size_t size)
{
	for (const char *p = value; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			return bad(ret_why, size,
			    "has characters that are not printable ASCII:"
			    " write names of other scripts as xn--...");
		else if (strchr("\"'\\$", *p) != NULL)
			return bad(ret_why, size,
			    "has a quote, backslash or dollar sign: leave it"
			    " out or write it as %%xx");
	return true;
}

/* Digits of 1 to 65535, the whole of the text. */
static bool
is_port(const char *text)
{
	size_t len = strlen(text);
	long port = strtol(text, NULL, 10);

	return len <= 5 && strspn(text, "0123456789") == len && port >= 1 &&
	    port <= 65535;
}

/*
 * Splits "host", "host:port", "[v6]" and "[v6]:port"; *ret_port is "" when
 * there is none. An address of IPv6 without brackets has no port.
 */
static bool
split_port(const char *text, char ret_host[HOST_BYTES], const char **ret_port)
{
	const char *end = strrchr(text, ':'), *begin = text;
	size_t len;

	if (*text == '[') {
		begin++;
		end = strchr(text, ']');
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return false;
		*ret_port = end[1] == ':' ? end + 2 : "";
		if (end[1] == ':' && !is_port(*ret_port))
			return false;
	} else if (end != NULL && strchr(text, ':') == end) {
		*ret_port = end + 1;
		if (!is_port(*ret_port))
			return false;
	} else {
		end = text + strlen(text);
		*ret_port = "";
	}
	len = (size_t)(end - begin);
	if (len == 0 || len >= HOST_BYTES)
		return false;
	memcpy(ret_host, begin, len);
	ret_host[len] = '\0';
	return true;
}

static bool
is_resolver(const char *text)
{
	char host[HOST_BYTES];
	const char *port;
	uint8_t address[16];

	if (!split_port(text, host, &port))
		return false;
	return inet_pton(*text == '[' || strchr(host, ':') != NULL ? AF_INET6
								   : AF_INET,
		   host, address) == 1;
}

bool
setting_check_directory(const char *value, char *ret_why, size_t size)
{
	return value[0] == '/' ||
	    bad(ret_why, size, "is no absolute path: begin it with /");
}

/* One entry or more, with commas between and blanks around them only. */
static bool
is_list(const char *value)
{
	size_t len;

	for (;;) {
		value += strspn(value, " ");
		len = strcspn(value, SETTING_SEPARATORS);
		value += len;
		value += strspn(value, " ");
		if (len == 0 || (*value != ',' && *value != '\0'))
			return false;
		if (*value++ == '\0')
			return true;
	}
}

static bool
no_list(char *ret_why, size_t size)
{
	return bad(ret_why, size,
	    "has an entry that is empty, or two without a comma between: write"
	    " one comma between two entries");
}

bool
setting_check_resolvers(const char *value, char *ret_why, size_t size)
{
	char *copy, *rest, *word;
	bool good = true;
	int n = 0;

	if (!is_list(value))
		return no_list(ret_why, size);
	rest = copy = strdup(value);
	if (copy == NULL)
		return bad(ret_why, size, "cannot be read: no memory");
	while (good && (word = strsep(&rest, SETTING_SEPARATORS)) != NULL)
		if (*word != '\0')
			good = ++n <= RESOLVERS_MAX && is_resolver(word);
	free(copy);
	if (good)
		return true;
	return bad(ret_why, size,
	    "is no list of name servers: write up to %d addresses with commas"
	    " between, like 192.0.2.1, [2001:db8::1]:5353",
	    RESOLVERS_MAX);
}

/* Letters, digits and what else names of hosts and addresses hold. */
static bool
is_host(const char *host)
{
	for (const char *p = host; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr("-._:", *p) == NULL)
			return false;
	return true;
}

bool
setting_check_proxy(const char *value, char *ret_why, size_t size)
{
	static const char *const schemes[] = { "http://", "socks5://" };
	const char *rest = NULL, *at, *port;
	char host[HOST_BYTES];

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
			rest = value + strlen(schemes[i]);
	if (rest == NULL)
		return bad(ret_why, size,
		    "does not begin with http:// or socks5://: write the URL"
		    " of the proxy");
	at = strrchr(rest, '@');
	if (at != NULL && memchr(rest, ':', (size_t)(at - rest)) == NULL)
		return bad(ret_why, size,
		    "has a user without a password: write user:password@");
	if (at != NULL)
		rest = at + 1;
	if (!split_port(rest, host, &port) || *port == '\0' || !is_host(host))
		return bad(ret_why, size,
		    "does not end with host:port: write nothing behind the"
		    " port");
	return true;
}

void
setting_lines(const char *value, char *ret_lines)
{
	char *to = ret_lines;
	size_t len;

	while (*(value += strspn(value, SETTING_SEPARATORS)) != '\0') {
		if (to > ret_lines)
			*to++ = '\n';
		len = strcspn(value, SETTING_SEPARATORS);
		memcpy(to, value, len);
		to += len;
		value += len;
	}
	*to = '\0';
}

bool
setting_check_domains(const char *value, char *ret_why, size_t size)
{
	struct domain_list *list = NULL;
	char why[DOMAINS_WHY_BYTES];
	char *copy;
	bool good;

	if (!is_list(value))
		return no_list(ret_why, size);
	copy = strdup(value);
	if (copy == NULL)
		return bad(ret_why, size, "cannot be read: no memory");
	setting_lines(value, copy);
	good = domain_list_parse(copy, strlen(copy), &list, why);
	free(copy);
	if (good)
		domain_list_free(&list);
	else
		bad(ret_why, size, "is no list of patterns: %s", why);
	return good;
}

bool
setting_check_group(const char *value, char *ret_why, size_t size)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char others[] = "0123456789-.$";

	if (settings_gid(value) != -1)
		return true;
	if (strlen(value) <= GROUP_CHARS && strchr(letters, value[0]) != NULL) {
		value += strspn(value, letters);
		while (*value != '\0' &&
		    (strchr(letters, *value) != NULL ||
			strchr(others, *value) != NULL))
			value++;
		if (*value == '\0')
			return true;
	}
	snprintf(ret_why, size,
	    "is no group: write its name, or a number from 0 to 4294967294");
	return false;
}

/* The names that may be in the list. */
static void
list_waivable(char *ret_text, size_t size)
{
	*ret_text = '\0';
	for (int i = 0; i < PROTECTION__MAX; i++) {
		if (protection_need((enum protection)i) == PROTECTION_BASE)
			continue;
		strlcat(ret_text, *ret_text == '\0' ? "" : ", ", size);
		strlcat(ret_text, protection_name((enum protection)i), size);
	}
}

bool
setting_check_protections(const char *value, char *ret_why, size_t size)
{
	char *copy, *rest, *word, known[160];
	enum protection p = PROTECTION__MAX;
	bool good = true;

	if (!is_list(value))
		return no_list(ret_why, size);
	rest = copy = strdup(value);
	if (copy == NULL)
		return bad(ret_why, size, "cannot be read: no memory");
	while (good && (word = strsep(&rest, SETTING_SEPARATORS)) != NULL) {
		if (*word == '\0')
			continue;
		p = protection_find(word);
		good = p < PROTECTION__MAX &&
		    protection_need(p) != PROTECTION_BASE;
	}
	free(copy);
	if (good)
		return true;
	list_waivable(known, sizeof(known));
	if (p < PROTECTION__MAX)
		return bad(ret_why, size,
		    "has %s, without which there is no run: write %s",
		    protection_name(p), known);
	return bad(ret_why, size,
	    "has a name that is no protection's: write %s", known);
}
