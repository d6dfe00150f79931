/*
 * egress: the connection to egressd, in supervisord. A binding is sent when
 * there is a connection and again when there is a new one, so that only the
 * connections in flight suffer from a restart of egressd. What egressd says is
 * checked like a stranger's: it talks to all the world.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/log.h"
#include "ipc/chan.h"
#include "supervisord/egress.h"

#define BIND_MS     5000 /* egressd is started, or started again, within it */
#define QUEUE_BYTES (8u << 20)

enum binding_state {
	BINDING_ASKED, /* or waits for a connection */
	BINDING_BOUND,
	BINDING_FAILED,
	BINDING_ENDING, /* unbind was sent */
	BINDING_ENDED
};

struct egress_binding {
	LIST_ENTRY(egress_binding) entry;
	struct egress *egress;
	enum binding_state state;
	uint32_t cell_id;
	char run[IPC_ID_MAX + 1];
	enum trust_level trust;
	char *allowed, *forbidden, *kept, *named;
	int64_t max_connections, max_bytes;
	const struct egress_ops *ops;
	void *ctx;
	struct event *timer; /* for the answer */
};

struct egress {
	struct event_base *base;
	struct chan *chan; /* NULL: no connection */
	bool down;         /* and the launcher says there will be none */
	bool expected;     /* cells have no other way to the network */
	LIST_HEAD(, egress_binding) bindings;
};

static void
egress_send(struct egress *e, const struct ipc_params *p)
{
	enum chan_status status;

	if (e->chan == NULL)
		return;
	status = chan_note(e->chan, p);
	if (status == CHAN_FULL || status == CHAN_INVALID)
		log_err("egressd: %s could not be sent: %s",
		    msg_row(p->msg)->name,
		    status == CHAN_FULL ? "it does not read"
					: chan_invalid_reason(e->chan));
}

/* Whole lines, as many as a message holds. */
static void
send_names(struct egress_binding *b)
{
	char hosts[LIMIT_CHUNK_BYTES + 1];
	const char *from = b->named;
	struct ipc_params p;

	while (*from != '\0') {
		size_t len = strlcpy(hosts, from, sizeof(hosts));

		if (len >= sizeof(hosts)) {
			char *end = strrchr(hosts, '\n');

			len = end == NULL ? sizeof(hosts) - 1
					  : (size_t)(end - hosts) + 1;
			hosts[len] = '\0';
		}
		ipc_params_init(&p, MSG_E_NAMES);
		ipc_set_int(&p, F_CELL_ID, b->cell_id);
		ipc_set_str(&p, F_RUN_ID, b->run);
		ipc_set_str(&p, F_HOSTS, hosts);
		egress_send(b->egress, &p);
		from += len;
	}
}

static void
send_bind(struct egress_binding *b)
{
	struct ipc_params p;

	send_names(b);

	ipc_params_init(&p, MSG_E_BIND);
	ipc_set_int(&p, F_CELL_ID, b->cell_id);
	ipc_set_str(&p, F_RUN_ID, b->run);
	ipc_set_str(&p, F_TRUST, trust_level_name(b->trust));
	ipc_set_str(&p, F_ALLOWED, b->allowed);
	ipc_set_str(&p, F_FORBIDDEN, b->forbidden);
	ipc_set_str(&p, F_KEPT, b->kept);
	ipc_set_int(&p, F_MAX_CONNECTIONS, b->max_connections);
	ipc_set_int(&p, F_MAX_BYTES, b->max_bytes);
	egress_send(b->egress, &p);
}

static void
binding_fail(struct egress_binding *b, const char *why)
{
	evtimer_del(b->timer);
	b->state = BINDING_FAILED;
	b->ops->on_failed(b->ctx, why);
}

static void
on_bind_timer(evutil_socket_t fd, short what, void *arg)
{
	struct egress_binding *b = arg;

	if (!b->egress->expected) {
		b->state = BINDING_BOUND;
		b->ops->on_bound(b->ctx);
		return;
	}
	binding_fail(b,
	    b->egress->down
		? "egressd, the way to the network, does not keep running"
		: "egressd, the way to the network, does not answer");
}

/* NULL: the run has ended, or this egressd talks of what it was never told. */
static struct egress_binding *
find_binding(struct egress *e, const struct ipc_params *p)
{
	uint32_t cell = (uint32_t)ipc_int(p, F_CELL_ID, 0);
	const char *run = ipc_str(p, F_RUN_ID);
	struct egress_binding *b;

	LIST_FOREACH(b, &e->bindings, entry)
		if (b->cell_id == cell && strcmp(b->run, run) == 0)
			return b;
	return NULL;
}

static void
take_bound(struct egress_binding *b, const struct ipc_params *p)
{
	const char *why = ipc_str(p, F_MESSAGE);

	if (b->state != BINDING_ASKED)
		return;
	if (!ipc_bool(p, F_SUCCESS, false)) {
		binding_fail(b, why == NULL ? "egressd refuses it" : why);
		return;
	}
	evtimer_del(b->timer);
	b->state = BINDING_BOUND;
	b->ops->on_bound(b->ctx);
}

