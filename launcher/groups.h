/*
 * groups: the settings that name groups, as numbers. Runs in the launcher.
 */
#ifndef LAUNCHER_GROUPS_H
#define LAUNCHER_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/settings.h"

/*
 * Puts the number of each group in place of its name. Names are looked up in
 * /etc/group alone, without the modules that a resolver of names loads: groups
 * of elsewhere are given by number. False when there is none of a name, with
 * its row and why; the settings are untouched then.
 */
bool groups_resolve(
    struct settings *, size_t *ret_row, char *ret_error, size_t size);

#endif
