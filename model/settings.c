#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/settings.h"

static const struct setting_info rows[] = {
#define SETTING(field, def, lowest, highest, unit, help) \
	{ #field, def, lowest, highest, unit, help },
#include "model/settings.def"
#undef SETTING
};

static const size_t offsets[] = {
#define SETTING(field, def, lowest, highest, unit, help) \
	offsetof(struct settings, field),
#include "model/settings.def"
#undef SETTING
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void
settings_store(struct settings *s, size_t row, int64_t value)
{
	memcpy((char *)s + offsets[row], &value, sizeof(value));
}

void
settings_default(struct settings *s)
{
	for (size_t i = 0; i < ROWS; i++)
		settings_store(s, i, rows[i].def);
}

const struct setting_info *
settings_row(size_t i)
{
	return i < ROWS ? &rows[i] : NULL;
}

static const struct setting_info *
settings_find(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool
settings_set(struct settings *s, const char *name, const char *value,
    char *ret_error, size_t size)
{
	const struct setting_info *row = settings_find(name);
	char *end;
	long long v;

	if (row == NULL) {
		snprintf(ret_error, size, "unknown setting \"%s\"", name);
		return false;
	}
	errno = 0;
	v = strtoll(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || v < row->lowest ||
	    v > row->highest) {
		snprintf(ret_error, size,
		    "%s: \"%s\" is not a number from %" PRId64 " to %" PRId64
		    " (%s)",
		    name, value, row->lowest, row->highest, row->unit);
		return false;
	}
	settings_store(s, (size_t)(row - rows), v);
	return true;
}

bool
settings_assign(
    struct settings *s, const char *assignment, char *ret_error, size_t size)
{
	const char *eq = strchr(assignment, '=');
	char name[64];

	if (eq == NULL || (size_t)(eq - assignment) >= sizeof(name)) {
		snprintf(ret_error, size,
		    "\"%s\" is not of the form name=value", assignment);
		return false;
	}
	memcpy(name, assignment, (size_t)(eq - assignment));
	name[eq - assignment] = '\0';
	return settings_set(s, name, eq + 1, ret_error, size);
}
