/*
 * Results of tools, in the adapter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "mcp/answer.h"
#include "mcp/fault.h"
#include "mcp/hints.h"

#define EVENTS_WAIT_MS 10000

/* One answer that is being put together. */
struct answer {
	struct call *call;
	struct buf text; /* the document */
	struct json_writer w;
	struct json_val artifacts; /* to be linked; may be missing */
	const struct buf *blocks;  /* the content, an array; NULL: the text */
	bool is_error;
	bool text_only; /* no structured content */
};

static void
answer_begin(struct answer *a, struct call *c)
{
	memset(a, 0, sizeof(*a));
	a->call = c;
	buf_init(&a->text, ADAPTER_ANSWER_MAX);
	json_writer_init(&a->w, &a->text);
	json_write_begin_object(&a->w);
}

/* All members of an object but those of a NULL-terminated list. */
static void
answer_members(struct answer *a, struct json_val v, const char *const *but)
{
	struct json_iter it;

	for (it = json_iter(v); json_iter_next(&it);) {
		const char *const *name = but;
		size_t len;
		char *key;

		while (*name != NULL && !json_str_eq(it.key, *name))
			name++;
		if (*name != NULL)
			continue;
		key = json_str_dup(it.key, &len);
		if (key == NULL) {
			a->text.failed = true;
			return;
		}
		json_write_keyn(&a->w, key, len);
		json_write_val(&a->w, it.val);
		free(key);
	}
}

static void
write_link(struct json_writer *w, struct json_val artifact)
{
	char id[64] = "", uri[96];

	json_str_copy(json_obj_get(artifact, "artifactId"), id, sizeof(id));
	snprintf(uri, sizeof(uri), "artifact://%s", id);
	json_write_begin_object(w);
	json_put_str(w, "type", "resource_link");
	json_put_str(w, "uri", uri);
	json_put_val(w, "name", json_obj_get(artifact, "name"));
	json_put_val(w, "description", json_obj_get(artifact, "kind"));
	json_put_val(w, "mimeType", json_obj_get(artifact, "mimeType"));
	json_put_val(w, "size", json_obj_get(artifact, "totalSize"));
	json_write_end_object(w);
}

static void
write_text(struct json_writer *w, const void *text, size_t len)
{
	json_write_begin_object(w);
	json_put_str(w, "type", "text");
	json_put_strn(w, "text", text, len);
	json_write_end_object(w);
}

static void
answer_write_rest(
    const struct answer *a, unsigned features, struct json_writer *w)
{
	if ((features & REV_STRUCTURED) != 0 && !a->text_only)
		json_put_raw(w, "structuredContent", a->text.data, a->text.len);
	json_put_bool(w, "isError", a->is_error);
}

/*
 * The members of a tool's result. instead: a text to take the place of the
 * document's, or NULL.
 */
static void
answer_write(const struct answer *a, unsigned features, const char *instead,
    struct json_writer *w)
{
	struct json_iter it;

	json_write_key(w, "content");
	if (a->blocks != NULL) {
		json_write_raw(w, a->blocks->data, a->blocks->len);
		answer_write_rest(a, features, w);
		return;
	}
	json_write_begin_array(w);
	if (instead != NULL)
		write_text(w, instead, strlen(instead));
	else
		write_text(w, a->text.data, a->text.len);
	if ((features & REV_STRUCTURED) != 0)
		for (it = json_iter(a->artifacts); json_iter_next(&it);)
			write_link(w, it.val);
	json_write_end_array(w);
	answer_write_rest(a, features, w);
}

static bool
answer_try(struct answer *a, const char *instead)
{
	struct call *c = a->call;
	struct reply_text t;

	reply_begin(&c->reply, &t);
	answer_write(a, c->reply.rev->features, instead, &t.w);
	return reply_send(&c->reply, &t);
}

