/* conf: the configuration file of browsertaskd, browsertaskd.conf(5). */
#ifndef LAUNCHER_CONF_H
#define LAUNCHER_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "model/settings.h"

#define CONF_BYTES_MAX 65536 /* of the file */

struct conf_error {
	int line;                        /* 0: of the file as a whole */
	char text[SETTINGS_ERROR_BYTES]; /* no control characters */
};

/* Line of each setting, 0: the file does not name it. */
struct conf_lines {
	int at[SETTINGS_COUNT];
};

enum conf_status {
	CONF_GOOD,
	CONF_ABSENT, /* there is no such file */
	CONF_BAD
};

/*
 * Takes what the bytes of a file say over what *settings holds. All bytes are
 * accepted and at most CONF_BYTES_MAX of them read as settings; the first
 * mistake is told, with its line and what to write instead. On failure
 * *settings and *ret_lines are untouched.
 */
bool conf_parse(const char *bytes, size_t len, struct settings *settings,
    struct conf_lines *ret_lines, struct conf_error *ret_error);
/*
 * Reads a file and takes it as conf_parse() does. It must be a regular file
 * that belongs to root or to the caller and that nobody else can write to.
 */
enum conf_status conf_read(const char *path, struct settings *settings,
    struct conf_lines *ret_lines, struct conf_error *ret_error);

#endif
