/*
 * Runs and artifacts as resources, in the adapter: run://ID is the Run object,
 * artifact://ID the bytes of an artifact. The list has the newest runs, each
 * followed by its artifacts, some runs to a page.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "mcp/question.h"
#include "model/mime.h"

#define RUN_SCHEME      "run://"
#define ARTIFACT_SCHEME "artifact://"
#define PAGE_RUNS       10
#define LIST_TTL_MS     1000 /* a run may begin at any time */
#define TEMPLATE_TTL_MS 3600000
#define ARTIFACT_TTL_MS 60000 /* its bytes never change, but it may expire */
#define RUN_TTL_MS      0
#define READ_BYTES_MAX  1048576
/* A multiple of three, so that pieces in base64 can be joined. */
#define PIECE_BYTES   262143
#define RUN_BYTES_MAX 262144

static void
write_cache(const struct reply *r, struct json_writer *w, int64_t ttl_ms)
{
	if (r->rev->era != ERA_MODERN)
		return;
	json_put_int64(w, "ttlMs", ttl_ms);
	json_put_str(w, "cacheScope", "private");
}

static bool
is_true(struct json_val v)
{
	bool value;

	return json_get_bool(v, &value) && value;
}

/* resources/templates/list */

void
resources_templates(struct adapter *a, struct request *q)
{
	static const struct {
		const char *uri, *name, *title, *description;
	} rows[] = {
		{ RUN_SCHEME "{runId}", "run", "Run",
		    "State, progress and result of a run, as get_task_run" },
		{ ARTIFACT_SCHEME "{artifactId}", "artifact", "Artifact",
		    "What a run produced; one above 1 MiB is read by the tool "
		    "get_artifact" },
	};
	struct reply_text t;

	reply_begin(&q->reply, &t);
	json_write_key(&t.w, "resourceTemplates");
	json_write_begin_array(&t.w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_write_begin_object(&t.w);
		json_put_str(&t.w, "uriTemplate", rows[i].uri);
		json_put_str(&t.w, "name", rows[i].name);
		if ((q->reply.rev->features & REV_STRUCTURED) != 0)
			json_put_str(&t.w, "title", rows[i].title);
		json_put_str(&t.w, "description", rows[i].description);
		json_write_end_object(&t.w);
	}
	json_write_end_array(&t.w);
	write_cache(&q->reply, &t.w, TEMPLATE_TTL_MS);
	reply_send(&q->reply, &t);
}

/* resources/list */

static void
list_row(struct question *n, const char *scheme, struct json_val id,
    const char *name, const char *description, const char *mime,
    struct json_val size)
{
	char text[IPC_ID_MAX + 1] = "", uri[IPC_ID_MAX + 16];
	struct json_writer w;

	json_str_copy(id, text, sizeof(text));
	snprintf(uri, sizeof(uri), "%s%s", scheme, text);
	if (n->text.len > 0)
		buf_add_str(&n->text, ",");
	json_writer_init(&w, &n->text);
	json_write_begin_object(&w);
	json_put_str(&w, "uri", uri);
	json_put_str(&w, "name", name[0] == '\0' ? text : name);
	json_put_str(&w, "description", description);
	json_put_str(&w, "mimeType", mime);
	if ((n->reply.rev->features & REV_STRUCTURED) != 0 &&
	    !json_is_missing(size))
		json_put_val(&w, "size", size);
	json_write_end_object(&w);
	json_writer_finish(&w);
}

static void
list_run(struct question *n, struct json_val run)
{
	char template[IPC_ID_MAX + 1] = "", status[32] = "", text[128];
	struct json_val none = json_obj_get(run, "");

	json_str_copy(
	    json_obj_get(run, "templateId"), template, sizeof(template));
	json_str_copy(json_obj_get(run, "status"), status, sizeof(status));
	snprintf(text, sizeof(text), "%s, %s", template, status);
	list_row(n, RUN_SCHEME, json_obj_get(run, "runId"), "", text,
	    "application/json", none);
}

static void
list_artifact(struct question *n, struct json_val row)
{
	char name[160] = "", kind[32] = "", mime[128] = "";

	json_str_copy(json_obj_get(row, "name"), name, sizeof(name));
	json_str_copy(json_obj_get(row, "kind"), kind, sizeof(kind));
	json_str_copy(json_obj_get(row, "mimeType"), mime, sizeof(mime));
	list_row(n, ARTIFACT_SCHEME, json_obj_get(row, "artifactId"), name,
	    kind, mime, json_obj_get(row, "totalSize"));
}

static void
list_answer(struct question *n)
{
	struct json_val next = json_obj_get(json_root(n->kept), "nextCursor");
	struct reply_text t;

	reply_begin(&n->reply, &t);
	json_write_key(&t.w, "resources");
	json_write_begin_array(&t.w);
	if (n->text.len > 0)
		json_write_raw(&t.w, n->text.data, n->text.len);
	json_write_end_array(&t.w);
	if (json_is_string(next))
		json_put_val(&t.w, "nextCursor", next);
	write_cache(&n->reply, &t.w, LIST_TTL_MS);
	question_send(n, &t);
}

static void list_next(struct question *);

static void
list_on_artifacts(struct question *n, struct json_val answer)
{
	struct json_iter it;

	for (it = json_iter(json_obj_get(answer, "artifacts"));
	     json_iter_next(&it);)
		if (!is_true(json_obj_get(it.val, "expired")))
			list_artifact(n, it.val);
	list_next(n);
}

/* Its record has expired since it was listed. */
static void
list_on_gone(struct question *n)
{
	n->text.len = n->done;
	list_next(n);
}