/* Ends the document, sends it and frees the call. */
static void
answer_send(struct answer *a)
{
	struct call *c = a->call;
	bool good;

	if (c->ignored.len > 0 && !a->text_only) {
		json_write_key(&a->w, "ignoredArguments");
		json_write_begin_array(&a->w);
		json_write_raw(&a->w, c->ignored.data, c->ignored.len);
		json_write_end_array(&a->w);
	}
	json_write_end_object(&a->w);
	good = json_writer_finish(&a->w);
	if (c->reply.adapter == NULL)
		good = true; /* nobody waits for it */
	else if (good)
		good = answer_try(a, NULL) ||
		    ((c->reply.rev->features & REV_STRUCTURED) != 0 &&
			!a->text_only &&
			answer_try(a,
			    "The answer is too long to be repeated as text: "
			    "see structuredContent."));
	buf_clear(&a->text);
	if (good)
		call_free(&c);
	else
		answer_fault(c, ERR_INTERNAL,
		    "the answer is longer than 4 MiB: ask for less of it");
}

/* The parsed answer of the service, or none: the call was answered then. */
static struct json_doc *
answer_parse(struct call *c, bool good, const char *json, size_t len)
{
	struct json_doc *doc;

	if (!good) {
		answer_error(c, json, len);
		return NULL;
	}
	if (json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL))
		return doc;
	answer_fault(c, ERR_INTERNAL, "the service's answer is no JSON");
	return NULL;
}

static const char *const nothing[] = { NULL };

/* Errors. */

/* As text only: some clients check structured content of errors, too. */
void
answer_error(struct call *c, const char *json, size_t len)
{
	struct json_doc *doc;
	struct answer a;

	if (c->reply.adapter == NULL) {
		call_free(&c);
		return;
	}
	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		reply_error(&c->reply, RPC_INTERNAL_ERROR,
		    "the service's error is no JSON", NULL);
		call_free(&c);
		return;
	}
	answer_begin(&a, c);
	a.is_error = a.text_only = true;
	answer_members(&a, json_root(doc), nothing);
	hints_error(&a.w, json_root(doc));
	json_doc_free(&doc);
	answer_send(&a);
}

void
answer_fault(struct call *c, enum err_code code, const char *message)
{
	char json[FAULT_BYTES_MAX];

	fault_write(json, code, message);
	answer_error(c, json, strlen(json));
}

/* Runs. */

/* What the submission told, over what the record says. */
static void
write_submission(struct answer *a)
{
	const struct call *c = a->call;

	json_put_str(&a->w, "mode", c->mode);
	json_put_bool(&a->w, "deduplicated", c->deduplicated);
	if (c->mismatch)
		json_put_bool(&a->w, "paramsMismatch", true);
}

/* A failed run of the one who waited for it: its error, where errors are. */
static void
write_run_error(struct answer *a, struct json_val run)
{
	struct json_val error = json_obj_get(run, "error");

	if (!json_is_object(error))
		return;
	a->is_error = true;
	answer_members(a, error, nothing);
}

void
answer_run(struct call *c, const char *json, size_t len)
{
	static const char *const submission[] = { "mode", "deduplicated",
		"paramsMismatch", "waitMs", NULL };
	struct json_doc *doc, *list = NULL;
	struct answer a;

	if (!json_parse(
		c->run.data, c->run.len, NULL, JSON_BORROW, &doc, NULL)) {
		answer_fault(c, ERR_INTERNAL, "the service's answer is bad");
		return;
	}
	answer_begin(&a, c);
	if (json != NULL &&
	    json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &list, NULL))
		a.artifacts = json_obj_get(json_root(list), "artifacts");
	answer_members(&a, json_root(doc), c->submitted ? submission : nothing);
	if (c->submitted) {
		write_submission(&a);
		write_run_error(&a, json_root(doc));
	}
	if (json_is_array(a.artifacts))
		json_put_val(&a.w, "artifacts", a.artifacts);
	hints_run(&a.w, json_root(doc), a.artifacts);
	json_doc_free(&doc);
	answer_send(&a);
	json_doc_free(&list);
}

bool
answer_write_run(struct json_writer *w, const struct revision *rev,
    struct json_val run, struct json_val artifacts)
{
	struct answer a;
	bool good;

	answer_begin(&a, NULL);
	a.artifacts = artifacts;
	answer_members(&a, run, nothing);
	write_run_error(&a, run);
	if (json_is_array(artifacts))
		json_put_val(&a.w, "artifacts", artifacts);
	hints_run(&a.w, run, artifacts);
	json_write_end_object(&a.w);
	good = json_writer_finish(&a.w);
	if (good) {
		if (rev->era == ERA_MODERN)
			json_put_str(w, "resultType", "complete");
		answer_write(&a, rev->features, NULL, w);
	}
	buf_clear(&a.text);
	return good;
}

