/*
 * Media types, for whoever shows bytes to somebody. Pure.
 */
#include <string.h>

#include "model/mime.h"

#define MIME_TOKEN                                         \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV" \
	"WXYZ0123456789!#$&^_.+-"

bool
mime_is_text(const char *mime)
{
	static const char *const texts[] = { "application/json",
		"application/xml", "application/javascript",
		"application/x-ndjson", "image/svg+xml" };
	size_t len = strcspn(mime, "; ");

	if (strncmp(mime, "text/", 5) == 0)
		return true;
	if (len > 5 && strncmp(mime + len - 5, "+json", 5) == 0)
		return true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strlen(texts[i]) == len &&
		    strncmp(mime, texts[i], len) == 0)
			return true;
	return false;
}

bool
mime_is_valid(const char *mime)
{
	size_t n = strspn(mime, MIME_TOKEN);

	if (n == 0 || mime[n] != '/')
		return false;
	mime += n + 1;
	n = strspn(mime, MIME_TOKEN);
	while (n > 0 && mime[n] == ';') {
		mime += n + 1;
		mime += strspn(mime, " ");
		n = strspn(mime, MIME_TOKEN);
		if (n == 0 || mime[n] != '=')
			return false;
		mime += n + 1;
		n = strspn(mime, MIME_TOKEN);
	}
	return n > 0 && mime[n] == '\0';
}
