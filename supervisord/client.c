/*
 * Connections of supervisord's clients: accepting them within limits, hello,
 * and one handler per method. Who a client is was told by the kernel before
 * one of its bytes was read.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "common/log.h"
#include "ipc/chan.h"
#include "supervisord/cancel.h"
#include "supervisord/client.h"
#include "supervisord/feed.h"
#include "supervisord/query.h"
#include "supervisord/readart.h"
#include "supervisord/reply.h"
#include "supervisord/submit.h"
#include "supervisord/sup.h"

#define LISTEN_BACKLOG  256
#define ACCEPT_PAUSE_MS 250
#define QUEUE_BYTES_MIN (REPLY_BYTES_MAX + 65536)

struct client {
	TAILQ_ENTRY(client) entry;
	struct clients *all;
	struct chan *chan;
	struct watch_list watches;
	uid_t uid;
	bool admin;
	bool doomed;
	char name[65];
};

TAILQ_HEAD(client_list, client);

struct clients {
	struct sup *sup;
	struct evconnlistener *listeners[2]; /* clients, administrators */
	struct event *resume;                /* accepting, after a pause */
	struct event *reap;                  /* frees those that were dropped */
	struct client_list live, doomed;
	size_t count;
	bool paused;
	bool own_uid_only; /* started by an ordinary user */
};

static void
client_free(struct client **client)
{
	struct client *c = *client;
	struct watch *w;

	TAILQ_REMOVE(c->doomed ? &c->all->doomed : &c->all->live, c, entry);
	while ((w = TAILQ_FIRST(&c->watches)) != NULL)
		watch_free(&w);
	chan_free(&c->chan);
	c->all->count--;
	free(c);
	*client = NULL;
}

static void
clients_set_accepting(struct clients *cs, bool accepting)
{
	for (int i = 0; i < 2; i++) {
		if (cs->listeners[i] == NULL)
			continue;
		if (accepting)
			evconnlistener_enable(cs->listeners[i]);
		else
			evconnlistener_disable(cs->listeners[i]);
	}
	cs->paused = !accepting;
}

/* Out of descriptors or of places: the listening queue waits meanwhile. */
static void
clients_pause(struct clients *cs, const char *why)
{
	struct timeval tv = { .tv_usec = ACCEPT_PAUSE_MS * 1000 };

	if (!cs->paused)
		log_warn("clients: accepting none for a while: %s", why);
	clients_set_accepting(cs, false);
	event_add(cs->resume, &tv);
}

static void
clients_on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct clients *cs = arg;

	if (cs->count < (size_t)cs->sup->settings.maxClients)
		clients_set_accepting(cs, true);
}

static void
clients_on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct clients *cs = arg;
	struct client *c;

	while ((c = TAILQ_FIRST(&cs->doomed)) != NULL)
		client_free(&c);
	if (cs->paused)
		clients_on_resume(-1, 0, cs);
}

/* Freed by the loop, since a caller may still hold it. */
static void
client_doom(struct client *c)
{
	TAILQ_REMOVE(&c->all->live, c, entry);
	TAILQ_INSERT_TAIL(&c->all->doomed, c, entry);
	c->doomed = true;
	event_active(c->all->reap, EV_TIMEOUT, 0);
}

void
client_drop(struct client *c, const char *why)
{
	if (c->doomed)
		return;
	log_info(
	    "client %s (uid %u): dropped: %s", c->name, (unsigned)c->uid, why);
	client_doom(c);
}

/* Methods. */

static void
on_hello(struct client *c, uint32_t seq, const struct ipc_params *p)
{
	int64_t proto = ipc_int(p, F_PROTO, -1);
	struct ipc_params answer;
	char why[160];

	if (proto != IPC_PROTO_CLIENT) {
		snprintf(why, sizeof(why),
		    "this service speaks protocol version %d, the client %lld:"
		    " install matching versions",
		    IPC_PROTO_CLIENT, (long long)proto);
		reply_error(c, seq, ERR_INVALID_PARAMETER, NULL, why);
		chan_finish(c->chan);
		return;
	}
	strlcpy(c->name, ipc_str(p, F_CLIENT), sizeof(c->name));
	ipc_params_init(&answer, MSG_HELLO_ANSWER);
	ipc_set_int(&answer, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&answer, F_VERSION, PACKAGE_VERSION);
	ipc_set_str(&answer, F_TRUST, "local");
	ipc_set_bool(&answer, F_ADMIN, c->admin);
	chan_set_phase(c->chan, PEER_READY);
	if (chan_answer(c->chan, seq, &answer) != CHAN_OK)
		client_drop(c, "hello could not be answered");
}