static void
take_unbound(struct egress_binding *b, const struct ipc_params *p)
{
	const struct egress_sums sums = {
		.connections = ipc_int(p, F_CONNECTIONS, 0),
		.bytes_in = ipc_int(p, F_BYTES_IN, 0),
		.bytes_out = ipc_int(p, F_BYTES_OUT, 0),
		.refused = ipc_int(p, F_REFUSED, 0),
	};

	if (b->state != BINDING_ENDING)
		return;
	b->state = BINDING_ENDED;
	b->ops->on_sums(b->ctx, &sums);
}

static void
take_report(struct egress_binding *b, const struct ipc_params *p)
{
	const char *rule = ipc_str(p, F_RULE);
	struct egress_report r = {
		.host = ipc_str(p, F_HOST),
		.port = (uint16_t)ipc_int(p, F_PORT, 0),
		.address = ipc_str(p, F_ADDRESS),
		.outcome = egress_outcome_find(ipc_str(p, F_OUTCOME)),
		.rule = rule == NULL ? "" : rule,
	};

	if (r.outcome == EGRESS__MAX) {
		log_err("egressd: an outcome that there is not");
		return;
	}
	b->ops->on_report(b->ctx, &r);
}

static void
on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	struct egress_binding *b = find_binding(ctx, &msg->params);

	if (b == NULL)
		return;
	switch (msg->params.msg) {
	case MSG_E_BOUND:
		take_bound(b, &msg->params);
		break;
	case MSG_E_UNBOUND:
		take_unbound(b, &msg->params);
		break;
	case MSG_E_REPORT:
		take_report(b, &msg->params);
		break;
	default:
		break;
	}
}

static void
on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct egress *e = ctx;

	log_warn("egressd: connection: %s", reason);
	chan_free(&e->chan);
}

static const struct chan_ops egress_chan_ops = {
	.on_msg = on_msg,
	.on_closed = on_closed,
};

struct egress *
egress_new(struct event_base *base)
{
	struct egress *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->base = base;
	LIST_INIT(&e->bindings);
	return e;
}

void
egress_free(struct egress **egress)
{
	struct egress *e = *egress;

	if (e == NULL)
		return;
	chan_free(&e->chan);
	free(e);
	*egress = NULL;
}

void
egress_expect(struct egress *e)
{
	e->expected = true;
}

bool
egress_take(struct egress *e, int fd)
{
	struct egress_binding *b;

	e->down = false;
	e->expected = true;
	chan_free(&e->chan);
	e->chan = chan_new(e->base, fd, IPC_FROM_EGRESSD, &egress_chan_ops, e);
	if (e->chan == NULL)
		return false;
	chan_set_phase(e->chan, PEER_READY);
	chan_set_queue_limit(e->chan, QUEUE_BYTES);
	LIST_FOREACH(b, &e->bindings, entry)
		if (b->state == BINDING_ASKED || b->state == BINDING_BOUND)
			send_bind(b);
	return true;
}

void
egress_lost(struct egress *e)
{
	struct timeval now = { 0 };
	struct egress_binding *b;

	e->down = true;
	e->expected = true;
	chan_free(&e->chan);
	LIST_FOREACH(b, &e->bindings, entry)
		if (b->state == BINDING_ASKED)
			evtimer_add(b->timer, &now);
}

static void
binding_free(struct egress_binding *b)
{
	if (b->timer != NULL)
		event_free(b->timer);
	free(b->allowed);
	free(b->forbidden);
	free(b->kept);
	free(b->named);
	free(b);
}

struct egress_binding *
egress_bind(struct egress *e, uint32_t cell_id, const char *run,
    const struct egress_rules *rules, const struct egress_ops *ops, void *ctx)
{
	struct egress_binding *b = calloc(1, sizeof(*b));
	struct timeval tv = { 0 };

	if (b == NULL)
		return NULL;
	b->egress = e;
	b->cell_id = cell_id;
	strlcpy(b->run, run, sizeof(b->run));
	b->trust = rules->trust;
	b->allowed = strdup(rules->allowed);
	b->forbidden = strdup(rules->forbidden);
	b->kept = strdup(rules->kept);
	b->named = strdup(rules->named);
	b->max_connections = rules->max_connections;
	b->max_bytes = rules->max_bytes;
	b->ops = ops;
	b->ctx = ctx;
	b->timer = evtimer_new(e->base, on_bind_timer, b);
	if (b->allowed == NULL || b->forbidden == NULL || b->kept == NULL ||
	    b->named == NULL || b->timer == NULL) {
		binding_free(b);
		return NULL;
	}
	LIST_INSERT_HEAD(&e->bindings, b, entry);
	if (e->expected && !e->down)
		tv.tv_sec = BIND_MS / 1000;
	evtimer_add(b->timer, &tv);
	send_bind(b);
	return b;
}

void
egress_unbind(struct egress_binding *b)
{
	struct ipc_params p;

	if (b->state == BINDING_ENDING || b->state == BINDING_ENDED)
		return;
	evtimer_del(b->timer);
	b->state = BINDING_ENDING;
	ipc_params_init(&p, MSG_E_UNBIND);
	ipc_set_int(&p, F_CELL_ID, b->cell_id);
	ipc_set_str(&p, F_RUN_ID, b->run);
	egress_send(b->egress, &p);
}

void
egress_release(struct egress_binding **binding)
{
	struct egress_binding *b = *binding;

	if (b == NULL)
		return;
	egress_unbind(b);
	LIST_REMOVE(b, entry);
	binding_free(b);
	*binding = NULL;
}