/* The others. */

/* What the service said, and members of ours behind it. */
static void
answer_with(struct call *c, bool good, const char *json, size_t len,
    void (*add)(struct json_writer *, struct call *, struct json_val))
{
	struct json_doc *doc = answer_parse(c, good, json, len);
	struct answer a;

	if (doc == NULL)
		return;
	answer_begin(&a, c);
	answer_members(&a, json_root(doc), nothing);
	if (add != NULL)
		add(&a.w, c, json_root(doc));
	json_doc_free(&doc);
	answer_send(&a);
}

void
answer_plain(struct call *c, bool good, const char *json, size_t len)
{
	answer_with(c, good, json, len, NULL);
}

/* What to choose one by; the inputs by their names. */
static void
write_brief(struct answer *a, struct json_val template)
{
	static const char *const members[] = { "id", "version", "description" };
	struct json_val inputs = json_obj_get(template, "inputs");
	struct json_val required = json_obj_get(inputs, "required");
	struct json_iter it;
	const uint8_t *raw;
	size_t len;

	json_write_begin_object(&a->w);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		json_put_val(
		    &a->w, members[i], json_obj_get(template, members[i]));
	if (json_is_array(required))
		json_put_val(&a->w, "requiredInputs", required);
	json_write_key(&a->w, "allInputs");
	json_write_begin_array(&a->w);
	for (it = json_iter(json_obj_get(inputs, "properties"));
	     json_iter_next(&it);)
		if (json_raw(it.key, &raw, &len))
			json_write_raw(&a->w, raw, len);
	json_write_end_array(&a->w);
	json_write_end_object(&a->w);
}

void
answer_templates(struct call *c, bool good, const char *json, size_t len)
{
	struct json_doc *doc = answer_parse(c, good, json, len);
	struct json_val templates;
	struct json_iter it;
	struct answer a;
	bool full = false;

	if (doc == NULL)
		return;
	json_get_bool(json_obj_get(call_arguments(c), "full"), &full);
	templates = json_obj_get(json_root(doc), "templates");
	full = full || ipc_has(&c->req.params, F_TEMPLATE_ID);
	answer_begin(&a, c);
	json_write_key(&a.w, "templates");
	json_write_begin_array(&a.w);
	for (it = json_iter(templates); json_iter_next(&it);) {
		if (full)
			json_write_val(&a.w, it.val);
		else
			write_brief(&a, it.val);
	}
	json_write_end_array(&a.w);
	hints_templates(&a.w, templates, !full);
	json_doc_free(&doc);
	answer_send(&a);
}

void
answer_blocks(struct call *c, struct json_val root, const struct buf *blocks)
{
	struct answer a;

	buf_reset(&c->ignored);
	answer_begin(&a, c);
	a.blocks = blocks;
	answer_members(&a, root, nothing);
	answer_send(&a);
}

static void
add_list_hints(struct json_writer *w, struct call *c, struct json_val root)
{
	struct json_val cursor = json_obj_get(root, "nextCursor");

	json_put_bool(w, "hasMore", json_is_string(cursor));
	hints_list(w, c->tool->name, cursor);
}

void
answer_runs(struct call *c, bool good, const char *json, size_t len)
{
	answer_with(c, good, json, len, add_list_hints);
}

/* Who asks for a number of them gets it. */
bool
answer_prepare_bounded(struct call *c)
{
	const struct msg_row *row = msg_row(c->tool->msg);

	if (msg_field(row, F_LIMIT) == NULL ||
	    !ipc_has(&c->req.params, F_LIMIT))
		ipc_set_int(&c->req.params, F_MAX_BYTES, CALL_ANSWER_BYTES);
	return true;
}

bool
answer_prepare_events(struct call *c)
{
	if (!ipc_has(&c->req.params, F_TIMEOUT_MS))
		ipc_set_int(&c->req.params, F_TIMEOUT_MS, EVENTS_WAIT_MS);
	return answer_prepare_bounded(c);
}

static void
add_event_hints(struct json_writer *w, struct call *c, struct json_val root)
{
	(void)c;
	hints_events(w, root);
}

void
answer_events(struct call *c, bool good, const char *json, size_t len)
{
	answer_with(c, good, json, len, add_event_hints);
}