/* The next run of the page, and the question for its artifacts. */
static void
list_next(struct question *n)
{
	struct json_val runs = json_obj_get(json_root(n->kept), "runs");
	struct json_val run = json_arr_get(runs, n->index++);

	if (json_is_missing(run) ||
	    !json_str_copy(json_obj_get(run, "runId"), n->id, sizeof(n->id))) {
		list_answer(n);
		return;
	}
	n->done = n->text.len;
	list_run(n, run);
	ipc_set_str(question_params(n, MSG_ARTIFACT_LIST), F_RUN_ID, n->id);
	question_ask_of_run(n, list_on_artifacts, list_on_gone);
}

static void
list_on_runs(struct question *n, struct json_val answer)
{
	const uint8_t *raw;
	size_t len;

	if (!json_raw(answer, &raw, &len) ||
	    !json_parse(raw, len, NULL, 0, &n->kept, NULL))
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	else
		list_next(n);
}

void
resources_list(struct adapter *a, struct request *q)
{
	struct json_val cursor = json_obj_get(q->msg.params, "cursor");
	struct ipc_params *p;
	struct question *n;

	n = question_new(a, q);
	if (n == NULL)
		return;
	p = question_params(n, MSG_RUN_LIST);
	ipc_set_int(p, F_LIMIT, PAGE_RUNS);
	if (!json_is_missing(cursor)) {
		if (!json_str_copy(cursor, n->id, sizeof(n->id)) ||
		    n->id[0] == '\0') {
			question_refuse(&n, RPC_INVALID_PARAMS,
			    "cursor: not one of an answer");
			return;
		}
		ipc_set_str(p, F_CURSOR, n->id);
	}
	question_ask(n, list_on_runs);
}

/* resources/read */

/* text: else it is base64. */
static void
read_answer(struct question *n, const char *scheme, const char *mime, bool text,
    int64_t ttl_ms)
{
	char uri[IPC_ID_MAX + 16];
	struct reply_text t;

	snprintf(uri, sizeof(uri), "%s%s", scheme, n->id);
	reply_begin(&n->reply, &t);
	json_write_key(&t.w, "contents");
	json_write_begin_array(&t.w);
	json_write_begin_object(&t.w);
	json_put_str(&t.w, "uri", uri);
	json_put_str(&t.w, "mimeType", mime);
	json_put_strn(&t.w, text ? "text" : "blob",
	    n->text.len == 0 ? "" : (const char *)n->text.data, n->text.len);
	json_write_end_object(&t.w);
	json_write_end_array(&t.w);
	write_cache(&n->reply, &t.w, ttl_ms);
	question_send(n, &t);
}

static void read_piece(struct question *);

static void
read_on_piece(struct question *n, struct json_val answer)
{
	int64_t total = 0, length = 0;
	char *data;
	size_t len;
	bool good;

	json_get_int64(json_obj_get(answer, "totalSize"), &total);
	json_get_int64(json_obj_get(answer, "length"), &length);
	if (total > READ_BYTES_MAX) {
		question_refuse(&n, RPC_INVALID_PARAMS,
		    "the artifact is larger than 1 MiB: read it in pieces with "
		    "the tool get_artifact");
		return;
	}
	json_str_copy(
	    json_obj_get(answer, "mimeType"), n->mime, sizeof(n->mime));
	data = json_str_dup(json_obj_get(answer, "data"), &len);
	good = data != NULL && buf_add(&n->text, data, len);
	free(data);
	n->done += (size_t)length;
	if (!good)
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	else if (is_true(json_obj_get(answer, "complete")) || length <= 0)
		read_answer(n, ARTIFACT_SCHEME, n->mime, mime_is_text(n->mime),
		    ARTIFACT_TTL_MS);
	else
		read_piece(n);
}

static void
read_piece(struct question *n)
{
	struct ipc_params *p = question_params(n, MSG_ARTIFACT_GET);

	ipc_set_str(p, F_ARTIFACT_ID, n->id);
	ipc_set_int(p, F_OFFSET, (int64_t)n->done);
	ipc_set_int(p, F_LIMIT, PIECE_BYTES);
	question_ask(n, read_on_piece);
}

static void
read_on_run(struct question *n, struct json_val answer)
{
	const uint8_t *raw;
	size_t len;

	if (!json_raw(answer, &raw, &len) || !buf_add(&n->text, raw, len))
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	else
		read_answer(
		    n, RUN_SCHEME, "application/json", true, RUN_TTL_MS);
}

static void
read_run(struct question *n)
{
	struct ipc_params *p = question_params(n, MSG_RUN_GET);

	ipc_set_str(p, F_RUN_ID, n->id);
	ipc_set_int(p, F_MAX_BYTES, RUN_BYTES_MAX);
	question_ask(n, read_on_run);
}

void
resources_read(struct adapter *a, struct request *q)
{
	static const struct {
		const char *scheme;
		void (*read)(struct question *);
	} kinds[] = {
		{ RUN_SCHEME, read_run },
		{ ARTIFACT_SCHEME, read_piece },
	};
	struct json_val uri = json_obj_get(q->msg.params, "uri");
	char text[IPC_ID_MAX + 16] = "";
	struct question *n;
	size_t len;

	if (!json_is_string(uri)) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "resources/read needs params.uri, a string", NULL);
		return;
	}
	json_str_copy(uri, text, sizeof(text));
	n = question_new(a, q);
	if (n == NULL)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		len = strlen(kinds[i].scheme);
		if (strncmp(text, kinds[i].scheme, len) != 0 ||
		    text[len] == '\0')
			continue;
		strlcpy(n->id, text + len, sizeof(n->id));
		kinds[i].read(n);
		return;
	}
	question_refuse(
	    &n, QUESTION_NOT_FOUND, "resources are run://ID and artifact://ID");
}
