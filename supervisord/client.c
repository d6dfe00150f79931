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
#define ADMINS_MAX      16 /* of FD_RESERVE in main.c */
#define QUEUE_BYTES_MIN (REPLY_BYTES_MAX + 65536)

/*
 * One of the two sockets. Each has places of its own, so that no crowd of
 * clients keeps an administrator out.
 */
struct door {
	struct clients *all;
	struct evconnlistener *listener;
	struct event *resume; /* accepting, after a pause */
	size_t count, most;   /* clients that came in by it */
	bool paused;
	bool admin;
};

struct client {
	TAILQ_ENTRY(client) entry;
	struct door *door;
	struct chan *chan;
	struct watch_list watches;
	struct event *hello; /* until when it must have come */
	uid_t uid;
	bool doomed;
	char name[65];
};

TAILQ_HEAD(client_list, client);

struct clients {
	struct sup *sup;
	struct door doors[2]; /* clients, administrators */
	struct event *reap;   /* frees those that were dropped */
	struct client_list live, doomed;
	bool own_uid_only; /* started by an ordinary user */
};

static void
client_free(struct client **client)
{
	struct client *c = *client;
	struct clients *cs = c->door->all;
	struct watch *w;

	TAILQ_REMOVE(c->doomed ? &cs->doomed : &cs->live, c, entry);
	while ((w = TAILQ_FIRST(&c->watches)) != NULL)
		watch_free(&w);
	if (c->hello != NULL)
		event_free(c->hello);
	chan_free(&c->chan);
	c->door->count--;
	free(c);
	*client = NULL;
}

/* Out of descriptors or of places: the listening queue waits meanwhile. */
static void
door_pause(struct door *d, const char *why)
{
	struct timeval tv = { .tv_usec = ACCEPT_PAUSE_MS * 1000 };

	if (!d->paused)
		log_warn("%s: accepting none for a while: %s",
		    d->admin ? "administrators" : "clients", why);
	evconnlistener_disable(d->listener);
	d->paused = true;
	event_add(d->resume, &tv);
}

static void
door_on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	if (d->paused && d->count < d->most) {
		evconnlistener_enable(d->listener);
		d->paused = false;
	}
}

static void
clients_on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct clients *cs = arg;
	struct client *c;

	while ((c = TAILQ_FIRST(&cs->doomed)) != NULL)
		client_free(&c);
	for (int i = 0; i < 2; i++)
		door_on_resume(-1, 0, &cs->doors[i]);
}

/* Freed by the loop, since a caller may still hold it. */
static void
client_doom(struct client *c)
{
	struct clients *cs = c->door->all;

	TAILQ_REMOVE(&cs->live, c, entry);
	TAILQ_INSERT_TAIL(&cs->doomed, c, entry);
	c->doomed = true;
	event_active(cs->reap, EV_TIMEOUT, 0);
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
	event_del(c->hello);
	strlcpy(c->name, ipc_str(p, F_CLIENT), sizeof(c->name));
	ipc_params_init(&answer, MSG_HELLO_ANSWER);
	ipc_set_int(&answer, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&answer, F_VERSION, PACKAGE_VERSION);
	ipc_set_str(&answer, F_TRUST, "local");
	ipc_set_bool(&answer, F_ADMIN, c->door->admin);
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
	return !c->door->all->own_uid_only || c->uid == geteuid() ||
	    c->uid == 0;
}

/* The launcher made the socket: as root, or as the very user we run as. */
static bool
socket_is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == -1 || st.st_uid == geteuid();
}

static void
client_on_no_hello(evutil_socket_t fd, short what, void *arg)
{
	client_drop(arg, "it did not say hello");
}

static bool
client_await_hello(struct client *c)
{
	struct sup *sup = c->door->all->sup;
	struct timeval tv = { .tv_sec = sup->settings.helloMs / 1000,
		.tv_usec = sup->settings.helloMs % 1000 * 1000 };

	c->hello = evtimer_new(sup->base, client_on_no_hello, c);
	return c->hello != NULL && event_add(c->hello, &tv) == 0;
}

