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
#include "model/setting_checks.h"
#include "model/settings.h"

#define SHOWN_CHARS 40 /* of a wrong name or value */
#define UIDS        64 /* of a block */
#define UID_LAST    INT64_C(4294967294)
#define PUBLIC      false
#define PRIVATE     true

static const struct setting_info rows[] = {
#define SETTING(field, type, taken, def, lowest, highest, unit, help)  \
	{ #field, SETTING_##type, SETTING_##taken, false, def, lowest, \
		highest, unit, help },
#define SETTING_TEXT(field, taken, shown, check, form, help)  \
	{ #field, SETTING_TEXT, SETTING_##taken, shown, 0, 0, \
		SETTINGS_VALUE_BYTES - 1, form, help },
#include "model/settings.def"
};

static const size_t offsets[] = {
#define SETTING(field, type, taken, def, lowest, highest, unit, help) \
	offsetof(struct settings, field),
#define SETTING_TEXT(field, taken, shown, check, form, help) \
	offsetof(struct settings, field),
#include "model/settings.def"
};

/* Judges of texts, by row. */
static setting_check *const checks[SETTINGS__COUNT] = {
#define SETTING_TEXT(field, taken, shown, check, form, help) \
	[SETTING_ROW_##field] = setting_check_##check,
#include "model/settings.def"
};

#define SETTING(field, type, taken, def, lowest, highest, unit, help)       \
	_Static_assert(sizeof(#field) <= SETTINGS_NAME_BYTES, "name fits"); \
	_Static_assert((lowest) <= (def) && (def) <= (highest), "in range");
#define SETTING_TEXT(field, taken, shown, check, form, help) \
	_Static_assert(sizeof(#field) <= SETTINGS_NAME_BYTES, "name fits");
#include "model/settings.def"

static const char *const type_names[SETTING_TYPE__MAX] = {
	[SETTING_INT] = "number",
	[SETTING_SWITCH] = "yes or no",
	[SETTING_TEXT] = "text",
};

static const char *
text_of(const struct settings *s, size_t row)
{
	return (const char *)s + offsets[row];
}

static void
settings_store(struct settings *s, size_t row, int64_t value)
{
	memcpy((char *)s + offsets[row], &value, sizeof(value));
}

/* Bytes behind the text are 0, so that structs can be compared. */
static void
store_text(struct settings *s, size_t row, const char *value)
{
	char *to = (char *)s + offsets[row];

	ASSERT(strlen(value) < SETTINGS_VALUE_BYTES);
	memset(to, 0, SETTINGS_VALUE_BYTES);
	strlcpy(to, value, SETTINGS_VALUE_BYTES);
}

void
settings_default(struct settings *s)
{
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < SETTINGS_COUNT; i++)
		if (rows[i].type != SETTING_TEXT)
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

	ASSERT(i < SETTINGS_COUNT && rows[i].type != SETTING_TEXT);
	memcpy(&value, (const char *)s + offsets[i], sizeof(value));
	return value;
}

bool
settings_equal(const struct settings *a, const struct settings *b, size_t i)
{
	if (rows[i].type == SETTING_TEXT)
		return strcmp(text_of(a, i), text_of(b, i)) == 0;
	return settings_value(a, i) == settings_value(b, i);
}

bool
settings_is_default(const struct settings *s, size_t i)
{
	if (rows[i].type == SETTING_TEXT)
		return *text_of(s, i) == '\0';
	return settings_value(s, i) == rows[i].def;
}

void
settings_copy(struct settings *to, const struct settings *from, size_t i)
{
	if (rows[i].type == SETTING_TEXT)
		store_text(to, i, text_of(from, i));
	else
		settings_store(to, i, settings_value(from, i));
}

void
settings_format(
    const struct settings *s, size_t i, char ret[SETTINGS_VALUE_BYTES])
{
	if (rows[i].type == SETTING_TEXT)
		strlcpy(ret, text_of(s, i), SETTINGS_VALUE_BYTES);
	else if (rows[i].type == SETTING_SWITCH)
		strlcpy(ret, settings_value(s, i) ? "yes" : "no",
		    SETTINGS_VALUE_BYTES);
	else
		snprintf(ret, SETTINGS_VALUE_BYTES, "%" PRId64,
		    settings_value(s, i));
}

void
settings_format_line(
    const struct settings *s, size_t i, char ret[SETTINGS_LINE_BYTES])
{
	const char *quote = rows[i].type == SETTING_TEXT ? "\"" : "";
	char value[SETTINGS_VALUE_BYTES];

	settings_format(s, i, value);
	snprintf(ret, SETTINGS_LINE_BYTES, "%s = %s%s%s", rows[i].name, quote,
	    value, quote);
}

int64_t
settings_gid(const char *value)
{
	size_t len = strlen(value);
	long long gid;

	if (len == 0 || len > 10 || strspn(value, "0123456789") != len)
		return -1;
	gid = strtoll(value, NULL, 10);
	return gid <= UID_LAST ? gid : -1;
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

/* What could not be written between quotes in the file is in no text. */
static bool
read_text(size_t i, const char *value, char *ret_error, size_t size)
{
	const struct setting_info *row = &rows[i];
	char why[SETTINGS_ERROR_BYTES - 96] = "";

	if (strlen(value) >= SETTINGS_VALUE_BYTES)
		snprintf(why, sizeof(why), "is longer than %d bytes",
		    SETTINGS_VALUE_BYTES - 1);
	else if (*value == '\0' ||
	    (setting_check_characters(value, why, sizeof(why)) &&
		checks[i](value, why, sizeof(why))))
		return true;
	/* It may be a password that is in the wrong place. */
	if (row->private)
		snprintf(ret_error, size, "%s: the value %s", row->name, why);
	else
		snprintf(ret_error, size, "%s: \"%.*s\" %s", row->name,
		    SHOWN_CHARS, value, why);
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
	if (rows[i].type == SETTING_TEXT) {
		good = read_text((size_t)i, value, ret_error, size);
		if (good)
			store_text(s, (size_t)i, value);
		return good;
	}
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
