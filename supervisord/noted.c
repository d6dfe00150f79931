/*
 * Reads what people copy out of the system log. Runs in supervisord.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/audit.h"
#include "supervisord/noted.h"

bool
noted_read(const char *text, struct audit_check *c)
{
	static const char digits[] = "0123456789abcdef";
	const char *colon = strchr(text, ':'), *wrong = NULL;
	uint8_t hash[AUDIT_HASH_BYTES] = { 0 };
	char number[24] = "";
	uint64_t row;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(number) ||
	    strlen(colon + 1) != 2 * sizeof(hash) ||
	    strspn(colon + 1, digits) != 2 * sizeof(hash))
		return false;
	memcpy(number, text, (size_t)(colon - text));
	row = (uint64_t)strtonum(number, 1, INT64_MAX, &wrong);
	if (wrong != NULL)
		return false;
	for (size_t i = 0; i < 2 * sizeof(hash); i++) {
		size_t v = (size_t)(strchr(digits, colon[1 + i]) - digits);

		hash[i / 2] = (uint8_t)(hash[i / 2] << 4 | v);
	}
	c->noted = row;
	memcpy(c->noted_hash, hash, sizeof(hash));
	return true;
}
