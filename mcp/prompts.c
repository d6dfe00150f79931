/*
 * One prompt per template, in the adapter: a person chooses a task and fills in
 * its inputs, the model gets told how to run it. Arguments are texts; those
 * that are no texts in the template's schema are written as JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "mcp/question.h"

#define LIST_TTL_MS    60000
#define TEXT_BYTES_MAX 1024
#define PROMPT_BYTES   65536

/* The template of that id, or a missing value. */
static struct json_val
find_template(struct json_val answer, const char *id)
{
	struct json_iter it;

	for (it = json_iter(json_obj_get(answer, "templates"));
	     json_iter_next(&it);)
		if (json_str_eq(json_obj_get(it.val, "id"), id))
			return it.val;
	return json_obj_get(answer, "");
}

static bool
is_required(struct json_val schema, struct json_val name)
{
	struct json_iter it;
	char text[128];

	if (!json_str_copy(name, text, sizeof(text)))
		return false;
	for (it = json_iter(json_obj_get(schema, "required"));
	     json_iter_next(&it);)
		if (json_str_eq(it.val, text))
			return true;
	return false;
}

/*
 * Secrets are no arguments: a prompt's text is the model's to read. A schema
 * holds one when it or a member of it is only to be written.
 */
static bool
is_secret(struct json_val schema)
{
	struct json_iter it;
	bool value;

	if (json_get_bool(json_obj_get(schema, "writeOnly"), &value) && value)
		return true;
	for (it = json_iter(json_obj_get(schema, "properties"));
	     json_iter_next(&it);)
		if (json_get_bool(json_obj_get(it.val, "writeOnly"), &value) &&
		    value)
			return true;
	return false;
}

static void
write_argument(struct json_writer *w, struct json_val schema,
    struct json_val name, struct json_val property)
{
	char text[TEXT_BYTES_MAX] = "", line[TEXT_BYTES_MAX + 32];
	struct json_val type = json_obj_get(property, "type");

	json_str_copy(
	    json_obj_get(property, "description"), text, sizeof(text));
	snprintf(line, sizeof(line), "%s%s", text,
	    json_str_eq(type, "string") ? "" : " (as JSON)");
	json_write_begin_object(w);
	json_put_val(w, "name", name);
	json_put_str(w, "description", line[0] == ' ' ? line + 1 : line);
	json_put_bool(w, "required", is_required(schema, name));
	json_write_end_object(w);
}

static void
write_prompt(struct json_writer *w, const struct reply *r, struct json_val t)
{
	struct json_val schema = json_obj_get(t, "inputs");
	struct json_iter it;

	json_write_begin_object(w);
	json_put_val(w, "name", json_obj_get(t, "id"));
	if ((r->rev->features & REV_STRUCTURED) != 0)
		json_put_val(w, "title", json_obj_get(t, "name"));
	json_put_val(w, "description", json_obj_get(t, "description"));
	json_write_key(w, "arguments");
	json_write_begin_array(w);
	for (it = json_iter(json_obj_get(schema, "properties"));
	     json_iter_next(&it);)
		if (!is_secret(it.val))
			write_argument(w, schema, it.key, it.val);
	json_write_end_array(w);
	json_write_end_object(w);
}

static void
list_on_templates(struct question *n, struct json_val answer)
{
	struct reply_text t;
	struct json_iter it;

	reply_begin(&n->reply, &t);
	json_write_key(&t.w, "prompts");
	json_write_begin_array(&t.w);
	for (it = json_iter(json_obj_get(answer, "templates"));
	     json_iter_next(&it);)
		write_prompt(&t.w, &n->reply, it.val);
	json_write_end_array(&t.w);
	if (n->reply.rev->era == ERA_MODERN) {
		json_put_int64(&t.w, "ttlMs", LIST_TTL_MS);
		json_put_str(&t.w, "cacheScope", "private");
	}
	question_send(n, &t);
}

void
prompts_list(struct adapter *a, struct request *q)
{
	struct question *n;

	if (!json_is_missing(json_obj_get(q->msg.params, "cursor"))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "cursor: not one of an answer", NULL);
		return;
	}
	n = question_new(a, q);
	if (n == NULL)
		return;
	question_params(n, MSG_TEMPLATE_LIST);
	question_ask(n, list_on_templates);
}

/* prompts/get */

/* Writes one argument as an input; false: it is not what the schema wants. */
static bool
write_input(struct json_writer *w, struct json_val properties,
    struct json_val name, struct json_val value)
{
	struct json_val property, type;
	struct json_doc *doc;
	char *key = NULL, *text = NULL;
	size_t key_len, len;
	bool good = false;

