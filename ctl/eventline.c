/*
 * Events in words: what is known of their kinds, and of any other the plain
 * members. Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/eventline.h"
#include "ctl/text.h"

/* The text behind what is there already. */
static void
add_text(struct buf *b, const char *gap, struct json_val v)
{
	char *text = text_of(v);

	if (text != NULL && text[0] != '\0')
		buf_addf(b, "%s%s", b->len > 0 ? gap : "", text);
	free(text);
}

static void
add_item(struct json_val data, struct buf *b)
{
	struct json_val item = json_obj_get(data, "item");
	bool good = true;

	json_get_bool(json_obj_get(data, "ok"), &good);
	if (good)
		add_text(b, "  ", json_obj_get(item, "title"));
	else
		add_text(b, "  failed: ", json_obj_get(item, "message"));
	add_text(b, "  ", json_obj_get(item, "url"));
	add_text(b, "  ", json_obj_get(data, "message"));
}

static void
add_progress(struct json_val data, struct buf *b)
{
	int64_t done = 0, total = 0;

	json_get_int64(json_obj_get(data, "done"), &done);
	json_get_int64(json_obj_get(data, "total"), &total);
	if (total > 0)
		buf_addf(b, "%" PRId64 "/%" PRId64, done, total);
	add_item(data, b);
}

static void
add_artifact(struct json_val data, struct buf *b)
{
	char size[32];
	int64_t n = 0;

	add_text(b, "", json_obj_get(data, "artifactId"));
	add_text(b, "  ", json_obj_get(data, "kind"));
	if (json_get_int64(json_obj_get(data, "totalSize"), &n)) {
		text_bytes(n, size, sizeof(size));
		buf_addf(b, "  %s", size);
	}
}

/* "name value, ..."; durations are known by the ends of their names. */
static void
add_members(struct json_val data, struct buf *b)
{
	char name[64], took[32];
	struct json_iter it;
	size_t len;
	int64_t ms;

	for (it = json_iter(data); json_iter_next(&it);) {
		if (!json_str_copy(it.key, name, sizeof(name)) ||
		    json_is_object(it.val) || json_is_array(it.val) ||
		    json_is_null(it.val))
			continue;
		len = strlen(name);
		buf_add_str(b, b->len > 0 ? ", " : "");
		if (len > 2 && strcmp(name + len - 2, "Ms") == 0 &&
		    json_get_int64(it.val, &ms)) {
			text_duration(ms, took, sizeof(took));
			buf_addf(b, "%.*s %s", (int)len - 2, name, took);
		} else {
			text_clean(b, name, len, false);
			add_text(b, " ", it.val);
		}
	}
}

static void
add_error(struct json_val error, struct buf *b)
{
	add_text(b, "; ", json_obj_get(error, "errorCode"));
	add_text(b, ": ", json_obj_get(error, "message"));
}

void
eventline_add(struct json_val event, struct buf *b)
{
	struct json_val type = json_obj_get(event, "type");
	struct json_val data = json_obj_get(event, "data");
	struct json_val error = json_obj_get(data, "error");

	if (json_str_eq(type, "progress"))
		add_progress(data, b);
	else if (json_str_eq(type, "artifact_created"))
		add_artifact(data, b);
	else if (!json_is_object(error))
		add_members(data, b);
	else
		add_error(error, b);
}
