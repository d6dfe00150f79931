/*
 * The two sockets of supervisord: accepts clients and administrators within
 * limits, and frees those that are over. Who a client is was told by the kernel
 * before one of its bytes was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "supervisord/auditlog.h"
#include "supervisord/client_int.h"
#include "supervisord/peer.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define LISTEN_BACKLOG   256
#define ACCEPTS_PER_TURN 16 /* then those that are in have their turn */
#define ACCEPT_PAUSE_MS  250
#define OVER_MAX         16   /* waiting to be told that they are too many */
#define OVER_MS          1000 /* for so long at most */
#define OVER_LOG_MS      10000
#define ADMINS_MAX       16 /* of FD_RESERVE in main.c */

/* Out of descriptors or of places: the listening queue waits meanwhile. */
static void
door_pause(struct door *d, const char *why)
{
	struct timeval tv = { .tv_usec = ACCEPT_PAUSE_MS * 1000 };

	if (!d->paused)
		log_warn("%s: accepting none for a while: %s",
		    d->admin ? "administrators" : "clients", why);
	event_del(d->on_ready);
	d->paused = true;
	event_add(d->resume, &tv);
}

static void
door_on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	if (!d->paused || d->count >= d->most)
		return;
	if (event_add(d->on_ready, NULL) == 0)
		d->paused = false;
	else
		door_pause(d, "no memory");
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
	struct client *c = arg;

	if (c->over)
		client_doom(c);
	else
		client_drop(c, "it did not say hello");
}

/* Administrators have places of their own. */
static void
client_count_share(struct client *c)
{
	struct clients *cs = c->door->all;

	if (c->door->admin)
		return;
	c->counted =
	    share_has_room(c->share, &cs->sup->settings, SHARE_CLIENTS, 1);
	share_grow(c->share, SHARE_CLIENTS, c->counted);
	c->over = !c->counted;
	cs->over += c->over;
}

/* A client above its user's share: is there time to tell it? */
static bool
client_may_be_told(const struct client *c)
{
	int64_t now = clock_mono_ms();
	struct share *s = c->share;

	if (s->told_ms == 0 || now - s->told_ms >= OVER_LOG_MS) {
		s->told_ms = now;
		log_warn("uid %u: has its share of %lld connections, more are"
			 " refused",
		    (unsigned)c->uid,
		    (long long)c->door->all->sup->settings.maxClientsPerUid);
	}
	return c->door->all->over <= OVER_MAX;
}

static bool
client_await_hello(struct client *c)
{
	struct sup *sup = c->door->all->sup;
	int64_t ms = sup->settings.helloMs;
	struct timeval tv;

	if (c->over && ms > OVER_MS)
		ms = OVER_MS;
	tv.tv_sec = ms / 1000;
	tv.tv_usec = ms % 1000 * 1000;
	c->hello = evtimer_new(sup->base, client_on_no_hello, c);
	return c->hello != NULL && event_add(c->hello, &tv) == 0;
}

/* Before a byte of theirs is read. */
static bool
door_admits(const struct door *d, int fd)
{
	struct sup *sup = d->all->sup;
	const char *name = d->admin ? "admin" : "client";
	uid_t uid;

	if (peer_welcome(
		fd, d->admin, d->all->own_uid_only, &sup->settings, &uid))
		return true;
	auditlog_tell_often(sup, (int64_t)uid, AUDIT_ACCESS_REFUSE, NULL,
	    "connection to the %s socket", name);
	log_debug("uid %u: not served at the %s socket", (unsigned)uid, name);
	return false;
}

static void
door_let_in(struct door *d, int fd)
{
	struct client *c;

	if (!door_admits(d, fd)) {
		close(fd);
		return;
	}
	c = client_new(d, fd);
	if (c == NULL)
		return;
	client_count_share(c);
	if (!client_await_hello(c))
		client_drop(c, "no memory");
	else if (c->over && !client_may_be_told(c))
		client_doom(c);
	else if (d->count >= d->most)
		door_pause(d, "all places are taken");
}

/* What accept(2) may tell though the next connection is in order. */
static bool
is_of_one(int error)
{
	return error == EINTR || error == ECONNABORTED;
}

/* Who comes in, however many, does not keep those waiting that are in. */
static void
door_on_ready(evutil_socket_t listener, short what, void *arg)
{
	struct door *d = arg;

	for (int i = 0; i < ACCEPTS_PER_TURN && !d->paused; i++) {
		int fd =
		    accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd != -1)
			door_let_in(d, fd);
		else if (errno == EAGAIN)
			return;
		else if (!is_of_one(errno))
			door_pause(d, strerror(errno));
	}
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
		if (listen(fds[i], LISTEN_BACKLOG) == -1)
			return errno;
		d->on_ready = event_new(cs->sup->base, fds[i],
		    EV_READ | EV_PERSIST, door_on_ready, d);
		if (d->on_ready == NULL || event_add(d->on_ready, NULL) == -1)
			return ENOMEM;
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
		if (cs->doors[i].on_ready != NULL)
			event_free(cs->doors[i].on_ready);
		if (cs->doors[i].resume != NULL)
			event_free(cs->doors[i].resume);
	}
	if (cs->reap != NULL)
		event_free(cs->reap);
	free(cs);
	*clients = NULL;
}

/* It may have lost what it came in by, or may see. */
static void
client_recheck(struct client *c)
{
	struct watch *w;

	if (!door_admits(c->door, c->fd)) {
		client_drop(c, "its group may not use the socket any more");
		return;
	}
	TAILQ_FOREACH(w, &c->watches, by_client)
		if (w->task != NULL && !client_may_read(c, w->task->rec.uid)) {
			client_drop(c,
			    "it may not see any more what it waits"
			    " for");
			return;
		}
}

void
clients_reload(struct clients *cs)
{
	struct client *c, *next;

	cs->doors[0].most = (size_t)cs->sup->settings.maxClients;
	TAILQ_FOREACH_SAFE(c, &cs->live, entry, next) {
		client_limit_queue(c);
		client_recheck(c);
	}
	door_on_resume(-1, 0, &cs->doors[0]);
}

void
clients_hold(struct clients *cs, const struct share *share, bool hold)
{
	struct client *c;

	TAILQ_FOREACH(c, &cs->live, entry)
		if (c->share == share)
			chan_hold_reading(c->chan, hold);
}

size_t
clients_count(const struct clients *cs)
{
	return cs->doors[0].count + cs->doors[1].count;
}