typedef void
method_fn(struct client *, uint32_t seq, const struct ipc_params *);

static method_fn *const methods[MSG__MAX] = {
	[MSG_HELLO] = on_hello,
	[MSG_TEMPLATE_LIST] = query_templates,
	[MSG_RUN_SUBMIT] = submit_run,
	[MSG_RUN_GET] = query_run,
	[MSG_RUN_LIST] = query_runs,
	[MSG_RUN_CANCEL] = cancel_run,
	[MSG_RUN_EVENTS] = feed_poll,
	[MSG_RUN_FOLLOW] = feed_follow,
	[MSG_RUN_UNFOLLOW] = feed_unfollow,
	[MSG_ARTIFACT_GET] = readart_get,
	[MSG_ARTIFACT_LIST] = readart_list,
	[MSG_PROFILE_GET] = query_profile,
};

static void
client_on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	struct client *c = ctx;
	method_fn *fn;

	if (c->doomed || msg->form != IPC_REQUEST)
		return;
	fn = methods[msg->params.msg];
	if (fn != NULL)
		fn(c, msg->seq, &msg->params);
	else
		reply_error(c, msg->seq, ERR_UNKNOWN_METHOD, NULL,
		    "there is no such method");
}

static void
client_on_refused(
    struct chan *chan, const struct ipc_msg *msg, const char *reason, void *ctx)
{
	bool known = msg->params.msg != MSG__MAX;
	struct ulid id;
	bool named = known && msg->params.v[F_RUN_ID].set &&
	    id_parse("run_", ipc_str(&msg->params, F_RUN_ID), &id);

	reply_error(ctx, msg->seq,
	    known ? ERR_INVALID_PARAMETER : ERR_UNKNOWN_METHOD,
	    named ? &id : NULL, reason);
}

static void
client_on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct client *c = ctx;

	log_debug("client %s (uid %u): %s", c->name, (unsigned)c->uid, reason);
	if (!c->doomed)
		client_doom(c);
}

static void
client_on_drained(struct chan *chan, void *ctx)
{
	feed_resume(ctx);
}

static const struct chan_ops client_chan_ops = {
	.on_msg = client_on_msg,
	.on_refused = client_on_refused,
	.on_closed = client_on_closed,
	.on_drained = client_on_drained,
};

/* Accepting. */

/* Never so small that one answer alone would not fit. */
static size_t
clients_queue_limit(const struct clients *cs)
{
	size_t limit = (size_t)cs->sup->settings.clientQueueBytes;

	return limit > QUEUE_BYTES_MIN ? limit : QUEUE_BYTES_MIN;
}

/* As a system service, the socket file's mode has decided already. */
static bool
client_is_welcome(const struct client *c)
{
	return !c->all->own_uid_only || c->uid == geteuid() || c->uid == 0;
}

/* The launcher made the socket: as root, or as the very user we run as. */
static bool
socket_is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == -1 || st.st_uid == geteuid();
}

static void
clients_on_accept(struct evconnlistener *l, evutil_socket_t fd,
    struct sockaddr *sa, int len, void *arg)
{
	struct clients *cs = arg;
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->all = cs;
	c->admin = l == cs->listeners[1];
	strlcpy(c->name, c->admin ? "admin" : "new", sizeof(c->name));
	TAILQ_INIT(&c->watches);
	c->chan = chan_new(cs->sup->base, fd, IPC_IN, &client_chan_ops, c);
	if (c->chan == NULL) {
		log_warn("client: %s", strerror(errno));
		free(c);
		return;
	}
	c->uid = chan_peer(c->chan)->uid;
	chan_set_admin(c->chan, c->admin);
	chan_set_queue_limit(c->chan, clients_queue_limit(cs));
	TAILQ_INSERT_TAIL(&cs->live, c, entry);
	cs->count++;
	if (!client_is_welcome(c))
		client_drop(c, "this uid is not served");
	else if (cs->count >= (size_t)cs->sup->settings.maxClients)
		clients_pause(cs, "maxClients is reached");
}

