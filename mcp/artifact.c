/*
 * Artifacts, in the adapter. A value inside a JSON artifact is looked up here,
 * not in the service, whose one loop serves everybody: the adapter reads all of
 * the artifact and pays with its own time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "mcp/answer.h"
#include "mcp/args.h"
#include "mcp/artifact.h"
#include "mcp/pointer.h"
#include "model/limits.h"
#include "model/mime.h"

/* A multiple of three, so that pieces in base64 can be joined. */
#define PIECE_BYTES    262143
#define PICTURE_BYTES  (2u << 20) /* of one that is given whole */
#define DOCUMENT_BYTES CALL_WHOLE_BYTES
#define ITEM_MAX       1000000
#define WHY_BYTES      256

static void read_piece(struct call *);

static bool
mime_is(const char *mime, const char *start)
{
	return strncmp(mime, start, strlen(start)) == 0;
}

static bool
mime_is_json(const char *mime)
{
	size_t len = strcspn(mime, ";");

	return mime_is(mime, "application/json") ||
	    (len > 5 && strncmp(mime + len - 5, "+json", 5) == 0);
}

static int64_t
number_of(struct json_val v, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(v, key), &n);
	return n;
}

static bool
is_complete(struct json_val chunk)
{
	bool complete;

	return json_get_bool(json_obj_get(chunk, "complete"), &complete) &&
	    complete;
}

/* The blocks of the answer: what there is to say of the chunk, and the chunk. */

static void
put_members(struct json_writer *w, struct json_val chunk, bool whole)
{
	int64_t total = number_of(chunk, "totalSize");

	json_put_val(w, "artifactId", json_obj_get(chunk, "artifactId"));
	json_put_val(w, "mimeType", json_obj_get(chunk, "mimeType"));
	json_put_int64(w, "totalSize", total);
	json_put_int64(w, "offset", number_of(chunk, "offset"));
	json_put_int64(w, "length", whole ? total : number_of(chunk, "length"));
	json_put_bool(w, "complete", whole || is_complete(chunk));
}

static void
put_head(struct json_writer *w, struct json_val chunk, bool whole)
{
	struct json_writer head;
	struct buf b;

	buf_init(&b, CALL_ANSWER_BYTES);
	json_writer_init(&head, &b);
	json_write_begin_object(&head);
	put_members(&head, chunk, whole);
	json_write_end_object(&head);
	json_write_begin_object(w);
	json_put_str(w, "type", "text");
	if (json_writer_finish(&head))
		json_put_strn(w, "text", (const char *)b.data, b.len);
	json_write_end_object(w);
	buf_clear(&b);
}

static void
put_data(struct json_writer *w, struct json_val chunk, const char *mime,
    const char *data, size_t len, bool whole)
{
	bool all =
	    whole || (is_complete(chunk) && number_of(chunk, "offset") == 0);
	char id[IPC_ID_MAX + 1] = "", uri[IPC_ID_MAX + 16];

	json_write_begin_object(w);
	if (mime_is_text(mime) || !all) {
		json_put_str(w, "type", "text");
		json_put_strn(w, "text", data, len);
	} else if (mime_is(mime, "image/")) {
		json_put_str(w, "type", "image");
		json_put_strn(w, "data", data, len);
		json_put_str(w, "mimeType", mime);
	} else {
		json_str_copy(
		    json_obj_get(chunk, "artifactId"), id, sizeof(id));
		snprintf(uri, sizeof(uri), "artifact://%s", id);
		json_put_str(w, "type", "resource");
		json_write_key(w, "resource");
		json_write_begin_object(w);
		json_put_str(w, "uri", uri);
		json_put_str(w, "mimeType", mime);
		json_put_strn(w, "blob", data, len);
		json_write_end_object(w);
	}
	json_write_end_object(w);
}

