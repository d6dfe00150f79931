/*
 * settings: checks what is assigned to a setting against its row. Runs in the
 * launcher, which reads the configuration file and the command line, and in
 * supervisord, which is told the outcome. Never logs or ends the process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/distance.h"
#include "common/panic.h"
#include "model/settings.h"

#define SHOWN_CHARS 40 /* of a wrong name or value */
#define UIDS        64 /* of a block */
#define UID_LAST    INT64_C(4294967294)

static const struct setting_info rows[] = {
#define SETTING(field, type, taken, def, lowest, highest, unit, help)          \
	{ #field, SETTING_##type, SETTING_##taken, def, lowest, highest, unit, \
		help },
#include "model/settings.def"
#undef SETTING
};

static const size_t offsets[] = {
#define SETTING(field, type, taken, def, lowest, highest, unit, help) \
	offsetof(struct settings, field),
#include "model/settings.def"
#undef SETTING
};

#define SETTING(field, type, taken, def, lowest, highest, unit, help)       \
	_Static_assert(sizeof(#field) <= SETTINGS_NAME_BYTES, "name fits"); \
	_Static_assert((lowest) <= (def) && (def) <= (highest), "in range");
#include "model/settings.def"
#undef SETTING

static const char *const type_names[SETTING_TYPE__MAX] = {
	[SETTING_INT] = "number",
	[SETTING_SWITCH] = "yes or no",
};

static void
settings_store(struct settings *s, size_t row, int64_t value)
{
	memcpy((char *)s + offsets[row], &value, sizeof(value));
}

void
settings_default(struct settings *s)
{
	for (size_t i = 0; i < SETTINGS_COUNT; i++)
		settings_store(s, i, rows[i].def);
}

const struct setting_info *
settings_row(size_t i)
{
	return i < SETTINGS_COUNT ? &rows[i] : NULL;
}

int
settings_index(const char *name)
{
	for (size_t i = 0; i < SETTINGS_COUNT; i++)
		if (strcmp(rows[i].name, name) == 0)
			return (int)i;
	return -1;
}

int64_t
settings_value(const struct settings *s, size_t i)
{
	int64_t value;

	ASSERT(i < SETTINGS_COUNT);
	memcpy(&value, (const char *)s + offsets[i], sizeof(value));
	return value;
}

void
settings_copy(struct settings *to, const struct settings *from, size_t i)
{
	settings_store(to, i, settings_value(from, i));
}

void
settings_format(
    const struct settings *s, size_t i, char ret[SETTINGS_VALUE_BYTES])
{
	int64_t value = settings_value(s, i);

	if (rows[i].type == SETTING_SWITCH)
		strlcpy(ret, value ? "yes" : "no", SETTINGS_VALUE_BYTES);
	else
		snprintf(ret, SETTINGS_VALUE_BYTES, "%" PRId64, value);
}

const char *
setting_type_name(enum setting_type type)
{
	ASSERT(type < SETTING_TYPE__MAX);
	return type_names[type];
}

const char *
settings_nearest(const char *name)
{
	size_t best = SIZE_MAX, n = strlen(name);
	const char *found = NULL;

	for (size_t i = 0; i < SETTINGS_COUNT; i++) {
		size_t len = strlen(rows[i].name);
		size_t distance = name_distance(name, n, rows[i].name, len);

		if (distance < best && distance <= len / 3) {
			best = distance;
			found = rows[i].name;
		}
	}
	return found;
}

static bool
settings_unknown(const char *name, char *ret_error, size_t size)
{
	const char *nearest = settings_nearest(name);

	if (nearest != NULL)
		snprintf(ret_error, size,
		    "unknown setting \"%.*s\": did you mean %s?", SHOWN_CHARS,
		    name, nearest);
	else
		snprintf(ret_error, size,
		    "unknown setting \"%.*s\": browsertaskd -h lists all",
		    SHOWN_CHARS, name);
	return false;
}

static bool
read_switch(const struct setting_info *row, const char *value,
    int64_t *ret_value, char *ret_error, size_t size)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false",
		"true", "0", "1" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(value, words[i]) == 0) {
			*ret_value = (int64_t)(i % 2);
			return true;
		}
	snprintf(ret_error, size,
	    "%s: \"%.*s\" is neither yes nor no: write one of these", row->name,
	    SHOWN_CHARS, value);
	return false;
}

static bool
read_int(const struct setting_info *row, const char *value, int64_t *ret_value,
    char *ret_error, size_t size)
{
	const char *digits = value + (value[0] == '-');
	const char *wrong = NULL;
	long long v = 0;

	errno = 0;
	if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
		wrong = "is not a whole number";
	else
		v = strtoll(value, NULL, 10);
	if (wrong == NULL && v < row->lowest)
		wrong = "is too small";
	else if (wrong == NULL && v > row->highest)
		wrong = "is too large";
	if (wrong == NULL) {
		*ret_value = v;
		return true;
	}
	snprintf(ret_error, size,
	    "%s: \"%.*s\" %s: write a number from %" PRId64 " to %" PRId64
	    " (%s)",
	    row->name, SHOWN_CHARS, value, wrong, row->lowest, row->highest,
	    row->unit);
	return false;
}

bool
settings_set(struct settings *s, const char *name, const char *value,
    char *ret_error, size_t size)
{
	int i = settings_index(name);
	int64_t v;
	bool good;

	if (i == -1)
		return settings_unknown(name, ret_error, size);
	good = rows[i].type == SETTING_SWITCH
	    ? read_switch(&rows[i], value, &v, ret_error, size)
	    : read_int(&rows[i], value, &v, ret_error, size);
	if (good)
		settings_store(s, (size_t)i, v);
	return good;
}

bool
settings_assign(
    struct settings *s, const char *assignment, char *ret_error, size_t size)
{
	const char *eq = strchr(assignment, '=');
	char name[2 * SETTINGS_NAME_BYTES];

	if (eq == NULL || (size_t)(eq - assignment) >= sizeof(name)) {
		snprintf(ret_error, size,
		    "\"%.*s\" is not of the form name=value", SHOWN_CHARS,
		    assignment);
		return false;
	}
	memcpy(name, assignment, (size_t)(eq - assignment));
	name[eq - assignment] = '\0';
	return settings_set(s, name, eq + 1, ret_error, size);
}

bool
settings_check(
    const struct settings *s, size_t *ret_row, char *ret_error, size_t size)
{
	if (s->uidBase + s->uidBlocks * UIDS - 1 <= UID_LAST)
		return true;
	*ret_row = (size_t)settings_index("uidBlocks");
	snprintf(ret_error, size,
	    "uidBlocks: %" PRId64 " blocks from uid %" PRId64
	    " on reach beyond the highest uid: write at most %" PRId64,
	    s->uidBlocks, s->uidBase, (UID_LAST + 1 - s->uidBase) / UIDS);
	return false;
}
