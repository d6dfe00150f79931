/*
 * Subscriptions, in the adapter: resources/subscribe and unsubscribe of the
 * legacy era, subscriptions/listen of the modern one. What was asked for is
 * only agreed to when the service knows the run; artifacts never change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "mcp/method.h"
#include "mcp/out.h"
#include "mcp/question.h"
#include "mcp/subs.h"
#include "mcp/tasks.h"
#include "mcp/watch.h"

#define META         "io.modelcontextprotocol/"
#define RUN_SCHEME   "run://"
#define URI_MAX      (sizeof(RUN_SCHEME) + IPC_ID_MAX)
#define WATCHES_MAX  256
#define NOTICE_BYTES (RPC_ID_BYTES_MAX + 65536)

struct sub {
	TAILQ_ENTRY(sub) entry;
	struct adapter *adapter;
	struct reply reply; /* owed: of a legacy one until it has begun */
	bool listens;       /* of the modern era */
	bool open;          /* it was told so */
	size_t beginning;   /* of its watches */
	struct watch_list watches;
};

static void
uri_of(const struct watch *w, char ret[URI_MAX])
{
	snprintf(ret, URI_MAX, RUN_SCHEME "%s", w->run_id);
}

/* False: it is no run's. */
static bool
run_of(struct json_val uri, char ret_id[IPC_ID_MAX + 1])
{
	size_t len = strlen(RUN_SCHEME);
	char text[URI_MAX];

	if (!json_str_copy(uri, text, sizeof(text)) ||
	    strncmp(text, RUN_SCHEME, len) != 0 || text[len] == '\0')
		return false;
	strlcpy(ret_id, text + len, IPC_ID_MAX + 1);
	return true;
}

static void
sub_forget(struct sub *s, struct watch *w)
{
	TAILQ_REMOVE(&s->watches, w, entry);
	s->adapter->nwatches--;
	watch_free(&w);
}

static void
sub_free(struct sub **sub)
{
	struct sub *s = *sub;
	struct adapter *a = s->adapter;
	struct watch *w;

	*sub = NULL;
	TAILQ_REMOVE(&a->subs, s, entry);
	if (!s->open)
		a->nopening--;
	while ((w = TAILQ_FIRST(&s->watches)) != NULL)
		sub_forget(s, w);
	reply_drop(&s->reply);
	free(s);
	adapter_settle(a);
}

/* Notifications. */

struct notice {
	struct buf buf;
	struct json_writer w;
};

/* Its params are open. */
static void
notice_begin(struct notice *n, const struct sub *s, const char *method)
{
	buf_init(&n->buf, NOTICE_BYTES);
	json_writer_init(&n->w, &n->buf);
	json_write_begin_object(&n->w);
	json_put_str(&n->w, "jsonrpc", "2.0");
	json_put_str(&n->w, "method", method);
	json_write_key(&n->w, "params");
	json_write_begin_object(&n->w);
	if (!s->listens)
		return;
	json_write_key(&n->w, "_meta");
	json_write_begin_object(&n->w);
	json_put_raw(
	    &n->w, META "subscriptionId", s->reply.id, s->reply.id_len);
	json_write_end_object(&n->w);
}

static void
notice_send(struct notice *n, struct adapter *a)
{
	json_write_end_object(&n->w);
	json_write_end_object(&n->w);
	if (json_writer_finish(&n->w))
		out_line(a->out, n->buf.data, n->buf.len);
	buf_clear(&n->buf);
}

static void
sub_acknowledge(struct sub *s)
{
	struct notice n;
	char uri[URI_MAX];
	struct watch *w;

	notice_begin(&n, s, "notifications/subscriptions/acknowledged");
	json_write_key(&n.w, "notifications");
	json_write_begin_object(&n.w);
	if (!TAILQ_EMPTY(&s->watches)) {
		json_write_key(&n.w, "resourceSubscriptions");
		json_write_begin_array(&n.w);
		TAILQ_FOREACH(w, &s->watches, entry) {
			uri_of(w, uri);
			json_write_str(&n.w, uri);
		}
		json_write_end_array(&n.w);
	}
	json_write_end_object(&n.w);
	notice_send(&n, s->adapter);
}

/* Watches. */

/* A list stays without any; a single subscription does not. */
static void
sub_forget_over(struct sub **sub)
{
	struct watch *w, *next;
	struct sub *s = *sub;

	TAILQ_FOREACH_SAFE(w, &s->watches, entry, next)
		if (w->over)
			sub_forget(s, w);
	if (!s->listens && TAILQ_EMPTY(&s->watches))
		sub_free(sub);
}

/* All watches have begun; frees what has nothing to wait for. */
static void
sub_open(struct sub **sub)
{
	struct sub *s = *sub;
	struct adapter *a = s->adapter;
	struct reply_text t;

	s->open = true;
	a->nopening--;
	if (s->listens) {
		sub_acknowledge(s);
	} else {
		reply_begin(&s->reply, &t);
		reply_send(&s->reply, &t);
	}
	sub_forget_over(sub);
	adapter_settle(a);
}

static void
on_began(struct watch *w, bool good, const char *error, size_t len)
{
	struct sub *s = w->ctx;

	s->beginning--;
	if (!good && !s->listens) {
		question_error(&s->reply, error, len);
		sub_free(&s);
		return;
	}
	if (!good)
		sub_forget(s, w);
	if (s->beginning == 0)
		sub_open(&s);
}

static void
on_changed(struct watch *w, bool last)
{
	struct sub *s = w->ctx;
	char uri[URI_MAX];
	struct notice n;

	/* Others of the list have not begun yet: the client reads later. */
	if (s->open) {
		uri_of(w, uri);
		notice_begin(&n, s, "notifications/resources/updated");
		json_put_str(&n.w, "uri", uri);
		notice_send(&n, s->adapter);
	}
	if (last && s->open)
		sub_forget_over(&s);
}

