/*
 * pend: delayed and held answers of the demo site. Runs in demosite. evhttp
 * stops reading from a connection whose request is being served and so does
 * not see that the client went away: the descriptor is watched here. Nothing
 * is kept for a client that left.
 */
#include <sys/queue.h>

#include <stdlib.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "site/pend.h"

struct pend {
	TAILQ_ENTRY(pend) link;
	struct pend_list *list;
	struct evhttp_request *req;
	struct event *timer;
	struct event *closed;
	struct evbuffer *body;
	pend_fn *fn;
	void *arg;
};

struct pend_list {
	TAILQ_HEAD(, pend) all;
	struct event_base *base;
	unsigned n;
};

struct pend_list *
pend_new(struct event_base *base)
{
	struct pend_list *pl = calloc(1, sizeof(*pl));

	if (pl == NULL)
		return NULL;
	TAILQ_INIT(&pl->all);
	pl->base = base;
	return pl;
}

/* Forgets the request; the body and the connection are not touched. */
static void
pend_drop(struct pend *p)
{
	if (p->timer != NULL)
		event_free(p->timer);
	if (p->closed != NULL)
		event_free(p->closed);
	free(p);
}

static void
pend_unlink(struct pend *p)
{
	TAILQ_REMOVE(&p->list->all, p, link);
	p->list->n--;
	pend_drop(p);
}

/*
 * evhttp frees a connection. It frees its requests too, save one that it
 * took off the connection because its answer was under way.
 */
static void
pend_on_free(struct evhttp_connection *conn, void *arg)
{
	struct pend *p = arg;
	struct evhttp_request *req = p->req;

	if (p->body != NULL)
		evbuffer_free(p->body);
	pend_unlink(p);
	if (evhttp_request_get_connection(req) == NULL)
		evhttp_request_free(req);
}

/*
 * libevent tells of a reset as readable and never as closed, so both are waited
 * for; what is readable otherwise is the next request, which has time.
 */
static void
pend_on_closed(evutil_socket_t fd, short what, void *arg)
{
	struct pend *p = arg;
	int error = 0;
	socklen_t len = sizeof(error);

	if ((what & EV_CLOSED) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	    error == 0) {
		event_assign(
		    p->closed, p->list->base, fd, EV_CLOSED, pend_on_closed, p);
		event_add(p->closed, NULL);
		return;
	}
	evhttp_connection_free(evhttp_request_get_connection(p->req));
}

static void
pend_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct pend *p = arg;
	struct evhttp_request *req = p->req;
	struct evbuffer *body = p->body;
	pend_fn *fn = p->fn;
	void *fn_arg = p->arg;

	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(req), NULL, NULL);
	pend_unlink(p);
	fn(req, body, fn_arg);
}

static int
pend_watch(struct pend *p, struct evhttp_connection *conn, int ms)
{
	struct bufferevent *bev = evhttp_connection_get_bufferevent(conn);
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	p->closed = event_new(p->list->base, bufferevent_getfd(bev),
	    EV_READ | EV_CLOSED, pend_on_closed, p);
	if (p->closed == NULL || event_add(p->closed, NULL) != 0)
		return -1;
	if (ms == PEND_NEVER)
		return 0;
	p->timer = evtimer_new(p->list->base, pend_on_time, p);
	if (p->timer == NULL || evtimer_add(p->timer, &tv) != 0)
		return -1;
	return 0;
}

int
pend_add(struct pend_list *pl, struct evhttp_request *req, int ms, pend_fn *fn,
    struct evbuffer *body, void *arg)
{
	struct evhttp_connection *conn = evhttp_request_get_connection(req);
	struct pend *p;

	if (conn == NULL || pl->n >= PEND_MAX)
		return -1;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return -1;
	p->list = pl;
	p->req = req;
	p->fn = fn;
	p->arg = arg;
	if (pend_watch(p, conn, ms) != 0) {
		pend_drop(p);
		return -1;
	}
	p->body = body;
	TAILQ_INSERT_TAIL(&pl->all, p, link);
	pl->n++;
	evhttp_connection_set_closecb(conn, pend_on_free, p);
	return 0;
}

void
pend_free(struct pend_list **pp)
{
	struct pend_list *pl = *pp;
	struct pend *p;

	if (pl == NULL)
		return;
	while ((p = TAILQ_FIRST(&pl->all)) != NULL)
		evhttp_connection_free(evhttp_request_get_connection(p->req));
	free(pl);
	*pp = NULL;
}
