/* settings: the table of settings.def as a struct, with checked assignment. */
#ifndef MODEL_SETTINGS_H
#define MODEL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct settings {
#define SETTING(field, def, lowest, highest, unit, help) int64_t field;
#include "model/settings.def"
#undef SETTING
};

struct setting_info {
	const char *name;
	int64_t def, lowest, highest;
	const char *unit, *help;
};

void settings_default(struct settings *);
/*
 * Sets one by name. On failure nothing changes and ret_error holds a message
 * that names the setting, its range and unit.
 */
bool settings_set(struct settings *, const char *name, const char *value,
    char *ret_error, size_t size);
/* As settings_set() for the form "name=value" of the command line. */
bool settings_assign(
    struct settings *, const char *assignment, char *ret_error, size_t size);
/* Row i of the table, NULL behind the last. */
const struct setting_info *settings_row(size_t i);

#endif
