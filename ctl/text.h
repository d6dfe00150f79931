/*
 * text: strings of pages and peers made fit for a terminal: no control
 * characters, known width, cut at a column.
 */
#ifndef CTL_TEXT_H
#define CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "json/tape.h"

/* Picks the locale for widths; true when the terminal takes UTF-8. */
bool text_init(void);
/*
 * Appends text without anything a terminal might obey: white space becomes one
 * space (line ends stay with keep_lines), other control characters and marks
 * that turn the direction of text are left out, what is no UTF-8 becomes "?".
 */
void text_clean(struct buf *, const char *text, size_t len, bool keep_lines);
/* Columns of clean text: 2 for a wide character, 0 for a combining one. */
size_t text_width(const char *text);
/* Appends at most width columns of clean text, with an ellipsis when cut. */
void text_cut(struct buf *, const char *text, size_t width, bool unicode);

/* A clean copy of a JSON string, number or bool; "" for others. Freed by the
 * caller; NULL without memory. */
char *text_of(struct json_val);
/* Columns of the terminal that is open as fd; 0 when it is none. */
size_t text_columns(int fd);
/*
 * Prints clean text and a line end, in lines of at most so many columns (0: one
 * line) broken at spaces. The first line goes on at column at, where it begins
 * now; the others begin with left spaces.
 */
void
text_wrap(FILE *, const char *text, size_t columns, size_t at, size_t left);
/* "1 run", "2 runs" */
void text_count(int64_t n, const char *what, char *ret, size_t size);
/* "850 ms", "3.2 s", "2 min 5 s", "24 h", "7 d" */
void text_duration(int64_t ms, char *ret, size_t size);
/* "2026-11-21 22:15:56" in local time. */
void text_time(int64_t stamp_ms, char *ret, size_t size);
/* No more of it than is needed: "22:15:56", "Nov 21 22:15", "2025-11-21". */
void text_time_short(int64_t stamp_ms, int64_t now_ms, char *ret, size_t size);
/* "12 B", "3.4 kB", "1.2 MB", "3.1 GB" */
void text_bytes(int64_t bytes, char *ret, size_t size);

#endif