static void
door_on_accept(struct evconnlistener *l, evutil_socket_t fd,
    struct sockaddr *sa, int len, void *arg)
{
	struct door *d = arg;
	struct clients *cs = d->all;
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return;
	}
	c->door = d;
	strlcpy(c->name, d->admin ? "admin" : "new", sizeof(c->name));
	TAILQ_INIT(&c->watches);
	c->chan = chan_new(cs->sup->base, fd, IPC_IN, &client_chan_ops, c);
	if (c->chan == NULL) {
		log_warn("client: %s", strerror(errno));
		free(c);
		return;
	}
	c->uid = chan_peer(c->chan)->uid;
	chan_set_admin(c->chan, d->admin);
	chan_set_queue_limit(c->chan, clients_queue_limit(cs));
	TAILQ_INSERT_TAIL(&cs->live, c, entry);
	d->count++;
	if (!client_is_welcome(c))
		client_drop(c, "this uid is not served");
	else if (!client_await_hello(c))
		client_drop(c, "no memory");
	else if (d->count >= d->most)
		door_pause(d, "all places are taken");
}

static void
door_on_accept_error(struct evconnlistener *l, void *arg)
{
	door_pause(arg, strerror(errno));
}

struct clients *
clients_new(struct sup *sup)
{
	struct clients *cs = calloc(1, sizeof(*cs));
	bool good;

	if (cs == NULL)
		return NULL;
	cs->sup = sup;
	TAILQ_INIT(&cs->live);
	TAILQ_INIT(&cs->doomed);
	cs->reap = event_new(sup->base, -1, 0, clients_on_reap, cs);
	good = cs->reap != NULL;
	for (int i = 0; i < 2; i++) {
		struct door *d = &cs->doors[i];

		d->all = cs;
		d->admin = i == 1;
		d->most =
		    d->admin ? ADMINS_MAX : (size_t)sup->settings.maxClients;
		d->resume = evtimer_new(sup->base, door_on_resume, d);
		good = good && d->resume != NULL;
	}
	if (!good)
		clients_free(&cs);
	return cs;
}

int
clients_listen(struct clients *cs, int client_fd, int admin_fd)
{
	const int fds[2] = { client_fd, admin_fd };

	cs->own_uid_only = socket_is_own(client_fd);
	for (int i = 0; i < 2; i++) {
		struct door *d = &cs->doors[i];

		if (evutil_make_socket_nonblocking(fds[i]) == -1)
			return errno;
		d->listener = evconnlistener_new(cs->sup->base, door_on_accept,
		    d, LEV_OPT_CLOSE_ON_EXEC, LISTEN_BACKLOG, fds[i]);
		if (d->listener == NULL)
			return errno == 0 ? ENOMEM : errno;
		evconnlistener_set_error_cb(d->listener, door_on_accept_error);
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
	while ((c = TAILQ_FIRST(&cs->live)) != NULL)
		client_free(&c);
	while ((c = TAILQ_FIRST(&cs->doomed)) != NULL)
		client_free(&c);
	for (int i = 0; i < 2; i++) {
		if (cs->doors[i].listener != NULL)
			evconnlistener_free(cs->doors[i].listener);
		if (cs->doors[i].resume != NULL)
			event_free(cs->doors[i].resume);
	}
	if (cs->reap != NULL)
		event_free(cs->reap);
	free(cs);
	*clients = NULL;
}

size_t
clients_count(const struct clients *cs)
{
	return cs->doors[0].count + cs->doors[1].count;
}

/* One client. */

struct sup *
client_sup(const struct client *c)
{
	return c->door->all->sup;
}

uid_t
client_uid(const struct client *c)
{
	return c->uid;
}

bool
client_is_admin(const struct client *c)
{
	return c->door->admin;
}

bool
client_may_see(const struct client *c, uint32_t uid)
{
	return c->door->admin || c->uid == 0 || c->uid == uid;
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
	    chan_queue_bytes(c->chan) < clients_queue_limit(c->door->all) / 2;
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
