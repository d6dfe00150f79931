/*
 * dial: races connections to some addresses (RFC 8305). Runs in egressd. It
 * connects to exactly what it is given.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "egressd/address.h"
#include "egressd/dial.h"

#define STAGGER_MS 250

struct attempt {
	struct dial *dial;
	int fd; /* -1: none */
	struct event *event;
	struct domain_address address;
};

struct dial {
	struct event_base *base;
	const struct dial_ops *ops;
	void *arg;
	uint16_t port;
	struct event *next; /* begins the next attempt, or gives up */
	struct attempt attempts[DIAL_FDS];
	size_t nattempts; /* under way */
	struct domain_address waiting[DIAL_MAX];
	size_t nwaiting;
	size_t nadded;
	bool last_v6; /* family of the attempt begun last */
	bool ended;
	bool tried;
	int error; /* 0: none yet */
	struct domain_address failed;
	struct domain_address trying;
};

static const struct timeval now = { 0, 0 };
static const struct timeval stagger = { 0, STAGGER_MS * 1000 };

static void
attempt_end(struct attempt *t)
{
	if (t->event != NULL)
		event_free(t->event);
	t->event = NULL;
	fd_close(&t->fd);
}

/* What tells most: somebody refused, then silence, then no way there. */
static int
error_rank(int error)
{
	switch (error) {
	case 0:
		return 0;
	case ENETUNREACH:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return 1;
	case ETIMEDOUT:
		return 3;
	case ECONNREFUSED:
	case ECONNRESET:
		return 4;
	default:
		return 2;
	}
}

static void
dial_failed(struct dial *d, const struct domain_address *a, int error)
{
	if (error_rank(error) <= error_rank(d->error))
		return;
	d->error = error;
	d->failed = *a;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *t = arg;
	struct dial *d = t->dial;
	socklen_t len = sizeof(int);
	int error = 0, won;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0) {
		struct domain_address address = t->address;
		const struct dial_ops *ops = d->ops;
		void *ctx = d->arg;

		won = t->fd;
		t->fd = -1;
		dial_free(&d);
		ops->connected(ctx, won, &address);
		return;
	}
	attempt_end(t);
	d->nattempts--;
	dial_failed(d, &t->address, error);
	event_add(d->next, &now);
}

/* The next one to try: of the other family if there is one. */
static struct domain_address
dial_pick(struct dial *d)
{
	bool want_v6 = !d->tried || !d->last_v6;
	struct domain_address a;
	size_t i = 0;

	while (i < d->nwaiting && d->waiting[i].v6 != want_v6)
		i++;
	if (i == d->nwaiting)
		i = 0;
	a = d->waiting[i];
	d->nwaiting--;
	memmove(
	    &d->waiting[i], &d->waiting[i + 1], (d->nwaiting - i) * sizeof(a));
	d->last_v6 = a.v6;
	d->tried = true;
	d->trying = a;
	return a;
}

static int
attempt_open(
    struct attempt *t, const struct sockaddr_storage *to, socklen_t len)
{
	int on = 1;

	t->fd = socket(to->ss_family,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (t->fd == -1)
		return errno;
	setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(t->fd, (const struct sockaddr *)to, len) == -1 &&
	    errno != EINPROGRESS)
		return errno;
	t->event = event_new(t->dial->base, t->fd, EV_WRITE, on_writable, t);
	return t->event == NULL || event_add(t->event, NULL) == -1 ? ENOMEM : 0;
}

static void
dial_begin(struct dial *d)
{
	struct domain_address a = dial_pick(d);
	struct sockaddr_storage to;
	socklen_t len = address_sockaddr(&a, d->port, &to);
	struct attempt *t = d->attempts;
	int error;

	while (t->fd != -1)
		t++;
	t->address = a;
	error = attempt_open(t, &to, len);
	if (error == 0) {
		d->nattempts++;
		event_add(d->next, &stagger);
		return;
	}
	attempt_end(t);
	dial_failed(d, &a, error);
	event_add(d->next, &now);
}

static void
on_next(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;
	const struct dial_ops *ops = d->ops;
	struct domain_address failed;
	void *ctx = d->arg;
	int error;

	if (d->nwaiting > 0) {
		if (d->nattempts < DIAL_FDS)
			dial_begin(d);
		return;
	}
	if (!d->ended || d->nattempts > 0)
		return;
	error = d->error == 0 ? EHOSTUNREACH : d->error;
	failed = d->failed;
	dial_free(&d);
	ops->failed(ctx, error, &failed);
}

struct dial *
dial_new(struct event_base *base, uint16_t port, const struct dial_ops *ops,
    void *arg)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->base = base;
	d->ops = ops;
	d->arg = arg;
	d->port = port;
	for (size_t i = 0; i < DIAL_FDS; i++) {
		d->attempts[i].dial = d;
		d->attempts[i].fd = -1;
	}
	d->next = evtimer_new(base, on_next, d);
	if (d->next == NULL) {
		free(d);
		return NULL;
	}
	return d;
}

void
dial_free(struct dial **dial)
{
	struct dial *d = *dial;

	*dial = NULL;
	if (d == NULL)
		return;
	for (size_t i = 0; i < DIAL_FDS; i++)
		attempt_end(&d->attempts[i]);
	event_free(d->next);
	free(d);
}

void
dial_add(struct dial *d, const struct domain_address *a)
{
	if (d->nadded == DIAL_MAX)
		return;
	d->nadded++;
	d->waiting[d->nwaiting++] = *a;
	/* Others that are under way keep their time. */
	if (!event_pending(d->next, EV_TIMEOUT, NULL))
		event_add(d->next, d->nattempts == 0 ? &now : &stagger);
}

void
dial_end(struct dial *d)
{
	d->ended = true;
	if (d->nattempts == 0)
		event_add(d->next, &now);
}

bool
dial_is_empty(const struct dial *d)
{
	return d->nadded == 0;
}

const struct domain_address *
dial_trying(const struct dial *d)
{
	return d->tried ? &d->trying : NULL;
}