/* whole: in place of the chunk's own data, base64 of all there is; or NULL. */
static void
answer_chunk(struct call *c, struct json_val chunk, const struct buf *whole)
{
	char mime[128] = "", *own = NULL;
	struct json_writer w;
	struct buf b;
	size_t len = 0;

	json_str_copy(json_obj_get(chunk, "mimeType"), mime, sizeof(mime));
	if (whole == NULL)
		own = json_str_dup(json_obj_get(chunk, "data"), &len);
	else
		len = whole->len;
	buf_init(&b, ADAPTER_ANSWER_MAX);
	json_writer_init(&w, &b);
	json_write_begin_array(&w);
	put_head(&w, chunk, whole != NULL);
	if (len > 0)
		put_data(&w, chunk, mime,
		    whole != NULL ? (const char *)whole->data : own, len,
		    whole != NULL);
	json_write_end_array(&w);
	if (json_writer_finish(&w))
		answer_blocks(c, chunk, &b);
	else
		answer_fault(c, ERR_INTERNAL,
		    "the answer is longer than 4 MiB: ask for less of it");
	buf_clear(&b);
	free(own);
}

/* A value of a document. */

/* The chunk of this text that was asked for, as the service answers one. */
static void
answer_part(struct call *c, const char *mime, const struct buf *text)
{
	const struct call_part *part = &c->part;
	size_t from = (size_t)part->offset, len, all = text->len;
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct buf b;

	if (!pointer_chunk(text, from, (size_t)part->limit, &len)) {
		answer_fault(c, ERR_INVALID_PARAMETER,
		    "offset is behind the end of what was selected, or lies "
		    "within a character");
		return;
	}
	buf_init(&b, ADAPTER_ANSWER_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "artifactId", part->id);
	json_put_str(&w, "mimeType", mime);
	json_put_int64(&w, "totalSize", (int64_t)all);
	json_put_int64(&w, "offset", (int64_t)from);
	json_put_int64(&w, "length", (int64_t)len);
	json_put_strn(
	    &w, "data", len == 0 ? "" : (const char *)text->data + from, len);
	json_put_bool(&w, "complete", from + len >= all);
	json_write_end_object(&w);
	if (json_writer_finish(&w) &&
	    json_parse(b.data, b.len, NULL, JSON_BORROW, &doc, NULL))
		answer_chunk(c, json_root(doc), NULL);
	else
		answer_fault(c, ERR_INTERNAL, "no memory");
	json_doc_free(&doc);
	buf_clear(&b);
}

static void
answer_selected(struct call *c)
{
	const struct json_limits limits = { DOCUMENT_BYTES,
		JSON_DEPTH_DEFAULT };
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct json_val v;
	char why[WHY_BYTES];
	struct buf text;
	bool is_text;

	if (!json_parse(c->whole.data, c->whole.len, &limits, JSON_BORROW, &doc,
		NULL)) {
		answer_fault(
		    c, ERR_INVALID_PARAMETER, "the artifact is no JSON");
		return;
	}
	v = json_root(doc);
	if ((c->part.item >= 0 && !pointer_item(v, c->part.item, &v, why)) ||
	    (c->part.select != NULL &&
		!pointer_get(v, c->part.select, &v, why))) {
		json_doc_free(&doc);
		answer_fault(c, ERR_INVALID_PARAMETER, why);
		return;
	}
	buf_init(&text, DOCUMENT_BYTES);
	json_writer_init(&w, &text);
	is_text = json_is_string(v);
	if (is_text)
		json_str_add(v, &text);
	else
		json_write_val(&w, v);
	json_doc_free(&doc);
	if (text.failed)
		answer_fault(c, ERR_INTERNAL, "no memory");
	else
		answer_part(
		    c, is_text ? "text/plain" : "application/json", &text);
	buf_clear(&text);
}

/* All of an artifact. */

/* False: it is not wanted whole, and the call was answered. */
static bool
check_piece(struct call *c, struct json_val piece)
{
	char mime[128] = "", why[WHY_BYTES];

	json_str_copy(json_obj_get(piece, "mimeType"), mime, sizeof(mime));
	if (c->part.picture)
		return true;
	if (!mime_is_json(mime))
		snprintf(why, sizeof(why),
		    "item and select are for JSON; this is %s", mime);
	else if (number_of(piece, "totalSize") > (int64_t)DOCUMENT_BYTES)
		snprintf(why, sizeof(why),
		    "the artifact is larger than %u MiB: read it in chunks, "
		    "with offset and limit",
		    DOCUMENT_BYTES >> 20);
	else
		return true;
	answer_fault(c, ERR_INVALID_PARAMETER, why);
	return false;
}

