/*
 * Warnings and trace lines of runs, in supervisord.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/tape.h"
#include "supervisord/lines.h"

void
lines_clear(struct lines *l)
{
	while (l->count > 0)
		free(l->list[--l->count]);
	free(l->list);
	l->list = NULL;
}

void
lines_add(struct lines *l, const char *text)
{
	char *copy;

	if (l->count == LINES_MAX)
		return;
	if (l->list == NULL)
		l->list = calloc(LINES_MAX, sizeof(*l->list));
	copy = l->list == NULL ? NULL : strndup(text, LINES_CHARS);
	if (copy != NULL)
		l->list[l->count++] = copy;
}

void
lines_addf(struct lines *l, const char *fmt, ...)
{
	char text[LINES_CHARS + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lines_add(l, text);
}

void
lines_write(const struct lines *l, struct json_writer *w)
{
	json_write_begin_array(w);
	for (size_t i = 0; i < l->count; i++)
		json_write_str(w, l->list[i]);
	json_write_end_array(w);
}

void
lines_read(struct lines *l, const void *json, size_t len)
{
	struct json_doc *doc;
	struct json_iter it;
	char *text;

	if (!json_parse(json, len, NULL, 0, &doc, NULL))
		return;
	for (it = json_iter(json_root(doc)); json_iter_next(&it);) {
		text = json_str_dup(it.val, NULL);
		if (text != NULL)
			lines_add(l, text);
		free(text);
	}
	json_doc_free(&doc);
}
