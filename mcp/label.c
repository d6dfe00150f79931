/*
 * Labels, in the adapter: "claude-code:project-1a2b3c4d".
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mcp/label.h"

#define NAME_CHARS 24
#define BASE_CHARS 24

/* What may stand in a line of a listing; the name cannot hold the colon. */
static void
keep_plain(char *text, size_t max)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (strlen(text) > max)
		text[max] = '\0';
	for (; *text != '\0'; text++)
		if (strchr(plain, *text) == NULL)
			*text = '_';
}

/* FNV-1a: tells directories of one name from each other, no more. */
static uint32_t
hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text != '\0'; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

void
label_make(struct adapter *a, struct json_val client_info)
{
	struct json_val told = json_obj_get(client_info, "name");
	char name[256] = "mcp", cwd[PATH_MAX] = "/", last[256];
	const char *base;

	if (a->label[0] != '\0')
		return;
	if (json_is_string(told) && json_str_len(told) > 0 &&
	    !json_str_copy(told, name, sizeof(name)))
		strlcpy(name, "mcp", sizeof(name));
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		strlcpy(cwd, "/", sizeof(cwd));
	base = strrchr(cwd, '/');
	strlcpy(last, base == NULL ? cwd : base + 1, sizeof(last));
	keep_plain(name, NAME_CHARS);
	keep_plain(last, BASE_CHARS);
	snprintf(a->label, sizeof(a->label), "%s:%s-%08x", name, last,
	    (unsigned)hash(cwd));
}
