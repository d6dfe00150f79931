/*
 * file: an output file that is there whole or not at all.
 */
#ifndef CTL_FILE_H
#define CTL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct file {
	FILE *stream;
	char *path; /* NULL: standard output */
	char *part; /* the name until it is complete */
};

/* Says that the directory above path is to be made. */
void file_hint_above(const char *path);
/* path NULL or "-" is standard output. Each returns false after telling why. */
bool file_open(struct file *, const char *path);
bool file_is_stdout(const struct file *);
bool file_write(struct file *, const void *, size_t len);
/* Gives the file its name when keep, else removes what was written. */
bool file_close(struct file *, bool keep);

#endif