static void
clients_on_accept_error(struct evconnlistener *l, void *arg)
{
	clients_pause(arg, strerror(errno));
}

struct clients *
clients_new(struct sup *sup)
{
	struct clients *cs = calloc(1, sizeof(*cs));

	if (cs == NULL)
		return NULL;
	cs->sup = sup;
	TAILQ_INIT(&cs->live);
	TAILQ_INIT(&cs->doomed);
	cs->resume = evtimer_new(sup->base, clients_on_resume, cs);
	cs->reap = event_new(sup->base, -1, 0, clients_on_reap, cs);
	if (cs->resume == NULL || cs->reap == NULL)
		clients_free(&cs);
	return cs;
}

int
clients_listen(struct clients *cs, int client_fd, int admin_fd)
{
	const int fds[2] = { client_fd, admin_fd };

	cs->own_uid_only = socket_is_own(client_fd);
	for (int i = 0; i < 2; i++) {
		if (evutil_make_socket_nonblocking(fds[i]) == -1)
			return errno;
		cs->listeners[i] =
		    evconnlistener_new(cs->sup->base, clients_on_accept, cs,
			LEV_OPT_CLOSE_ON_EXEC, LISTEN_BACKLOG, fds[i]);
		if (cs->listeners[i] == NULL)
			return errno == 0 ? ENOMEM : errno;
		evconnlistener_set_error_cb(
		    cs->listeners[i], clients_on_accept_error);
	}
	return 0;
}

void
clients_free(struct clients **clients)
{
	struct clients *cs = *clients;
	struct client *c;

	if (cs == NULL)
		return;
	for (int i = 0; i < 2; i++)
		if (cs->listeners[i] != NULL)
			evconnlistener_free(cs->listeners[i]);
	while ((c = TAILQ_FIRST(&cs->live)) != NULL)
		client_free(&c);
	while ((c = TAILQ_FIRST(&cs->doomed)) != NULL)
		client_free(&c);
	if (cs->resume != NULL)
		event_free(cs->resume);
	if (cs->reap != NULL)
		event_free(cs->reap);
	free(cs);
	*clients = NULL;
}

size_t
clients_count(const struct clients *cs)
{
	return cs->count;
}

/* One client. */

struct sup *
client_sup(const struct client *c)
{
	return c->all->sup;
}

uid_t
client_uid(const struct client *c)
{
	return c->uid;
}

bool
client_is_admin(const struct client *c)
{
	return c->admin;
}

bool
client_may_see(const struct client *c, uint32_t uid)
{
	return c->admin || c->uid == 0 || c->uid == uid;
}

struct watch_list *
client_watches(struct client *c)
{
	return &c->watches;
}

bool
client_has_room(const struct client *c)
{
	return !c->doomed &&
	    chan_queue_bytes(c->chan) < clients_queue_limit(c->all) / 2;
}

static void
client_sent(struct client *c, enum chan_status status)
{
	if (status == CHAN_FULL)
		client_drop(c, "it does not read its answers");
	else if (status == CHAN_INVALID)
		log_err("client %s: a message was not sent: %s", c->name,
		    chan_invalid_reason(c->chan));
}

void
client_send_result(struct client *c, uint32_t seq, const void *json, size_t len)
{
	if (!c->doomed)
		client_sent(c, chan_result(c->chan, seq, json, len));
}

void
client_send_error(struct client *c, uint32_t seq, const void *json, size_t len)
{
	if (!c->doomed)
		client_sent(c, chan_error(c->chan, seq, json, len));
}

void
client_send_note(struct client *c, const struct ipc_params *p)
{
	if (!c->doomed)
		client_sent(c, chan_note(c->chan, p));
}
