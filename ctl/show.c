/*
 * What a result without items looks like for people: a line for each value,
 * "finalPage.url" for one in an object, and a table for a list of objects.
 * Writes standard output only. Values are texts of pages: all is cleaned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "ctl/show.h"
#include "ctl/table.h"
#include "ctl/text.h"

#define NAME_BYTES   64
#define NAME_WIDTH   28
#define VALUE_BYTES  4096
#define JOINED_MAX   10 /* longer lists are counted */
#define FLAT_MAX     4  /* members of an object that is shown in a table */
#define COLUMNS_MAX  8
#define DEPTH_MAX    2
#define COLUMN_DEPTH 2

static bool
is_list(struct json_val v)
{
	return json_is_object(v) || json_is_array(v);
}

/* Of the values in it none is a list; an empty one is. */
static bool
is_flat(struct json_val v, size_t most)
{
	struct json_iter it;

	if (json_len(v) > most)
		return false;
	for (it = json_iter(v); json_iter_next(&it);)
		if (is_list(it.val))
			return false;
	return true;
}

static bool
is_table(struct json_val v)
{
	return json_is_array(v) && json_is_object(json_arr_get(v, 0));
}

/* A name that does not fit is cut. */
static void
name_add(char ret[NAME_BYTES], const char *prefix, struct json_val key)
{
	char *text = text_of(key);

	strlcpy(ret, prefix, NAME_BYTES);
	if (prefix[0] != '\0')
		strlcat(ret, ".", NAME_BYTES);
	strlcat(ret, text == NULL ? "" : text, NAME_BYTES);
	free(text);
}

/* A value in one line; false when it is none. */
static bool
value_add(struct buf *b, struct json_val v)
{
	struct json_iter it;
	char *text;

	if (json_is_missing(v) || json_is_null(v) || json_is_object(v))
		return false;
	if (!json_is_array(v)) {
		text = text_of(v);
		if (text != NULL)
			buf_add_str(b, text);
		free(text);
		return text != NULL;
	}
	if (!is_flat(v, JOINED_MAX)) {
		buf_addf(b, "%zu, not shown", json_len(v));
		return true;
	}
	for (it = json_iter(v); json_iter_next(&it);) {
		if (b->len > 0)
			buf_add_str(b, ", ");
		if (!value_add(b, it.val))
			buf_add_str(b, "-");
	}
	return b->len > 0;
}

static void
show_value(const struct ctl *ctl, const char *name, struct json_val v)
{
	struct buf b;
	size_t at;

	buf_init(&b, VALUE_BYTES);
	if (value_add(&b, v) && buf_add(&b, "", 1)) {
		printf("%-*s  ", NAME_WIDTH, name);
		at = strlen(name) < NAME_WIDTH ? NAME_WIDTH : strlen(name);
		text_wrap(stdout, (const char *)b.data, (size_t)ctl->columns,
		    at + 2, NAME_WIDTH + 2);
	} else if (b.failed)
		printf("%-*s  (long, not shown)\n", NAME_WIDTH, name);
	buf_clear(&b);
}

static void
show_object(const struct ctl *ctl, const char *prefix, struct json_val object,
    unsigned depth)
{
	char name[NAME_BYTES];
	struct json_iter it;

	for (it = json_iter(object); json_iter_next(&it);) {
		name_add(name, prefix, it.key);
		if (json_is_object(it.val) && depth < DEPTH_MAX)
			show_object(ctl, name, it.val, depth + 1);
		else if (json_is_object(it.val))
			printf("%-*s  %zu, not shown\n", NAME_WIDTH, name,
			    json_len(it.val));
		else if (depth > 0 || !is_table(it.val))
			show_value(ctl, name, it.val);
	}
}

/* ---- lists of objects ---- */

struct column {
	char title[NAME_BYTES];
	struct json_val path[COLUMN_DEPTH]; /* keys, of the first row */
	size_t depth;
};

static struct json_val
column_of(const struct column *c, struct json_val row)
{
	char key[NAME_BYTES];

	for (size_t i = 0; i < c->depth; i++) {
		key[0] = '\0';
		json_str_copy(c->path[i], key, sizeof(key));
		row = json_obj_get(row, key);
	}
	return row;
}

static size_t
columns_add(struct column columns[COLUMNS_MAX], size_t n,
    const struct column *above, struct json_val object)
{
	struct json_iter it;

	for (it = json_iter(object); json_iter_next(&it) && n < COLUMNS_MAX;) {
		struct column c = *above;

		if (json_is_object(it.val) &&
		    (c.depth + 1 == COLUMN_DEPTH || !is_flat(it.val, FLAT_MAX)))
			continue;
		if (json_is_array(it.val) && !is_flat(it.val, JOINED_MAX))
			continue;
		name_add(c.title, above->title, it.key);
		c.path[c.depth++] = it.key;
		if (json_is_object(it.val))
			n = columns_add(columns, n, &c, it.val);
		else
			columns[n++] = c;
	}
	return n;
}

static void
show_cell(struct table *t, struct json_val v)
{
	struct buf b;

	buf_init(&b, VALUE_BYTES);
	if (value_add(&b, v) && buf_add(&b, "", 1))
		table_add(t, (const char *)b.data);
	else
		table_add(t, "-");
	buf_clear(&b);
}

static void
show_table(const struct ctl *ctl, struct json_val rows)
{
	char giving[COLUMNS_MAX][NAME_BYTES + 1];
	const struct column none = { .depth = 0 };
	struct column columns[COLUMNS_MAX];
	const char *titles[COLUMNS_MAX];
	struct json_iter it;
	struct table *t;
	size_t n;

	n = columns_add(columns, 0, &none, json_arr_get(rows, 0));
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		snprintf(
		    giving[i], sizeof(giving[i]), "~%.63s", columns[i].title);
		titles[i] = giving[i];
	}
	t = table_new(titles, n);
	for (it = json_iter(rows); json_iter_next(&it);)
		for (size_t i = 0; i < n; i++)
			show_cell(t, column_of(&columns[i], it.val));
	table_print(t, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	table_free(&t);
}

void
show_result(const struct ctl *ctl, struct json_val result)
{
	struct json_iter it;
	char name[NAME_BYTES];

	show_object(ctl, "", result, 0);
	for (it = json_iter(result); json_iter_next(&it);) {
		if (!is_table(it.val))
			continue;
		name_add(name, "", it.key);
		printf("\n%s:\n", name);
		show_table(ctl, it.val);
	}
}
