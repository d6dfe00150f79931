/*
 * relay: two sockets and what is on its way between them. Runs in egressd. All
 * relays read into one buffer; only what the other side did not take at once is
 * kept, so that an idle connection holds no memory for its bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "egressd/relay.h"

#define CHUNK_BYTES 65536

/* One direction. */
struct flow {
	struct relay *relay;
	int from, to; /* the sockets, owned by the relay */
	struct event *readable;
	struct event *writable;
	uint8_t *left; /* what did not fit, NULL: nothing */
	size_t left_len, left_at;
	bool inward; /* to the browser */
	bool ended;  /* end of file was passed on */
};

struct relay {
	int browser, site;
	struct flow flows[2];
	struct event *idle;
	struct timeval idle_time;
	bool moved; /* since the timer began */
	const struct relay_ops *ops;
	void *arg;
};

static uint8_t chunk[CHUNK_BYTES];

/* What a page sends without TLS may be a secret that it was given. */
static void
flow_forget(struct flow *f)
{
	if (f->left != NULL)
		explicit_bzero(f->left, f->left_len);
	free(f->left);
	f->left = NULL;
}

static void
flow_close(struct flow *f)
{
	if (f->readable != NULL)
		event_free(f->readable);
	if (f->writable != NULL)
		event_free(f->writable);
	flow_forget(f);
}

static void
relay_close(struct relay *r, bool reset)
{
	const struct linger hard = { 1, 0 };

	flow_close(&r->flows[0]);
	flow_close(&r->flows[1]);
	if (r->idle != NULL)
		event_free(r->idle);
	if (reset) {
		setsockopt(
		    r->browser, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		setsockopt(r->site, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	}
	fd_close(&r->browser);
	fd_close(&r->site);
	free(r);
}

void
relay_free(struct relay **relay)
{
	struct relay *r = *relay;

	*relay = NULL;
	if (r != NULL)
		relay_close(r, true);
}

static void
relay_end(struct relay *r, bool reset)
{
	const struct relay_ops *ops = r->ops;
	void *arg = r->arg;

	relay_close(r, reset);
	ops->ended(arg);
}

/* End of file goes on; the relay is over when both directions are. */
static void
flow_end(struct flow *f)
{
	struct relay *r = f->relay;

	f->ended = true;
	event_del(f->readable);
	shutdown(f->to, SHUT_WR);
	if (r->flows[0].ended && r->flows[1].ended)
		relay_end(r, false);
}

static bool
flow_keep(struct flow *f, const uint8_t *bytes, size_t len)
{
	f->left = malloc(len);
	if (f->left == NULL)
		return false;
	memcpy(f->left, bytes, len);
	f->left_len = len;
	f->left_at = 0;
	event_del(f->readable);
	return event_add(f->writable, NULL) == 0;
}

/* How many bytes went on, -1: the other side is gone. */
static ssize_t
flow_send(const struct flow *f, const uint8_t *bytes, size_t len)
{
	ssize_t n = send(f->to, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
		return 0;
	return n;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *f = arg;
	struct relay *r = f->relay;
	ssize_t n, sent;
	bool good;

	n = recv(f->from, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	r->moved = true;
	if (n == 0) {
		flow_end(f);
		return;
	}
	sent = n == -1 ? -1 : flow_send(f, chunk, (size_t)n);
	good = sent != -1 &&
	    (sent == n || flow_keep(f, chunk + sent, (size_t)(n - sent)));
	if (n > 0)
		explicit_bzero(chunk, (size_t)n);
	if (!good) {
		relay_end(r, true);
		return;
	}
	/* Last: it may end this relay. */
	r->ops->counted(
	    r->arg, f->inward ? (size_t)n : 0, f->inward ? 0 : (size_t)n);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct flow *f = arg;
	struct relay *r = f->relay;
	ssize_t sent =
	    flow_send(f, f->left + f->left_at, f->left_len - f->left_at);

	if (sent == -1) {
		relay_end(r, true);
		return;
	}
	r->moved = true;
	f->left_at += (size_t)sent;
	if (f->left_at < f->left_len)
		return;
	flow_forget(f);
	event_del(f->writable);
	if (event_add(f->readable, NULL) == -1)
		relay_end(r, true);
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct relay *r = arg;

	if (!r->moved) {
		relay_end(r, true);
		return;
	}
	r->moved = false;
	event_add(r->idle, &r->idle_time);
}

static bool
flow_open(struct flow *f, struct relay *r, struct event_base *base, bool inward)
{
	f->relay = r;
	f->inward = inward;
	f->from = inward ? r->site : r->browser;
	f->to = inward ? r->browser : r->site;
	f->readable =
	    event_new(base, f->from, EV_READ | EV_PERSIST, on_readable, f);
	f->writable =
	    event_new(base, f->to, EV_WRITE | EV_PERSIST, on_writable, f);
	return f->readable != NULL && f->writable != NULL &&
	    event_add(f->readable, NULL) == 0;
}

struct relay *
relay_new(struct event_base *base, int browser, int site, int idle_s,
    const struct relay_ops *ops, void *arg)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		close(browser);
		close(site);
		return NULL;
	}
	r->browser = browser;
	r->site = site;
	r->ops = ops;
	r->arg = arg;
	/* Ends between one and two of these after the last byte. */
	r->idle_time.tv_sec = idle_s;
	r->idle = evtimer_new(base, on_idle, r);
	if (r->idle == NULL || event_add(r->idle, &r->idle_time) == -1 ||
	    !flow_open(&r->flows[0], r, base, false) ||
	    !flow_open(&r->flows[1], r, base, true))
		relay_free(&r);
	return r;
}
