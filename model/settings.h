/* settings: the table of settings.def as a struct, with checked assignment. */
#ifndef MODEL_SETTINGS_H
#define MODEL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTINGS_NAME_BYTES  32   /* longest name, with its terminator */
#define SETTINGS_VALUE_BYTES 1024 /* longest value as text, likewise */
#define SETTINGS_ERROR_BYTES 512  /* what is wrong with one, in words */
/* A line of the configuration file: name = "value". */
#define SETTINGS_LINE_BYTES (SETTINGS_NAME_BYTES + SETTINGS_VALUE_BYTES + 8)

struct settings {
#define SETTING(field, type, taken, def, lowest, highest, unit, help) \
	int64_t field;
#define SETTING_TEXT(field, taken, shown, check, form, help) \
	char field[SETTINGS_VALUE_BYTES];
#include "model/settings.def"
};

/* The rows, in the order of the table. */
enum setting_index {
#define SETTING(field, type, taken, def, lowest, highest, unit, help) \
	SETTING_ROW_##field,
#define SETTING_TEXT(field, taken, shown, check, form, help) \
	SETTING_ROW_##field,
#include "model/settings.def"
	SETTINGS__COUNT
};

#define SETTINGS_COUNT ((size_t)SETTINGS__COUNT)

enum setting_type {
	SETTING_INT,
	SETTING_SWITCH, /* yes or no, 1 or 0 in the struct */
	SETTING_TEXT,   /* a string, "" by default */
	SETTING_TYPE__MAX
};

enum setting_taken {
	SETTING_LIVE, /* changed by a reload */
	SETTING_START /* the next start takes it */
};

struct setting_info {
	const char *name;
	enum setting_type type;
	enum setting_taken taken;
	bool private; /* may hold a password: never shown, never in argv */
	int64_t def, lowest, highest; /* of a text 0, 0 and its bytes */
	const char *unit;             /* of a text what it is */
	const char *help;
};

void settings_default(struct settings *);
/*
 * Sets one by name. On failure nothing changes and ret_error holds a message
 * that names the setting and says what to write instead.
 */
bool settings_set(struct settings *, const char *name, const char *value,
    char *ret_error, size_t size);
/* As settings_set() for the form "name=value" of the command line. */
bool settings_assign(
    struct settings *, const char *assignment, char *ret_error, size_t size);
/*
 * Whether the settings go together. If not, ret_error says why and *ret_row
 * is the row of one that is to be changed.
 */
bool settings_check(
    const struct settings *, size_t *ret_row, char *ret_error, size_t size);

/* Row i of the table, NULL behind the last. */
const struct setting_info *settings_row(size_t i);
/* The row of that name, -1: there is none. */
int settings_index(const char *name);
/* The name most like it, NULL when none is like it. */
const char *settings_nearest(const char *name);
/* Value of row i, which is no text. */
int64_t settings_value(const struct settings *, size_t i);
/* As settings_set() takes it. */
void settings_format(
    const struct settings *, size_t i, char ret[SETTINGS_VALUE_BYTES]);
/* As a line of the configuration file, without its end. */
void settings_format_line(
    const struct settings *, size_t i, char ret[SETTINGS_LINE_BYTES]);
/* Whether row i is the same in both. */
bool settings_equal(const struct settings *, const struct settings *, size_t i);
/* Whether row i is as by default. */
bool settings_is_default(const struct settings *, size_t i);
/* Row i of *to becomes that of *from. */
void settings_copy(struct settings *to, const struct settings *from, size_t i);
/* A group's number as text, else (also of a name, or nothing) -1. */
int64_t settings_gid(const char *value);
/* The type as the manual calls it. */
const char *setting_type_name(enum setting_type);

#endif
