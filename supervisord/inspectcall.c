/*
 * Handing a client's connection to the process that checks or copies the store.
 * Runs in supervisord: it writes who asked, answers, and has no part in it from
 * then on. Who asks while there is such a process, or before its end is known
 * here, is answered when those before are through.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "launch/launch.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/idle.h"
#include "supervisord/inspectcall.h"
#include "supervisord/link.h"
#include "supervisord/order.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"

#define WAITING_MAX 8

struct waiting {
	struct watch *watch; /* NULL: a free place */
	const struct order_ops *ops;
	uint64_t number; /* the lowest is next */
};

struct inspections {
	struct waiting line[WAITING_MAX];
	uint64_t last;
	const char *closed; /* why there are no more; NULL: there are */
};

struct inspections *
inspections_new(void)
{
	return calloc(1, sizeof(struct inspections));
}

void
inspections_free(struct inspections **in)
{
	free(*in);
	*in = NULL;
}

/* Those who went away have left the line. */
static struct waiting *
line_first(struct inspections *in)
{
	struct waiting *first = NULL;

	for (size_t i = 0; i < WAITING_MAX; i++)
		if (in->line[i].watch != NULL &&
		    (first == NULL || in->line[i].number < first->number))
			first = &in->line[i];
	return first;
}

static enum err_code
line_join(struct inspections *in, struct client *client, uint32_t seq,
    const struct order_ops *ops)
{
	const struct ulid none = { { 0 } };
	struct waiting *place = in->line;

	while (place < in->line + WAITING_MAX && place->watch != NULL)
		place++;
	if (place == in->line + WAITING_MAX)
		return ERR_QUEUE_FULL;
	place->watch = watch_new(WATCH_OTHER, client, NULL, &none, seq);
	if (place->watch == NULL)
		return ERR_INTERNAL;
	place->watch->owner = &place->watch;
	place->ops = ops;
	place->number = ++in->last;
	return ERR_NONE;
}

static void
put_accepted(const struct sup *sup, struct json_writer *json)
{
	json_put_bool(json, "accepted", true);
}

static void
inspection_begin(
    struct client *client, uint32_t seq, const struct order_ops *ops)
{
	client_sup(client)->inspecting = true;
	order_take(client, seq, ops, true, 0);
}

static void
inspection_next(struct sup *sup)
{
	struct waiting *next = line_first(sup->inspections);
	struct client *client;
	uint32_t seq;

	sup->inspecting = false;
	if (next == NULL) {
		idle_look(sup->idle);
		return;
	}
	client = next->watch->client;
	seq = next->watch->seq;
	watch_free(&next->watch);
	inspection_begin(client, seq, next->ops);
}

/* Whose turn it was may have gone. */
static void
hand_over(struct sup *sup, struct client *client, enum launch_inspection what)
{
	int fd = -1;

	if (client == NULL || !client_give_up(client, &fd)) {
		inspection_next(sup);
		return;
	}
	log_info("%s the store, as uid %u wants",
	    what == LAUNCH_INSPECT_CHECK ? "checking" : "copying",
	    (unsigned)client_uid(client));
	link_inspect(sup->link, what, &fd);
}

static void
hand_over_to_check(struct sup *sup, struct client *client)
{
	hand_over(sup, client, LAUNCH_INSPECT_CHECK);
}

static void
hand_over_to_copy(struct sup *sup, struct client *client)
{
	hand_over(sup, client, LAUNCH_INSPECT_BACKUP);
}

static void
inspection_ask(struct client *client, uint32_t seq, const struct order_ops *ops)
{
	struct sup *sup = client_sup(client);
	enum err_code code;

	if (sup->inspections->closed != NULL) {
		reply_error(client, seq, ERR_SHUTTING_DOWN, NULL,
		    sup->inspections->closed);
		return;
	}
	if (!sup->inspecting) {
		inspection_begin(client, seq, ops);
		return;
	}
	code = line_join(sup->inspections, client, seq, ops);
	if (code == ERR_QUEUE_FULL)
		reply_error(client, seq, code, NULL,
		    "too many wait to check or copy the store: ask later");
	else if (code != ERR_NONE)
		reply_error(client, seq, code, NULL, "no memory");
}

void
inspectcall_check(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "store.check", AUDIT_STORE_CHECK,
		NULL, NULL, put_accepted, hand_over_to_check };

	inspection_ask(client, seq, &ops);
}

/* A copy has what no administrator sees otherwise: the cookies of sessions. */
void
inspectcall_backup(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "store.backup",
		AUDIT_STORE_BACKUP, NULL, NULL, put_accepted,
		hand_over_to_copy };
	uid_t uid = client_uid(client);

	if (uid == 0 || uid == geteuid()) {
		inspection_ask(client, seq, &ops);
		return;
	}
	auditlog_tell_client_often(
	    client, AUDIT_ACCESS_REFUSE, NULL, "%s", ops.name);
	reply_error(client, seq, ERR_TRUST_LEVEL_NOT_ALLOWED, NULL,
	    "only root and the user the service runs as may copy all of it");
}

void
inspectcall_over(struct sup *sup)
{
	/* If it was killed, its place among the readers is still taken. */
	store_clear_readers(sup->store);
	inspection_next(sup);
}

void
inspectcall_close(struct sup *sup, const char *why)
{
	struct waiting *w;

	sup->inspections->closed = why;
	while ((w = line_first(sup->inspections)) != NULL) {
		reply_error(w->watch->client, w->watch->seq, ERR_SHUTTING_DOWN,
		    NULL, why);
		watch_free(&w->watch);
	}
}