static void
answer_whole(struct call *c)
{
	struct json_doc *doc;

	if (!c->part.picture) {
		answer_selected(c);
		return;
	}
	if (json_parse(c->run.data, c->run.len, NULL, 0, &doc, NULL)) {
		struct buf whole = c->whole;

		/* The answer frees the call before it is done with it. */
		memset(&c->whole, 0, sizeof(c->whole));
		answer_chunk(c, json_root(doc), &whole);
		buf_clear(&whole);
		json_doc_free(&doc);
	} else
		answer_fault(c, ERR_INTERNAL, "no memory");
}

static void
on_piece(struct link_req *r, bool good, const char *json, size_t len)
{
	struct call *c = call_of(r);
	struct json_doc *doc;
	struct json_val piece;
	int64_t length;
	bool complete;

	if (!good) {
		answer_error(c, json, len);
		return;
	}
	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		answer_fault(c, ERR_INTERNAL, "the service's answer is bad");
		return;
	}
	piece = json_root(doc);
	length = number_of(piece, "length");
	complete = is_complete(piece);
	if (!check_piece(c, piece)) {
		json_doc_free(&doc);
		return;
	}
	good = json_str_add(json_obj_get(piece, "data"), &c->whole);
	json_doc_free(&doc);
	c->part.done += length;
	if (!good)
		answer_fault(c, ERR_INTERNAL, "no memory");
	else if (complete || length <= 0)
		answer_whole(c);
	else
		read_piece(c);
}

static void
read_piece(struct call *c)
{
	ipc_params_init(&c->req.params, MSG_ARTIFACT_GET);
	ipc_set_str(&c->req.params, F_ARTIFACT_ID, c->part.id);
	ipc_set_int(&c->req.params, F_OFFSET, c->part.done);
	ipc_set_int(&c->req.params, F_LIMIT, PIECE_BYTES);
	call_ask(c, on_piece);
}

bool
artifact_prepare(struct call *c)
{
	struct json_val select = json_obj_get(call_arguments(c), "select");
	struct call_part *part = &c->part;
	size_t len;

	strlcpy(
	    part->id, ipc_str(&c->req.params, F_ARTIFACT_ID), sizeof(part->id));
	part->chunked = ipc_has(&c->req.params, F_OFFSET) ||
	    ipc_has(&c->req.params, F_LIMIT);
	part->offset = ipc_int(&c->req.params, F_OFFSET, 0);
	part->limit = ipc_int(&c->req.params, F_LIMIT, ARTIFACT_MODEL_BYTES);
	if (!args_number(c, "item", 0, ITEM_MAX, -1, &part->item))
		return false;
	if (!json_is_missing(select) && !json_is_null(select)) {
		part->select = call_keep(c, json_str_dup(select, &len));
		if (part->select == NULL ||
		    (part->select[0] != '\0' && part->select[0] != '/')) {
			answer_fault(c, ERR_INVALID_PARAMETER,
			    "/select: expected a JSON pointer such as "
			    "/0/title");
			return false;
		}
	}
	if (part->item < 0 && part->select == NULL)
		return true;
	read_piece(c);
	return false;
}

/* A picture is of use only whole. */
static bool
wants_whole(const struct call *c, struct json_val chunk)
{
	char mime[128] = "";

	json_str_copy(json_obj_get(chunk, "mimeType"), mime, sizeof(mime));
	return !c->part.chunked && !is_complete(chunk) && !mime_is_text(mime) &&
	    number_of(chunk, "totalSize") <= (int64_t)PICTURE_BYTES;
}

void
artifact_answered(struct call *c, bool good, const char *json, size_t len)
{
	struct json_doc *doc;

	if (!good) {
		answer_error(c, json, len);
		return;
	}
	if (!json_parse((const uint8_t *)json, len, NULL, 0, &doc, NULL)) {
		answer_fault(c, ERR_INTERNAL, "the service's answer is bad");
		return;
	}
	if (wants_whole(c, json_root(doc)) && buf_add(&c->run, json, len)) {
		c->part.picture = true;
		read_piece(c);
	} else
		answer_chunk(c, json_root(doc), NULL);
	json_doc_free(&doc);
}
