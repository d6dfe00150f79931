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
#include "mcp/notice.h"
#include "mcp/question.h"
#include "mcp/subs.h"
#include "mcp/tasks.h"
#include "mcp/watch.h"

#define RUN_SCHEME  "run://"
#define URI_MAX     (sizeof(RUN_SCHEME) + IPC_ID_MAX)
#define WATCHES_MAX 256

struct sub {
	TAILQ_ENTRY(sub) entry;
	struct adapter *adapter;
	struct reply reply; /* owed: of a legacy one until it has begun */
	size_t number;
	bool listens;     /* of the modern era */
	bool open;        /* it was told so */
	size_t beginning; /* of its watches */
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

static void
sub_notice(struct notice *n, const struct sub *s, const char *method)
{
	notice_begin(
	    n, method, s->listens ? s->reply.id : NULL, s->reply.id_len);
}

/* Nothing when there are none of that kind. */
static void
sub_write_watches(
    const struct sub *s, struct json_writer *w, const char *name, bool tasks)
{
	const struct watch *watch;
	char uri[URI_MAX];
	bool any = false;

	TAILQ_FOREACH(watch, &s->watches, entry) {
		if (watch->task != tasks)
			continue;
		if (!any) {
			json_write_key(w, name);
			json_write_begin_array(w);
		}
		any = true;
		uri_of(watch, uri);
		json_write_str(w, tasks ? watch->run_id : uri);
	}
	if (any)
		json_write_end_array(w);
}

static void
sub_acknowledge(struct sub *s)
{
	struct notice n;

	sub_notice(&n, s, "notifications/subscriptions/acknowledged");
	json_write_key(&n.w, "notifications");
	json_write_begin_object(&n.w);
	sub_write_watches(s, &n.w, "resourceSubscriptions", false);
	sub_write_watches(s, &n.w, "taskIds", true);
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

/* Of tasks that have ended there is no change to come. */
static void
sub_tell_ended(const struct sub *s)
{
	const struct watch *w;

	TAILQ_FOREACH(w, &s->watches, entry)
		if (w->task && w->over)
			tasks_tell(s->adapter, s->number, w->run_id);
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
		sub_tell_ended(s);
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
	if (s->open && w->task) {
		tasks_tell(s->adapter, s->number, w->run_id);
	} else if (s->open) {
		uri_of(w, uri);
		sub_notice(&n, s, "notifications/resources/updated");
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
	s->number = ++a->nsubs;
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
sub_add(struct sub *s, const char *run_id, bool task)
{
	struct adapter *a = s->adapter;
	struct watch *w;

	TAILQ_FOREACH(w, &s->watches, entry)
		if (w->task == task && strcmp(w->run_id, run_id) == 0)
			return true;
	if (a->nwatches >= WATCHES_MAX)
		return false;
	w = watch_new(a, run_id, on_began, on_changed, s);
	if (w == NULL)
		return false;
	w->task = task;
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
	if (s != NULL && !sub_add(s, id, false))
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
	if (!json_is_missing(tasks) &&
	    !tasks_declared(q->reply.rev, q->msg.params)) {
		tasks_refuse(&q->reply);
		return false;
	}
	if (!json_is_object(wanted) ||
	    (!json_is_missing(uris) && !json_is_array(uris)) ||
	    (!json_is_missing(tasks) && !json_is_array(tasks))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "params.notifications must be an object, and its members "
		    "resourceSubscriptions and taskIds arrays",
		    NULL);
		return false;
	}
	return true;
}

/* What is no run's is left out. False: there are too many. */
static bool
listen_add(struct sub *s, struct json_val list, bool tasks)
{
	char id[IPC_ID_MAX + 1];
	struct json_iter it;

	for (it = json_iter(list); json_iter_next(&it);) {
		if (tasks ? !json_str_copy(it.val, id, sizeof(id)) ||
			    id[0] == '\0'
			  : !run_of(it.val, id))
			continue;
		if (!sub_add(s, id, tasks))
			return false;
	}
	return true;
}

void
subscriptions_listen(struct adapter *a, struct request *q)
{
	struct json_val wanted = json_obj_get(q->msg.params, "notifications");
	struct sub *s;

	if (!listen_check(q, wanted))
		return;
	s = sub_new(a, q);
	if (s == NULL)
		return;
	if (!listen_add(
		s, json_obj_get(wanted, "resourceSubscriptions"), false) ||
	    !listen_add(s, json_obj_get(wanted, "taskIds"), true))
		sub_refuse(&s);
	else if (s->beginning == 0)
		sub_open(&s);
}

bool
subs_id(
    struct adapter *a, size_t number, const uint8_t **ret_id, size_t *ret_len)
{
	const struct sub *s;

	TAILQ_FOREACH(s, &a->subs, entry) {
		if (s->number != number || !s->listens)
			continue;
		*ret_id = s->reply.id;
		*ret_len = s->reply.id_len;
		return true;
	}
	return false;
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
