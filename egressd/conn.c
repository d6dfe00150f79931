/*
 * conn: a connection of a browser: its request, how long what may take, how it
 * is refused and how it ends. Runs in egressd.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "egressd/conn_int.h"

struct egress *
conn_egress(const struct conn *c)
{
	return c->cell->owner->egress;
}

void
conn_drop(struct conn *c)
{
	struct cell *cell = c->cell;

	MAGIC_CHECK(c, CONN_MAGIC);
	LIST_REMOVE(c, link);
	lookup_cancel(&c->lookup);
	dial_free(&c->dial);
	tunnel_free(&c->tunnel);
	relay_free(&c->relay);
	if (c->io != NULL)
		event_free(c->io);
	if (c->timer != NULL)
		event_free(c->timer);
	fd_close(&c->fd);
	if (c->active)
		cell->nactive--;
	c->magic = 0;
	cell_return_fds(cell, c->nfds);
	free(c);
	cell_conn_ended(cell);
}

struct conn *
conn_next(const struct conn *c)
{
	return LIST_NEXT(c, link);
}

bool
conn_is_to(const struct conn *c, const struct host *h)
{
	return c->socks.host.kind == h->kind &&
	    strcmp(c->socks.host.name, h->name) == 0;
}

bool
conn_send(const struct conn *c, const void *bytes, size_t len)
{
	return send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)len;
}

void
conn_refuse_with(struct conn *c, enum socks_code code)
{
	uint8_t reply[SOCKS_REPLY_BYTES];

	socks_reply(code, reply);
	if (conn_send(c, reply, sizeof(reply)))
		shutdown(c->fd, SHUT_WR);
	conn_drop(c);
}

/* Supervisord hears of it before the browser does. */
void
conn_refuse(struct conn *c, enum egress_outcome outcome,
    const struct domain_address *address, const char *rule)
{
	static const enum socks_code codes[EGRESS__MAX] = {
		[EGRESS_REFUSED] = SOCKS_NOT_ALLOWED,
		[EGRESS_DNS] = SOCKS_UNREACHABLE,
		[EGRESS_CONNECT] = SOCKS_REFUSED,
		[EGRESS_TIMEOUT] = SOCKS_UNREACHABLE,
		[EGRESS_UNREACHABLE] = SOCKS_UNREACHABLE,
		[EGRESS_LIMIT] = SOCKS_FAILED,
		[EGRESS_PROXY] = SOCKS_FAILED,
	};

	cell_report(
	    c->cell, c->socks.host.text, c->socks.port, address, outcome, rule);
	conn_refuse_with(c, codes[outcome]);
}

void
conn_limit_time(struct conn *c, int ms)
{
	const struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(c->timer, &tv);
}

void
conn_bound(struct conn *c)
{
	if (c->state == CONN_WAITING)
		conn_ask(c);
}

/*
 * The browser has closed its end, reset it, or sent what is for the site.
 * libevent tells of a reset as readable and never as closed: who waits for the
 * latter alone would make the loop spin.
 */
static void
on_stirred(evutil_socket_t fd, short what, void *arg)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if ((what & EV_CLOSED) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	    error == 0)
		return;
	conn_drop(arg);
}

/* The request is whole; what follows it is for the site. */
static void
conn_requested(struct conn *c)
{
	struct event_base *base = conn_egress(c)->base;

	event_free(c->io);
	c->io = event_new(base, c->fd, EV_READ | EV_CLOSED | EV_ET | EV_PERSIST,
	    on_stirred, c);
	if (c->io == NULL || event_add(c->io, NULL) == -1) {
		conn_drop(c);
		return;
	}
	if (c->cell->bound) {
		conn_ask(c);
		return;
	}
	c->state = CONN_WAITING;
	conn_limit_time(c, egress_times.bind);
}

static void
conn_took(struct conn *c, size_t n)
{
	switch (socks_took(&c->socks, n)) {
	case SOCKS_MORE:
		return;
	case SOCKS_GREETED:
		if (!conn_send(c, socks_accept, sizeof(socks_accept)))
			conn_drop(c);
		return;
	case SOCKS_REQUEST:
		conn_requested(c);
		return;
	case SOCKS_NOBODY:
		if (conn_send(c, socks_no_method, sizeof(socks_no_method)))
			shutdown(c->fd, SHUT_WR);
		conn_drop(c);
		return;
	case SOCKS_COMMAND:
		conn_refuse_with(c, SOCKS_NO_COMMAND);
		return;
	case SOCKS_FORM:
		conn_refuse_with(c, SOCKS_NO_ADDRESS);
		return;
	case SOCKS_BROKEN:
		conn_drop(c);
		return;
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	ssize_t n;

	MAGIC_CHECK(c, CONN_MAGIC);
	n = recv(c->fd, c->socks.bytes + c->socks.len, socks_wants(&c->socks),
	    MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		conn_drop(c);
	else
		conn_took(c, (size_t)n);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	MAGIC_CHECK(c, CONN_MAGIC);
	if (c->state == CONN_READING) {
		conn_drop(c);
		return;
	}
	if (c->state == CONN_WAITING) {
		conn_refuse_with(c, SOCKS_NOT_ALLOWED);
		return;
	}
	conn_ask_timeout(c);
}

void
conn_start(struct cell *cell, int fd)
{
	struct event_base *base = cell->owner->egress->base;
	struct conn *c = calloc(1, sizeof(*c));
	int on = 1;

	if (c == NULL || !cell_take_fds(cell, 1)) {
		free(c);
		close(fd);
		return;
	}
	c->magic = CONN_MAGIC;
	c->cell = cell;
	c->nfds = 1;
	c->fd = fd;
	socks_init(&c->socks);
	LIST_INSERT_HEAD(&cell->conns, c, link);
	cell->nconns++;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->io = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->timer = evtimer_new(base, on_time, c);
	if (c->io == NULL || c->timer == NULL || event_add(c->io, NULL) == -1) {
		conn_drop(c);
		return;
	}
	conn_limit_time(c, egress_times.handshake);
}
