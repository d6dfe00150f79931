/* Names of files in a backup. Runs in browsertaskctl. */
#include <string.h>

#include "ctl/backup_name.h"

#define PARTS_MAX 3

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool
backup_name_good(const char *name)
{
	int parts = 1;

	if (strcmp(name, BACKUP_SUMS) == 0 ||
	    strcmp(name, BACKUP_MANIFEST) == 0)
		return false;
	for (const char *p = name; *p != '\0'; p++) {
		bool first = p == name || p[-1] == '/';

		if (*p == '/' && !first && p[1] != '\0' && ++parts <= PARTS_MAX)
			continue;
		if (!is_letter(*p) && (*p != '.' || first))
			return false;
	}
	return name[0] != '\0';
}
