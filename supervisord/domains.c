/*
 * Lists of hosts of callers, in supervisord. Their names may be of any script:
 * browsers ask for A-labels, so that patterns become those here, once.
 */
#include <stdlib.h>
#include <string.h>

#include <idn2.h>

#include "common/buf.h"
#include "model/domains.h"
#include "model/limits.h"
#include "supervisord/domains.h"

#define PATTERN_BYTES 1024

_Static_assert(DOMAINS_BYTES == LIMIT_DOMAINS_BYTES, "what fits is sent");

static bool
is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

/* Where ":port" begins, or the end. */
static size_t
host_length(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon != NULL &&
		strspn(colon + 1, "0123456789") == strlen(colon + 1)
	    ? (size_t)(colon - text)
	    : strlen(text);
}

/* Of a pattern with letters that are not ASCII; *. and :port stay. */
static bool
add_labels(const char *text, struct buf *lines, char *ret_why, size_t size)
{
	size_t star = strncmp(text, "*.", 2) == 0 ? 2 : 0;
	size_t len = host_length(text);
	char host[PATTERN_BYTES], *ascii = NULL;
	bool good;
	int rc;

	if (len < star)
		len = star;
	memcpy(host, text + star, len - star);
	host[len - star] = '\0';
	rc = idn2_to_ascii_8z(
	    host, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (rc != IDN2_OK) {
		snprintf(ret_why, size, "\"%.80s\": not a name of a host: %s",
		    text, idn2_strerror(rc));
		return false;
	}
	good = buf_add(lines, text, star) && buf_add_str(lines, ascii) &&
	    buf_add_str(lines, text + len);
	idn2_free(ascii);
	if (!good)
		snprintf(ret_why, size, "the list is too long");
	return good;
}

/* Adds one pattern, which has to be good by itself. */
static bool
add_pattern(struct json_val v, struct buf *lines, char ret_why[512])
{
	struct domain_list *list = NULL;
	char text[PATTERN_BYTES];
	size_t from = lines->len;

	if (!json_is_string(v) || !json_str_copy(v, text, sizeof(text)) ||
	    text[0] == '\0') {
		snprintf(ret_why, 512, "expected a string of 1 to %d bytes",
		    PATTERN_BYTES - 1);
		return false;
	}
	if (strpbrk(text, "\r\n") != NULL) {
		snprintf(ret_why, 512, "a line ends in it: write a pattern");
		return false;
	}
	if (!is_plain(text)) {
		if (!add_labels(text, lines, ret_why, 512))
			return false;
	} else if (!buf_add_str(lines, text)) {
		snprintf(ret_why, 512, "the list is too long");
		return false;
	}
	if (!domain_list_parse((const char *)lines->data + from,
		lines->len - from, &list, ret_why))
		return false;
	domain_list_free(&list);
	return true;
}

bool
domains_read(
    struct json_val v, const char *path, char **ret_lines, struct refusal *r)
{
	struct buf lines;
	struct json_iter it;
	char why[512];
	size_t n = 0;

	if (!json_is_array(v) || json_len(v) > DOMAINS_MAX)
		return refuse(r, ERR_INVALID_PARAMETER,
		    "%s: expected an array of at most %d strings", path,
		    DOMAINS_MAX);
	buf_init(&lines, DOMAINS_BYTES + 1);
	for (it = json_iter(v); json_iter_next(&it); n++) {
		strlcpy(why, "the list is too long", sizeof(why));
		if ((n == 0 || buf_add(&lines, "\n", 1)) &&
		    add_pattern(it.val, &lines, why))
			continue;
		buf_clear(&lines);
		return refuse(
		    r, ERR_INVALID_PARAMETER, "%s/%zu: %s", path, n, why);
	}
	if (!buf_add(&lines, "", 1)) {
		buf_clear(&lines);
		return refuse(
		    r, ERR_INVALID_PARAMETER, "%s: the list is too long", path);
	}
	*ret_lines = (char *)buf_take(&lines, &n);
	return true;
}
