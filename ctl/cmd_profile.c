/*
 * profile: all that the service tells of itself, in words.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "ctl/ctl.h"
#include "ctl/text.h"
#include "model/settings.h"

#define CALL_MS      30000
#define NAME_BYTES   64
#define NAME_COLUMNS 22
#define VALUE_BYTES  4096

enum ctl_exit
profile_get(struct ctl *ctl, struct ctl_answer *ret_answer)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_PROFILE_GET);
	return ctl_call(ctl, &p, CALL_MS, ret_answer);
}

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

static bool
is_switch(const char *name)
{
	const struct setting_info *row;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++)
		if (strcmp(row->name, name) == 0)
			return row->type == SETTING_SWITCH;
	return false;
}

/* Durations, times and sizes are known by the ends of their names. */
static void
add_number(struct buf *b, const char *name, int64_t n)
{
	char text[64];

	if (ends_with(name, "Ms"))
		text_duration(n, text, sizeof(text));
	else if (ends_with(name, "At"))
		text_time(n, text, sizeof(text));
	else if (ends_with(name, "Bytes") || ends_with(name, "Size"))
		text_bytes(n, text, sizeof(text));
	else if (is_switch(name))
		snprintf(text, sizeof(text), "%s", n != 0 ? "yes" : "no");
	else
		snprintf(text, sizeof(text), "%" PRId64, n);
	buf_add_str(b, text);
}

static void
add_value(struct buf *b, const char *name, struct json_val v)
{
	char *text;
	int64_t n;
	bool yes;

	if (json_get_int64(v, &n)) {
		add_number(b, name, n);
	} else if (json_get_bool(v, &yes)) {
		buf_add_str(b, yes ? "yes" : "no");
	} else {
		text = text_of(v);
		buf_add_str(b, text == NULL || text[0] == '\0' ? "-" : text);
		free(text);
	}
}

static void
print_line(const struct ctl *ctl, const char *name, int depth, struct buf *b)
{
	int column = NAME_COLUMNS - 2 * depth;
	size_t len = strlen(name);

	printf("%*s%-*s ", 2 * depth, "", column, name);
	if (len < (size_t)column)
		len = (size_t)column;
	buf_add(b, "", 1);
	text_wrap(stdout, b->failed ? "-" : (char *)b->data,
	    (size_t)ctl->columns, 2 * (size_t)depth + len + 1,
	    NAME_COLUMNS + 1);
	buf_clear(b);
}

/*
 * An object of a list: its first member names it, and the others are what there
 * is to say; of those that are yes or no, the names of what it is.
 */
static void
print_row(const struct ctl *ctl, struct json_val row, int depth)
{
	char name[NAME_BYTES] = "", key[NAME_BYTES];
	struct json_iter it = json_iter(row);
	struct buf b;
	bool yes;

	buf_init(&b, VALUE_BYTES);
	if (json_iter_next(&it))
		json_str_copy(it.val, name, sizeof(name));
	while (json_iter_next(&it)) {
		yes = true;
		json_get_bool(it.val, &yes);
		if (!yes || json_is_null(it.val) ||
		    !json_str_copy(it.key, key, sizeof(key)))
			continue;
		buf_add_str(&b, b.len > 0 ? ", " : "");
		if (json_is_bool(it.val))
			buf_add_str(&b, key);
		else
			add_value(&b, key, it.val);
	}
	print_line(ctl, name, depth, &b);
}

static void
print_list(
    const struct ctl *ctl, const char *name, struct json_val list, int depth)
{
	struct json_iter it = json_iter(list);
	struct buf b;

	if (json_is_object(json_arr_get(list, 0))) {
		printf("%*s%s\n", 2 * depth, "", name);
		while (json_iter_next(&it))
			print_row(ctl, it.val, depth + 1);
		return;
	}
	buf_init(&b, VALUE_BYTES);
	while (json_iter_next(&it)) {
		buf_add_str(&b, b.len > 0 ? ", " : "");
		add_value(&b, "", it.val);
	}
	print_line(ctl, name, depth, &b);
}

static void
print_members(const struct ctl *ctl, struct json_val object, int depth)
{
	struct json_iter it = json_iter(object);
	char name[NAME_BYTES];
	struct buf b;

	while (json_iter_next(&it)) {
		if (!json_str_copy(it.key, name, sizeof(name)))
			continue;
		if (json_is_array(it.val)) {
			print_list(ctl, name, it.val, depth);
		} else if (json_is_object(it.val) && depth < 2) {
			printf("%*s%s\n", 2 * depth, "", name);
			print_members(ctl, it.val, depth + 1);
		} else {
			buf_init(&b, VALUE_BYTES);
			add_value(&b, name, it.val);
			print_line(ctl, name, depth, &b);
		}
	}
}

enum ctl_exit
cmd_profile(struct ctl *ctl)
{
	struct ctl_answer a;
	enum ctl_exit rc = profile_get(ctl, &a);

	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		print_members(ctl, a.root, 0);
	ctl_answer_free(&a);
	return rc;
}
