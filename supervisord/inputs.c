/*
 * inputs: checks the inputs of a submission. Runs in supervisord. They may hold
 * secrets: they are in wiped buffers only, and what is refused is never quoted
 * where the schema says that it is one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/fdio.h"
#include "json/canon.h"
#include "json/writer.h"
#include "model/limits.h"
#include "storage/store.h"
#include "supervisord/inputs.h"
#include "supervisord/secrets.h"

void
inputs_init(struct inputs *in)
{
	memset(in, 0, sizeof(*in));
	buf_init_secret(&in->text, LIMIT_INPUT_BYTES);
	in->secrets_fd = -1;
}

void
inputs_clear(struct inputs *in)
{
	json_doc_free(&in->doc);
	buf_clear(&in->text);
	fd_close(&in->secrets_fd);
}

bool
document_read(const void *json, size_t len, size_t max, const char *name,
    unsigned flags, struct json_doc **ret, struct refusal *r)
{
	struct json_limits limits = { max, LIMIT_JSON_DEPTH };
	struct json_error error;

	if (json_parse(json, len, &limits, JSON_DUP_ERROR | flags, ret, &error))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER, "/%s: %s (line %u, column %u)",
	    name, error.message, error.line, error.column);
}

/* The document borrows the text: a copy would have to be wiped. */
static bool
inputs_parse(struct inputs *in, struct refusal *r)
{
	json_doc_free(&in->doc);
	return document_read(in->text.data, in->text.len, LIMIT_INPUT_BYTES,
	    "inputs", JSON_BORROW, &in->doc, r);
}

/* All members but one. */
static bool
write_without(struct json_val root, const char *name, struct buf *out)
{
	struct json_writer w;
	struct json_iter it;

	json_writer_init(&w, out);
	json_write_begin_object(&w);
	for (it = json_iter(root); json_iter_next(&it);) {
		char *key;
		size_t len;

		if (json_str_eq(it.key, name))
			continue;
		key = json_str_dup(it.key, &len);
		if (key == NULL)
			return false;
		json_write_keyn(&w, key, len);
		json_write_val(&w, it.val);
		free(key);
	}
	json_write_end_object(&w);
	return json_writer_finish(&w);
}

/*
 * inputs.trace_id is the caller's trace id, no input of the template: it is
 * taken out, and used when it is a valid one.
 */
static bool
take_trace_id(struct inputs *in, struct options *o, struct refusal *r)
{
	struct json_val id = json_obj_get(json_root(in->doc), "trace_id");
	char text[STORE_TRACE_CHARS + 1];
	struct buf rest;

	if (json_is_missing(id))
		return true;
	if (o->trace_id[0] == '\0' && json_str_copy(id, text, sizeof(text)) &&
	    options_trace_valid(text))
		strlcpy(o->trace_id, text, sizeof(o->trace_id));
	buf_init_secret(&rest, LIMIT_INPUT_BYTES);
	if (!write_without(json_root(in->doc), "trace_id", &rest)) {
		buf_clear(&rest);
		return refuse(r, ERR_INTERNAL, "no memory");
	}
	buf_clear(&in->text);
	in->text = rest;
	return inputs_parse(in, r);
}

bool
inputs_read(struct inputs *in, const struct template *t, const void *json,
    size_t len, struct options *o, struct refusal *r)
{
	struct schema_error error;
	char text[sizeof(r->message)];

	if (!buf_add(&in->text, json, len))
		return refuse(r, ERR_INTERNAL, "no memory");
	if (!inputs_parse(in, r))
		return false;
	if (!json_is_object(json_root(in->doc)))
		return refuse(
		    r, ERR_INVALID_PARAMETER, "/inputs: expected an object");
	if (!take_trace_id(in, o, r))
		return false;
	if (!secrets_check(t->inputs, json_root(in->doc), r))
		return false;
	if (schema_validate_inputs(t->inputs, json_root(in->doc), &error))
		return true;
	schema_error_text(&error, text, sizeof(text));
	return refuse(r, ERR_INVALID_PARAMETER, "/inputs%s%s",
	    text[0] == '/' ? "" : ": ", text);
}

bool
inputs_seal(struct inputs *in, const struct template *t, struct refusal *r)
{
	struct buf text;

	buf_init(&text, LIMIT_INPUT_BYTES);
	if (!secrets_take(
		t->inputs, json_root(in->doc), &text, &in->secrets_fd, r)) {
		buf_clear(&text);
		return false;
	}
	if (in->secrets_fd == -1)
		return true;
	json_doc_free(&in->doc);
	buf_clear(&in->text);
	in->text = text;
	return true;
}

bool
inputs_digest(const struct inputs *in, const struct options *o,
    const struct ulid *session, const struct store *store,
    uint8_t ret_digest[32], struct refusal *r)
{
	char id[ID_CHARS + 1] = "";
	struct buf canon;
	bool good;

	/* Another session is somebody else to the pages. */
	if (session != NULL)
		id_format("sess_", session, id);
	buf_init_secret(&canon, 2 * LIMIT_INPUT_BYTES);
	good = buf_add_str(&canon, id) &&
	    json_canon_add(json_root(in->doc), &canon);
	/* Where it may go is a part of what was asked for. */
	if (good && (o->allowed != NULL || o->forbidden != NULL))
		good = buf_addf(&canon, "\n%s\n\n%s",
		    o->allowed == NULL ? "" : o->allowed,
		    o->forbidden == NULL ? "" : o->forbidden);
	if (good && (o->public_only || o->kept != NULL))
		good = buf_addf(&canon, "\n\n%d\n%s", (int)o->public_only,
		    o->kept == NULL ? "" : o->kept);
	if (good)
		store_digest(store, canon.data, canon.len, ret_digest);
	buf_clear(&canon);
	return good || refuse(r, ERR_INTERNAL, "no memory");
}
