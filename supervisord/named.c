/*
 * Finds the URLs among the inputs of a run, in supervisord. It knows nothing of
 * templates: a string that is a URL as a whole names its host, wherever it is.
 * Pure.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <idn2.h>

#include "model/limits.h"
#include "supervisord/named.h"

#define URL_BYTES 512 /* of its beginning: scheme, user and host */

/* Behind scheme and slashes; NULL: no such URL. */
static const char *
authority(const char *url)
{
	static const char *const schemes[] = { "http://", "https://", "ws://",
		"wss://" };

	while (*url != '\0' && (unsigned char)*url <= ' ')
		url++;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i]);

		if (strncasecmp(url, schemes[i], len) == 0)
			return url + len;
	}
	return NULL;
}

/* The host of what begins with an authority; false: none that is whole. */
static bool
read_host(char *text, bool whole, char **ret_host)
{
	size_t len = strcspn(text, "/?#\\");
	char *at, *colon;

	if (text[len] == '\0' && !whole)
		return false;
	text[len] = '\0';
	at = strrchr(text, '@');
	if (at != NULL)
		text = at + 1;
	colon = strrchr(text, ':');
	if (colon != NULL && strchr(colon, ']') == NULL)
		*colon = '\0';
	*ret_host = text;
	return text[0] != '\0' && strpbrk(text, " \t\r\n") == NULL;
}

static bool
add_host(const char *host, struct buf *lines)
{
	char *ascii = NULL;
	bool good;

	/* A host that browsers cannot ask for either. */
	if (idn2_to_ascii_8z(
		host, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
		ascii = NULL;
	if (strlen(ascii == NULL ? host : ascii) > LIMIT_HOST_BYTES) {
		idn2_free(ascii);
		return true;
	}
	good = buf_addf(lines, "%s\n", ascii == NULL ? host : ascii);
	idn2_free(ascii);
	return good;
}

static bool
add_url(struct json_val v, struct buf *lines)
{
	char text[URL_BYTES], *url, *host;
	const char *from;
	bool good = true;
	size_t len;

	url = json_str_dup(v, &len);
	if (url == NULL)
		return false;
	from = authority(url);
	if (from != NULL) {
		len = strlcpy(text, from, sizeof(text));
		if (read_host(text, len < sizeof(text), &host))
			good = add_host(host, lines);
	}
	free(url);
	return good;
}

bool
named_hosts(struct json_val inputs, struct buf *lines)
{
	struct json_iter stack[LIMIT_JSON_DEPTH + 1];
	size_t depth = 0;

	if (json_is_string(inputs))
		return add_url(inputs, lines);
	stack[depth] = json_iter(inputs);
	for (;;) {
		struct json_val v;

		if (!json_iter_next(&stack[depth])) {
			if (depth-- == 0)
				return true;
			continue;
		}
		v = stack[depth].val;
		if (json_is_string(v) && !add_url(v, lines))
			return false;
		if ((json_is_array(v) || json_is_object(v)) &&
		    depth < LIMIT_JSON_DEPTH)
			stack[++depth] = json_iter(v);
	}
}
