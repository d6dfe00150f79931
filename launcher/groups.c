/*
 * Names of groups in settings become numbers where the configuration is read,
 * so that no other process has to open anything to know them. Runs in the
 * launcher.
 */
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "launcher/groups.h"

#define GROUP_FILE "/etc/group"

static bool
find_group(const char *name, gid_t *ret_gid)
{
	FILE *in = fopen(GROUP_FILE, "re");
	const struct group *g;
	bool found = false;

	if (in == NULL)
		return false;
	/* cppcheck-suppress fgetgrentCalled; the launcher has one thread */
	while (!found && (g = fgetgrent(in)) != NULL)
		if (strcmp(g->gr_name, name) == 0) {
			*ret_gid = g->gr_gid;
			found = true;
		}
	fclose(in);
	return found;
}

bool
groups_resolve(
    struct settings *s, size_t *ret_row, char *ret_error, size_t size)
{
	static const size_t rows[] = { SETTING_ROW_clientGroup,
		SETTING_ROW_adminGroup };
	struct settings new = *s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = settings_row(rows[i])->name;
		char value[SETTINGS_VALUE_BYTES], number[16];
		gid_t gid;

		settings_format(&new, rows[i], value);
		if (value[0] == '\0' || settings_gid(value) != -1)
			continue;
		if (!find_group(value, &gid)) {
			*ret_row = rows[i];
			snprintf(ret_error, size,
			    "%s: there is no group \"%.40s\" in " GROUP_FILE
			    ": make it, or write a group's number",
			    name, value);
			return false;
		}
		snprintf(number, sizeof(number), "%u", (unsigned)gid);
		if (!settings_set(&new, name, number, ret_error, size)) {
			*ret_row = rows[i];
			return false;
		}
	}
	*s = new;
	return true;
}
