/* settings: the table of settings.def as a struct, with checked assignment. */
#ifndef MODEL_SETTINGS_H
#define MODEL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings {
#define SETTING(field, type, taken, def, lowest, highest, unit, help) \
	int64_t field;
#include "model/settings.def"
#undef SETTING
};

#define SETTINGS_COUNT       (sizeof(struct settings) / sizeof(int64_t))
#define SETTINGS_NAME_BYTES  32 /* longest name, with its terminator */
#define SETTINGS_VALUE_BYTES 24 /* longest value as text, likewise */

enum setting_type {
	SETTING_INT,
	SETTING_SWITCH, /* yes or no, 1 or 0 in the struct */
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
	int64_t def, lowest, highest;
	const char *unit, *help;
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
/* Value of row i. */
int64_t settings_value(const struct settings *, size_t i);
/* As it would be written in the file. */
void settings_format(
    const struct settings *, size_t i, char ret[SETTINGS_VALUE_BYTES]);
/* Row i of *to becomes that of *from. */
void settings_copy(struct settings *to, const struct settings *from, size_t i);
/* The type as the manual calls it. */
const char *setting_type_name(enum setting_type);

#endif