	key = json_str_dup(name, &key_len);
	text = json_is_string(value) ? json_str_dup(value, &len) : NULL;
	if (key == NULL || text == NULL || strlen(key) != key_len)
		goto done;
	property = json_obj_get(properties, key);
	type = json_obj_get(property, "type");
	if (json_is_missing(type) || is_secret(property))
		goto done;
	if (json_str_eq(type, "string")) {
		json_put_strn(w, key, text, len);
		good = true;
	} else if (json_parse((const uint8_t *)text, len, NULL, JSON_BORROW,
		       &doc, NULL)) {
		json_put_val(w, key, json_root(doc));
		json_doc_free(&doc);
		good = true;
	}
done:
	free(key);
	free(text);
	return good;
}

/* The inputs that the arguments make; false: why says what is wrong. */
static bool
write_inputs(struct question *n, struct json_val template, struct buf *b,
    char why[TEXT_BYTES_MAX])
{
	struct json_val args = json_obj_get(n->msg.params, "arguments");
	struct json_val properties =
	    json_obj_get(json_obj_get(template, "inputs"), "properties");
	char name[128] = "an argument";
	struct json_writer w;
	struct json_iter it;

	json_writer_init(&w, b);
	json_write_begin_object(&w);
	for (it = json_iter(args); json_iter_next(&it);) {
		if (write_input(&w, properties, it.key, it.val))
			continue;
		json_str_copy(it.key, name, sizeof(name));
		snprintf(why, TEXT_BYTES_MAX,
		    "%s: not an argument of this prompt, or not JSON of the "
		    "type that the template's schema names",
		    name);
		return false;
	}
	json_write_end_object(&w);
	snprintf(why, TEXT_BYTES_MAX, "the arguments are too long");
	return json_writer_finish(&w) && buf_add(b, "", 1);
}

static void
get_answer(struct question *n, struct json_val template, const char *inputs)
{
	struct reply_text t;
	struct buf text;

	buf_init(&text, 2 * PROMPT_BYTES);
	buf_addf(&text,
	    "Call the tool run_task_template with templateId \"%s\" and inputs "
	    "%s. Ask for inputs that are missing: list_task_templates has their "
	    "schema. When the run is not finished in the answer, wait for "
	    "its end with get_task_run and waitMs 45000. Then "
	    "say what came of it, and name what failed.",
	    n->id, inputs);
	reply_begin(&n->reply, &t);
	json_put_val(
	    &t.w, "description", json_obj_get(template, "description"));
	json_write_key(&t.w, "messages");
	json_write_begin_array(&t.w);
	json_write_begin_object(&t.w);
	json_put_str(&t.w, "role", "user");
	json_write_key(&t.w, "content");
	json_write_begin_object(&t.w);
	json_put_str(&t.w, "type", "text");
	json_put_strn(&t.w, "text", (const char *)text.data, text.len);
	json_write_end_object(&t.w);
	json_write_end_object(&t.w);
	json_write_end_array(&t.w);
	buf_clear(&text);
	question_send(n, &t);
}

static void
get_on_templates(struct question *n, struct json_val answer)
{
	struct json_val template = find_template(answer, n->id);
	char why[TEXT_BYTES_MAX];
	struct buf inputs;

	if (json_is_missing(template)) {
		question_refuse(&n, RPC_INVALID_PARAMS,
		    "there is no prompt of that name: prompts/list has all");
		return;
	}
	buf_init(&inputs, PROMPT_BYTES);
	if (write_inputs(n, template, &inputs, why))
		get_answer(n, template, (const char *)inputs.data);
	else
		question_refuse(&n, RPC_INVALID_PARAMS, why);
	buf_clear(&inputs);
}

void
prompts_get(struct adapter *a, struct request *q)
{
	struct json_val name = json_obj_get(q->msg.params, "name");
	struct json_val args = json_obj_get(q->msg.params, "arguments");
	struct question *n;

	if (!json_is_string(name) ||
	    (!json_is_missing(args) && !json_is_object(args))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "prompts/get needs params.name, a string, and arguments, "
		    "an object",
		    NULL);
		return;
	}
	n = question_new(a, q);
	if (n == NULL)
		return;
	json_str_copy(name, n->id, sizeof(n->id));
	question_params(n, MSG_TEMPLATE_LIST);
	question_ask(n, get_on_templates);
}