static struct sub *
sub_new(struct adapter *a, struct request *q)
{
	struct sub *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		reply_error(&q->reply, RPC_INTERNAL_ERROR, "no memory", NULL);
		return NULL;
	}
	s->adapter = a;
	s->reply = q->reply;
	memset(&q->reply, 0, sizeof(q->reply));
	s->listens = s->reply.rev->era == ERA_MODERN;
	TAILQ_INIT(&s->watches);
	TAILQ_INSERT_TAIL(&a->subs, s, entry);
	a->nopening++;
	return s;
}

/* False: there are too many. One that is there already is not added. */
static bool
sub_add(struct sub *s, const char *run_id)
{
	struct adapter *a = s->adapter;
	struct watch *w;

	TAILQ_FOREACH(w, &s->watches, entry)
		if (strcmp(w->run_id, run_id) == 0)
			return true;
	if (a->nwatches >= WATCHES_MAX)
		return false;
	w = watch_new(a, run_id, on_began, on_changed, s);
	if (w == NULL)
		return false;
	TAILQ_INSERT_TAIL(&s->watches, w, entry);
	a->nwatches++;
	s->beginning++;
	return true;
}

static void
sub_refuse(struct sub **sub)
{
	reply_error(&(*sub)->reply, RPC_INTERNAL_ERROR,
	    "256 runs are subscribed to already", NULL);
	sub_free(sub);
}

/* The legacy era. */

static bool
subscription_run(struct request *q, char ret_id[IPC_ID_MAX + 1])
{
	if (run_of(json_obj_get(q->msg.params, "uri"), ret_id))
		return true;
	reply_error(&q->reply, RPC_INVALID_PARAMS,
	    "params.uri must be run://ID: other resources never change", NULL);
	return false;
}

static struct sub *
subs_find(struct adapter *a, const char *run_id)
{
	struct sub *s;

	TAILQ_FOREACH(s, &a->subs, entry)
		if (!s->listens &&
		    strcmp(TAILQ_FIRST(&s->watches)->run_id, run_id) == 0)
			return s;
	return NULL;
}

static void
answer_empty(struct reply *r)
{
	struct reply_text t;

	reply_begin(r, &t);
	reply_send(r, &t);
}

/* One that is just beginning is answered as if it had begun. */
static void
subs_remove(struct adapter *a, const char *run_id)
{
	struct sub *s;

	while ((s = subs_find(a, run_id)) != NULL) {
		if (!s->open)
			answer_empty(&s->reply);
		sub_free(&s);
	}
}

void
resources_subscribe(struct adapter *a, struct request *q)
{
	char id[IPC_ID_MAX + 1];
	struct sub *s;

	if (!subscription_run(q, id))
		return;
	/* The new one takes the place of an older one. */
	subs_remove(a, id);
	s = sub_new(a, q);
	if (s != NULL && !sub_add(s, id))
		sub_refuse(&s);
}

void
resources_unsubscribe(struct adapter *a, struct request *q)
{
	char id[IPC_ID_MAX + 1];

	if (!subscription_run(q, id))
		return;
	subs_remove(a, id);
	answer_empty(&q->reply);
}

/* The modern era. */

/* False: answered. */
static bool
listen_check(struct request *q, struct json_val wanted)
{
	struct json_val uris = json_obj_get(wanted, "resourceSubscriptions");
	struct json_val tasks = json_obj_get(wanted, "taskIds");

	if (q->reply.batch != NULL) {
		reply_error(&q->reply, RPC_INVALID_REQUEST,
		    "subscriptions/listen must not be in a batch", NULL);
		return false;
	}
	if (!json_is_object(wanted) ||
	    (!json_is_missing(uris) && !json_is_array(uris))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "params.notifications must be an object, and its member "
		    "resourceSubscriptions an array",
		    NULL);
		return false;
	}
	if (!json_is_missing(tasks) &&
	    !tasks_declared(q->reply.rev, q->msg.params)) {
		tasks_refuse(&q->reply);
		return false;
	}
	return true;
}

void
subscriptions_listen(struct adapter *a, struct request *q)
{
	struct json_val wanted = json_obj_get(q->msg.params, "notifications");
	char id[IPC_ID_MAX + 1];
	struct json_iter it;
	struct sub *s;

	if (!listen_check(q, wanted))
		return;
	s = sub_new(a, q);
	if (s == NULL)
		return;
	for (it = json_iter(json_obj_get(wanted, "resourceSubscriptions"));
	     json_iter_next(&it);)
		if (run_of(it.val, id) && !sub_add(s, id)) {
			sub_refuse(&s);
			return;
		}
	if (s->beginning == 0)
		sub_open(&s);
}

void
subs_cancel(struct adapter *a, const uint8_t *id, size_t len)
{
	struct sub *s, *next;

	TAILQ_FOREACH_SAFE(s, &a->subs, entry, next)
		if (s->reply.id_len == len && memcmp(s->reply.id, id, len) == 0)
			sub_free(&s);
}

static void
sub_end(struct sub *s)
{
	struct reply_text t;

	reply_begin_ended(&s->reply, &t);
	reply_send(&s->reply, &t);
	sub_free(&s);
}

void
subs_end(struct adapter *a)
{
	struct sub *s, *next;

	TAILQ_FOREACH_SAFE(s, &a->subs, entry, next)
		if (s->open && s->listens)
			sub_end(s);
		else if (s->open)
			sub_free(&s);
}

void
subs_drop_all(struct adapter *a)
{
	struct sub *s, *next;

	TAILQ_FOREACH_SAFE(s, &a->subs, entry, next)
		sub_free(&s);
}
