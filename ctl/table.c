/*
 * Aligned tables for terminals and files. Runs in browsertaskctl.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "ctl/table.h"
#include "ctl/text.h"

#define TABLE_GAP           2
#define TABLE_LEAST         8  /* columns that a title's column keeps */
#define TABLE_LEAST_WRAPPED 20 /* columns of one that goes on below */
#define TABLE_CELL_MAX      4096
#define TABLE_LINE_MAX      65536

struct cell {
	const char *text; /* of a row: owned */
	size_t width;
	enum table_style style;
};

struct table {
	size_t ncolumns;
	const char *titles[TABLE_COLUMNS_MAX];
	bool right[TABLE_COLUMNS_MAX];
	bool gives[TABLE_COLUMNS_MAX];
	bool wraps; /* the last column */
	struct cell *cells;
	size_t ncells, room;
};

struct table *
table_new(const char *const *titles, size_t ncolumns)
{
	struct table *t = calloc(1, sizeof(*t));

	ASSERT(ncolumns > 0 && ncolumns <= TABLE_COLUMNS_MAX);
	if (t == NULL)
		return NULL;
	t->ncolumns = ncolumns;
	for (size_t i = 0; i < ncolumns; i++) {
		t->right[i] = titles[i][0] == '>';
		t->gives[i] = titles[i][0] == '~';
		t->wraps = titles[i][0] == '+';
		t->titles[i] =
		    titles[i] + (t->right[i] || t->gives[i] || t->wraps);
	}
	return t;
}

void
table_free(struct table **tp)
{
	struct table *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	for (size_t i = 0; i < t->ncells; i++)
		free((void *)(uintptr_t)t->cells[i].text);
	free(t->cells);
	free(t);
}

void
table_add(struct table *t, const char *text)
{
	struct cell *cells;
	struct buf b;
	size_t len;

	if (t == NULL)
		return;
	if (t->ncells == t->room) {
		cells =
		    reallocarray(t->cells, t->room * 2 + 64, sizeof(*cells));
		if (cells == NULL)
			return;
		t->cells = cells;
		t->room = t->room * 2 + 64;
	}
	len = strlen(text);
	buf_init(&b, TABLE_CELL_MAX * 4);
	text_clean(
	    &b, text, len < TABLE_CELL_MAX ? len : TABLE_CELL_MAX, false);
	t->cells[t->ncells].text = (char *)buf_take(&b, &len);
	if (t->cells[t->ncells].text == NULL)
		return;
	t->cells[t->ncells].width = text_width(t->cells[t->ncells].text);
	t->cells[t->ncells++].style = TABLE_PLAIN;
}

void
table_addf(struct table *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_add(t, text);
}

void
table_add_val(struct table *t, struct json_val v)
{
	char *text = text_of(v);

	table_add(t, text == NULL || text[0] == '\0' ? "-" : text);
	free(text);
}

void
table_add_time(struct table *t, struct json_val v, int64_t now_ms)
{
	int64_t ms = 0;
	char text[64];

	json_get_int64(v, &ms);
	if (now_ms == 0)
		text_time(ms, text, sizeof(text));
	else
		text_time_short(ms, now_ms, text, sizeof(text));
	table_add(t, text);
}

void
table_style(struct table *t, enum table_style style)
{
	if (t != NULL && t->ncells > 0)
		t->cells[t->ncells - 1].style = style;
}

size_t
table_rows(const struct table *t)
{
	return t == NULL ? 0 : t->ncells / t->ncolumns;
}

/* Takes what is too much from the columns that give way, widest first. */
static void
fit(const struct table *t, size_t *widths, size_t width)
{
	size_t sum = TABLE_GAP * (t->ncolumns - 1), widest;

	for (size_t i = 0; i < t->ncolumns; i++)
		sum += widths[i];
	while (sum > width) {
		widest = t->ncolumns;
		for (size_t i = 0; i < t->ncolumns; i++)
			if (t->gives[i] && widths[i] > TABLE_LEAST &&
			    (widest == t->ncolumns ||
				widths[i] > widths[widest]))
				widest = i;
		if (widest == t->ncolumns)
			return;
		widths[widest]--;
		sum--;
	}
}

static void
put_cell(struct buf *line, const char *text, size_t width, size_t column,
    bool right, bool last, bool unicode)
{
	size_t pad = width < column ? column - width : 0;

	if (right)
		buf_addf(line, "%*s", (int)pad, "");
	text_cut(line, text, column, unicode);
	if (!right && !last)
		buf_addf(line, "%*s", (int)pad, "");
	if (!last)
		buf_addf(line, "%*s", TABLE_GAP, "");
}

struct view {
	FILE *f;
	size_t width;
	bool color, unicode;
};

/* What follows the columns before it, in as many lines as it needs. */
static void
print_wrapped(const struct table *t, const struct cell *cell,
    const size_t *widths, const struct view *v)
{
	size_t at = 0;

	for (size_t i = 0; i + 1 < t->ncolumns; i++)
		at += widths[i] + TABLE_GAP;
	text_wrap(v->f, cell->text, v->width, at,
	    at + TABLE_LEAST_WRAPPED > v->width ? TABLE_LEAST : at);
}

static void
print_row(const struct table *t, const struct cell *row, const size_t *widths,
    const struct view *v)
{
	static const char *const codes[] = {
		[TABLE_GOOD] = "\033[32m",
		[TABLE_WARN] = "\033[33m",
		[TABLE_BAD] = "\033[31m",
		[TABLE_DIM] = "\033[2m",
	};
	struct buf line;

	buf_init(&line, TABLE_LINE_MAX);
	for (size_t i = 0; i < t->ncolumns; i++) {
		bool styled = v->color && row[i].style != TABLE_PLAIN;
		bool last = i + 1 == t->ncolumns;

		if (styled)
			buf_add_str(&line, codes[row[i].style]);
		if (last && t->wraps) {
			fprintf(v->f, "%.*s", (int)line.len, (char *)line.data);
			print_wrapped(t, &row[i], widths, v);
			buf_reset(&line);
		} else {
			put_cell(&line, row[i].text, row[i].width, widths[i],
			    t->right[i], last, v->unicode);
		}
		if (styled)
			buf_add_str(&line, "\033[0m");
	}
	fprintf(v->f, "%.*s%s", (int)line.len,
	    line.data == NULL ? "" : (char *)line.data, t->wraps ? "" : "\n");
	buf_clear(&line);
}

void
table_print(
    const struct table *t, FILE *f, size_t width, bool color, bool unicode)
{
	const struct view v = { f, width, color, unicode };
	struct cell head[TABLE_COLUMNS_MAX] = { 0 };
	size_t widths[TABLE_COLUMNS_MAX] = { 0 }, rows = table_rows(t);

	if (t == NULL)
		return;
	for (size_t i = 0; i < t->ncolumns; i++) {
		head[i].text = t->titles[i];
		head[i].width = widths[i] = text_width(t->titles[i]);
		head[i].style = TABLE_DIM;
	}
	for (size_t i = 0; i < rows * t->ncolumns; i++)
		if (t->cells[i].width > widths[i % t->ncolumns] &&
		    (!t->wraps || (i + 1) % t->ncolumns != 0))
			widths[i % t->ncolumns] = t->cells[i].width;
	if (width > 0)
		fit(t, widths, width);
	print_row(t, head, widths, &v);
	for (size_t r = 0; r < rows; r++)
		print_row(t, t->cells + r * t->ncolumns, widths, &v);
}
