/*
 * Questions to the service, in the adapter. An error of the service becomes an
 * error of the protocol here, with the service's own as its data.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/question.h"
#include "mcp/watch.h"

#define QUESTIONS_MAX   1024
#define TEXT_BYTES_MAX  (3u << 20)
#define ERROR_BYTES_MAX 1024

struct question *
question_new(struct adapter *a, struct request *q)
{
	struct question *n = NULL;

	if (a->nquestions < QUESTIONS_MAX)
		n = calloc(1, sizeof(*n));
	if (n == NULL && q->reply.adapter != NULL)
		reply_error(&q->reply, RPC_INTERNAL_ERROR,
		    "too many requests of this client are not answered yet",
		    NULL);
	if (n == NULL)
		return NULL;
	n->adapter = a;
	n->reply = q->reply;
	n->msg = q->msg;
	memset(&q->reply, 0, sizeof(q->reply));
	memset(&q->msg, 0, sizeof(q->msg));
	buf_init(&n->text, TEXT_BYTES_MAX);
	TAILQ_INSERT_TAIL(&a->questions, n, entry);
	a->nquestions++;
	return n;
}

void
question_free(struct question **question)
{
	struct question *n = *question;
	struct adapter *a = n->adapter;

	*question = NULL;
	TAILQ_REMOVE(&a->questions, n, entry);
	a->nquestions--;
	link_drop(a->link, &n->req);
	if (n->watch != NULL)
		watch_free(&n->watch);
	reply_drop(&n->reply);
	rpc_clear(&n->msg);
	json_doc_free(&n->kept);
	buf_clear(&n->text);
	free(n);
	adapter_settle(a);
}

struct ipc_params *
question_params(struct question *n, enum msg_id msg)
{
	ipc_params_init(&n->req.params, msg);
	return &n->req.params;
}

void
question_refuse(
    struct question **question, enum rpc_code code, const char *message)
{
	struct question *n = *question;

	if (n->reply.adapter != NULL) {
		if (code == QUESTION_NOT_FOUND &&
		    n->reply.rev->era == ERA_MODERN)
			code = RPC_INVALID_PARAMS;
		reply_error(&n->reply, code, message, NULL);
	}
	question_free(question);
}

void
question_send(struct question *n, struct reply_text *t)
{
	if (reply_send(&n->reply, t))
		question_free(&n);
	else
		question_refuse(
		    &n, RPC_INTERNAL_ERROR, "the answer is longer than 4 MiB");
}

void
question_error(struct reply *r, const char *json, size_t len)
{
	char message[ERROR_BYTES_MAX] = "the service's error is no JSON";
	enum rpc_code code = RPC_INTERNAL_ERROR;
	struct json_doc *doc = NULL;
	struct json_val what;

	if (json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		what = json_obj_get(json_root(doc), "errorCode");
		json_str_copy(json_obj_get(json_root(doc), "message"), message,
		    sizeof(message));
		if (json_str_eq(what, "RUN_NOT_FOUND") ||
		    json_str_eq(what, "ARTIFACT_NOT_FOUND") ||
		    json_str_eq(what, "ARTIFACT_EXPIRED"))
			code = r->rev->era == ERA_MODERN
			    ? RPC_INVALID_PARAMS
			    : RPC_RESOURCE_NOT_FOUND;
		else if (json_str_eq(what, "INVALID_PARAMETER"))
			code = RPC_INVALID_PARAMS;
	}
	reply_error(r, code, message, doc == NULL ? NULL : json);
	json_doc_free(&doc);
}

static bool
error_is(const char *json, size_t len, const char *code)
{
	struct json_doc *doc = NULL;
	bool is = json_parse((const uint8_t *)json, len, NULL, JSON_BORROW,
		      &doc, NULL) &&
	    json_str_eq(json_obj_get(json_root(doc), "errorCode"), code);

	json_doc_free(&doc);
	return is;
}

static void
on_answer(struct link_req *r, bool good, const char *json, size_t len)
{
	struct question *n =
	    (struct question *)((char *)r - offsetof(struct question, req));
	struct json_doc *doc;

	if (!good && n->gone != NULL && error_is(json, len, "RUN_NOT_FOUND")) {
		n->gone(n);
		return;
	}
	if (!good) {
		if (n->reply.adapter != NULL)
			question_error(&n->reply, json, len);
		question_free(&n);
		return;
	}
	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		question_refuse(
		    &n, RPC_INTERNAL_ERROR, "the service's answer is no JSON");
		return;
	}
	n->answered(n, json_root(doc));
	json_doc_free(&doc);
}

void
question_ask_of_run(
    struct question *n, question_fn *answered, void (*gone)(struct question *))
{
	n->answered = answered;
	n->gone = gone;
	n->req.done = on_answer;
	link_send(n->adapter->link, &n->req);
}

void
question_ask(struct question *n, question_fn *answered)
{
	question_ask_of_run(n, answered, NULL);
}

void
questions_cancel(struct adapter *a, const uint8_t *id, size_t len)
{
	struct question *n, *next;

	TAILQ_FOREACH_SAFE(n, &a->questions, entry, next)
		if (n->reply.id_len == len && memcmp(n->reply.id, id, len) == 0)
			question_free(&n);
}

void
questions_drop_all(struct adapter *a)
{
	struct question *n, *next;

	TAILQ_FOREACH_SAFE(n, &a->questions, entry, next)
		question_free(&n);
}
