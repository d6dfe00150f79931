/*
 * table: rows of clean text in aligned columns.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "json/tape.h"

#define TABLE_COLUMNS_MAX 10

enum table_style {
	TABLE_PLAIN,
	TABLE_GOOD, /* green, yellow, red where colours are wanted */
	TABLE_WARN,
	TABLE_BAD,
	TABLE_DIM
};

struct table;

/*
 * Columns as "Title", ">Title" (to the right), "~Title" (gives way when the
 * terminal is narrow) or, the last one, "+Title" (goes on below). NULL without memory; every function accepts NULL.
 */
struct table *table_new(const char *const *titles, size_t ncolumns);
void table_free(struct table **);
/* Adds the next cell, row by row; the text is cleaned and copied. */
void table_add(struct table *, const char *text);
void table_addf(struct table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A JSON string, number or bool; "-" for anything else. */
void table_add_val(struct table *, struct json_val);
/*
 * Milliseconds since the epoch, in full or, with the time that it is now, as
 * short as can be.
 */
void table_add_time(struct table *, struct json_val, int64_t now_ms);
/* Style of the cell added last. */
void table_style(struct table *, enum table_style);
size_t table_rows(const struct table *);
/* Fits rows into width columns; 0 leaves them as long as they are. */
void table_print(
    const struct table *, FILE *, size_t width, bool color, bool unicode);

#endif
