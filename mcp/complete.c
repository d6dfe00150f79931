/*
 * Completions, in the adapter: ids of runs and artifacts for the resource
 * templates, values of lists for the arguments of prompts. What has been typed
 * is the beginning of what is offered.
 */
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "mcp/question.h"

#define VALUES_MAX 100 /* the protocol allows no more */
#define RUNS       200
#define VALUE_MAX  128

struct completion {
	struct reply_text t;
	char typed[VALUE_MAX];
	int count, total;
};

static void
completion_begin(struct completion *c, const struct question *n)
{
	struct json_val typed =
	    json_obj_get(json_obj_get(n->msg.params, "argument"), "value");

	memset(c, 0, sizeof(*c));
	json_str_copy(typed, c->typed, sizeof(c->typed));
	reply_begin(&n->reply, &c->t);
	json_write_key(&c->t.w, "completion");
	json_write_begin_object(&c->t.w);
	json_write_key(&c->t.w, "values");
	json_write_begin_array(&c->t.w);
}

static void
completion_offer(struct completion *c, struct json_val value)
{
	char text[VALUE_MAX];

	if (!json_str_copy(value, text, sizeof(text)) ||
	    strncmp(text, c->typed, strlen(c->typed)) != 0)
		return;
	c->total++;
	if (c->count >= VALUES_MAX)
		return;
	c->count++;
	json_write_str(&c->t.w, text);
}

static void
completion_end(struct completion *c, struct question *n)
{
	json_write_end_array(&c->t.w);
	json_put_int64(&c->t.w, "total", c->total);
	json_put_bool(&c->t.w, "hasMore", c->total > c->count);
	json_write_end_object(&c->t.w);
	question_send(n, &c->t);
}

/* run://{runId} */
static void
offer_runs(struct question *n, struct json_val answer)
{
	struct completion c;
	struct json_iter it;

	completion_begin(&c, n);
	for (it = json_iter(json_obj_get(answer, "runs")); json_iter_next(&it);)
		completion_offer(&c, json_obj_get(it.val, "runId"));
	completion_end(&c, n);
}

/* artifact://{artifactId}: those of the newest run that has some. */
static void
offer_artifacts(struct question *n, struct json_val answer)
{
	struct completion c;
	struct json_iter it;

	completion_begin(&c, n);
	for (it = json_iter(json_obj_get(answer, "artifacts"));
	     json_iter_next(&it);)
		completion_offer(&c, json_obj_get(it.val, "artifactId"));
	completion_end(&c, n);
}

static void
ask_artifacts(struct question *n, struct json_val answer)
{
	struct json_val run = json_arr_get(json_obj_get(answer, "runs"), 0);
	struct completion c;

	if (!json_str_copy(json_obj_get(run, "runId"), n->id, sizeof(n->id))) {
		completion_begin(&c, n);
		completion_end(&c, n);
		return;
	}
	ipc_set_str(question_params(n, MSG_ARTIFACT_LIST), F_RUN_ID, n->id);
	question_ask(n, offer_artifacts);
}

/* The values that the template's schema lists for the argument. */
static void
offer_values(struct question *n, struct json_val answer)
{
	struct json_val params = n->msg.params, property;
	char name[VALUE_MAX] = "", argument[VALUE_MAX] = "";
	struct completion c;
	struct json_iter it, values;

	json_str_copy(json_obj_get(json_obj_get(params, "ref"), "name"), name,
	    sizeof(name));
	json_str_copy(json_obj_get(json_obj_get(params, "argument"), "name"),
	    argument, sizeof(argument));
	completion_begin(&c, n);
	for (it = json_iter(json_obj_get(answer, "templates"));
	     json_iter_next(&it);) {
		if (!json_str_eq(json_obj_get(it.val, "id"), name))
			continue;
		property = json_obj_get(
		    json_obj_get(json_obj_get(it.val, "inputs"), "properties"),
		    argument);
		for (values = json_iter(json_obj_get(property, "enum"));
		     json_iter_next(&values);)
			completion_offer(&c, values.val);
	}
	completion_end(&c, n);
}

static const struct {
	const char *type, *uri; /* of params.ref; NULL: any */
	enum msg_id msg;
	int64_t limit; /* of the list; 0: it has none */
	question_fn *answered;
} sources[] = {
	{ "ref/resource", "run://{runId}", MSG_RUN_LIST, RUNS, offer_runs },
	{ "ref/resource", "artifact://{artifactId}", MSG_RUN_LIST, 1,
	    ask_artifacts },
	{ "ref/prompt", NULL, MSG_TEMPLATE_LIST, 0, offer_values },
};

void
completion_complete(struct adapter *a, struct request *q)
{
	struct json_val ref = json_obj_get(q->msg.params, "ref");
	struct json_val argument = json_obj_get(q->msg.params, "argument");
	struct ipc_params *p;
	struct question *n;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (!json_is_string(json_obj_get(argument, "value")) ||
		    !json_str_eq(json_obj_get(ref, "type"), sources[i].type) ||
		    (sources[i].uri != NULL &&
			!json_str_eq(json_obj_get(ref, "uri"), sources[i].uri)))
			continue;
		n = question_new(a, q);
		if (n == NULL)
			return;
		p = question_params(n, sources[i].msg);
		if (sources[i].limit > 0)
			ipc_set_int(p, F_LIMIT, sources[i].limit);
		question_ask(n, sources[i].answered);
		return;
	}
	reply_error(&q->reply, RPC_INVALID_PARAMS,
	    "completion/complete needs params.argument.value, a string, and a "
	    "params.ref of a prompt or a resource template that is listed",
	    NULL);
}
