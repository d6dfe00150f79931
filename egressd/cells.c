/*
 * cells: accepts what browsers connect to and keeps account of it by run. Runs
 * in egressd. A cell that no run is bound to is served only as far as its
 * requests are read; then they wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "egressd/conn.h"
#include "egressd/link.h"
#include "egressd/reports.h"
#include "egressd/setup.h"
#include "launch/launch.h"

#define ACCEPTS_PER_TURN 32
#define REFUSED_AT_ONCE  32  /* connections beyond the limit, being refused */
#define UNBOUND_AT_ONCE  256 /* connections that wait for a run */
#define PAUSE_MS         100
#define CELLS_SPARE      LAUNCH_BROWSER_SLOTS /* as many as there can be */

static const struct timeval pause_time = { 0, PAUSE_MS * 1000 };

static struct cell *
cells_find(struct cells *t, uint32_t id)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		if (c->id == id)
			return c;
	return NULL;
}

static void on_accept(evutil_socket_t fd, short what, void *arg);

static bool
cells_add_spare(struct cells *t)
{
	struct cell *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return false;
	c->owner = t;
	c->listener = -1;
	LIST_INIT(&c->conns);
	known_init(&c->named);
	known_init(&c->was_public);
	c->on_accept = event_new(t->egress->base, -1, 0, on_accept, c);
	if (c->on_accept == NULL) {
		free(c);
		return false;
	}
	LIST_INSERT_HEAD(&t->spare, c, link);
	return true;
}

/* NULL: more cells than there are slots, and no memory. */
static struct cell *
cells_need(struct cells *t, uint32_t id)
{
	struct cell *c = cells_find(t, id);

	if (c != NULL)
		return c;
	if (LIST_EMPTY(&t->spare) && !cells_add_spare(t))
		return NULL;
	c = LIST_FIRST(&t->spare);
	LIST_REMOVE(c, link);
	c->magic = CELL_MAGIC;
	c->id = id;
	LIST_INSERT_HEAD(&t->list, c, link);
	return c;
}

static bool
cell_may_have_fds(const struct cell *c, size_t n)
{
	const struct egress *e = c->owner->egress;

	return c->nfds + n <= e->fds_max - e->fds;
}

static void cells_pause(struct cells *, int error);

/* A listener whose connections are not taken wakes nobody. */
static void
cell_accept_on(struct cell *c)
{
	size_t most = c->bound ? (size_t)c->max_connections + REFUSED_AT_ONCE
			       : UNBOUND_AT_ONCE;
	bool on = c->listener != -1 && !c->owner->paused && c->nconns < most &&
	    cell_may_have_fds(c, 1);

	if (on == c->accepting)
		return;
	c->accepting = on;
	if (!on) {
		event_del(c->on_accept);
	} else if (event_add(c->on_accept, NULL) == -1) {
		c->accepting = false;
		cells_pause(c->owner, ENOMEM);
	}
}

static void
cells_pause(struct cells *t, int error)
{
	struct cell *c;

	if (!t->told)
		log_warn("accept: %s: every %d ms it is tried again",
		    strerror(error), PAUSE_MS);
	t->paused = t->told = true;
	LIST_FOREACH(c, &t->list, link)
		cell_accept_on(c);
	event_add(t->on_resume, &pause_time);
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct cells *t = arg;
	struct cell *c;

	t->paused = false;
	LIST_FOREACH(c, &t->list, link)
		cell_accept_on(c);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct cell *c = arg;
	int peer;

	MAGIC_CHECK(c, CELL_MAGIC);
	cell_accept_on(c);
	for (int i = 0; i < ACCEPTS_PER_TURN && c->accepting; i++) {
		peer = accept4(
		    c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (peer != -1) {
			c->owner->told = false;
			conn_start(c, peer);
			cell_accept_on(c);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			cells_pause(c->owner, errno);
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

void
cell_close_conns(struct cell *c)
{
	while (!LIST_EMPTY(&c->conns))
		conn_drop(LIST_FIRST(&c->conns));
	cell_accept_on(c);
}

void
cells_close_conns(struct cells *t)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		cell_close_conns(c);
}

/* Those to that host; NULL: all. */
static void
cell_rejudge(struct cell *c, const struct host *h)
{
	struct conn *conn, *next;

	for (conn = LIST_FIRST(&c->conns); conn != NULL; conn = next) {
		next = conn_next(conn);
		if (h == NULL || conn_is_to(conn, h))
			conn_rejudge(conn);
	}
}

void
cells_rejudge(struct cells *t)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		cell_rejudge(c, NULL);
}

static void
cell_release(struct cell *c)
{
	c->bound = false;
	c->used_up = false;
	c->run_id[0] = '\0';
	memset(&c->sums, 0, sizeof(c->sums));
	domain_list_free(&c->allowed);
	domain_list_free(&c->forbidden);
	domain_list_free(&c->kept);
	reports_free(&c->reports);
}

static void
cell_deafen(struct cell *c)
{
	event_del(c->on_accept);
	c->accepting = false;
	fd_close(&c->listener);
}

/* Its memory is kept for the next one. */
static void
cell_free(struct cell *c)
{
	cell_deafen(c);
	cell_close_conns(c);
	cell_release(c);
	c->named_run[0] = '\0';
	known_clear(&c->named);
	known_clear(&c->was_public);
	LIST_REMOVE(c, link);
	c->magic = 0;
	LIST_INSERT_HEAD(&c->owner->spare, c, link);
}

void
cells_listen(struct cells *t, uint32_t cell_id, int fd)
{
	struct cell *c = cells_need(t, cell_id);

	if (c == NULL || fd_set_nonblock(fd) != 0) {
		close(fd);
		/* The browser of that cell would have no network for ever. */
		setup_break(t->egress, "a listener");
		return;
	}
	cell_deafen(c);
	c->listener = fd;
	event_assign(c->on_accept, t->egress->base, fd, EV_READ | EV_PERSIST,
	    on_accept, c);
	cell_accept_on(c);
}

void
cells_gone(struct cells *t, uint32_t cell_id)
{
	struct cell *c = cells_find(t, cell_id);

	if (c != NULL)
		cell_free(c);
}

static bool
cell_take(struct cell *c, const struct cells_binding *b,
    char ret_why[DOMAINS_WHY_BYTES])
{
	struct domain_list *allowed = NULL, *forbidden = NULL, *kept = NULL;
	struct reports *reports = reports_new();

	strlcpy(ret_why, "no memory", DOMAINS_WHY_BYTES);
	if (reports == NULL ||
	    !domain_list_parse(
		b->allowed, strlen(b->allowed), &allowed, ret_why) ||
	    !domain_list_parse(
		b->forbidden, strlen(b->forbidden), &forbidden, ret_why) ||
	    !domain_list_parse(b->kept, strlen(b->kept), &kept, ret_why)) {
		reports_free(&reports);
		domain_list_free(&allowed);
		domain_list_free(&forbidden);
		return false;
	}
	cell_release(c);
	c->bound = true;
	strlcpy(c->run_id, b->run_id, sizeof(c->run_id));
	c->local = b->local;
	c->allowed = allowed;
	c->forbidden = forbidden;
	c->kept = kept;
	if (strcmp(c->named_run, b->run_id) != 0)
		known_clear(&c->named);
	c->reports = reports;
	c->max_connections = b->max_connections;
	c->max_bytes = b->max_bytes;
	return true;
}

void
cells_name(
    struct cells *t, uint32_t cell_id, const char *run_id, const char *hosts)
{
	struct cell *c = cells_need(t, cell_id);

	/* What a run may do is settled once. */
	if (c == NULL || (c->bound && strcmp(c->run_id, run_id) == 0))
		return;
	if (strcmp(c->named_run, run_id) != 0) {
		strlcpy(c->named_run, run_id, sizeof(c->named_run));
		known_clear(&c->named);
	}
	if (!known_add_lines(&c->named, hosts))
		log_err("%s: no room for the hosts that it names", run_id);
}

bool
cells_bind(struct cells *t, const struct cells_binding *b,
    char ret_why[DOMAINS_WHY_BYTES])
{
	struct cell *c = cells_need(t, b->cell_id);
	struct conn *conn, *next;

	if (c == NULL) {
		strlcpy(ret_why, "no memory", DOMAINS_WHY_BYTES);
		return false;
	}
	/* A new supervisord says again what holds; what was counted counts. */
	if (c->bound && strcmp(c->run_id, b->run_id) == 0)
		return true;
	if (c->bound)
		cell_close_conns(c);
	if (!cell_take(c, b, ret_why)) {
		if (c->listener == -1)
			cell_free(c);
		return false;
	}
	for (conn = LIST_FIRST(&c->conns); conn != NULL; conn = next) {
		next = conn_next(conn);
		conn_bound(conn);
	}
	cell_accept_on(c);
	return true;
}

void
cells_unbind(struct cells *t, uint32_t cell_id, const char *run_id,
    struct cells_sums *ret_sums)
{
	struct cell *c = cells_find(t, cell_id);

	memset(ret_sums, 0, sizeof(*ret_sums));
	if (c == NULL || !c->bound || strcmp(c->run_id, run_id) != 0)
		return;
	*ret_sums = c->sums;
	cell_close_conns(c);
	cell_release(c);
	if (c->listener == -1)
		cell_free(c);
	else
		cell_accept_on(c);
}

void
cell_saw_public(struct cell *c, const struct host *h)
{
	struct judge judge;

	cell_judge(c, h, &judge);
	if (h->kind != HOST_NAME || judge.was_public)
		return;
	/*
	 * A connection of before would serve whoever the name is now; without
	 * room for it all names count as public.
	 */
	cell_rejudge(c, known_add(&c->was_public, h) ? h : NULL);
}

void
cell_judge(const struct cell *c, const struct host *h, struct judge *ret_judge)
{
	const struct egress *e = c->owner->egress;

	ASSERT(c->bound);
	ret_judge->local = c->local;
	ret_judge->named = known_has(&c->named, h);
	/* A set without room for more names holds them all. */
	ret_judge->was_public = h->kind == HOST_NAME &&
	    (c->was_public.lines.failed || known_has(&c->was_public, h));
	ret_judge->service_local = e->local;
	ret_judge->run_kept = c->kept;
	ret_judge->service_forbidden = e->forbidden;
	ret_judge->service_allowed = e->allowed;
	ret_judge->run_forbidden = c->forbidden;
	ret_judge->run_allowed = c->allowed;
}

bool
cell_take_fds(struct cell *c, size_t n)
{
	if (!cell_may_have_fds(c, n))
		return false;
	c->nfds += n;
	c->owner->egress->fds += n;
	return true;
}

/* Others may have waited for just these. */
void
cell_return_fds(struct cell *c, size_t n)
{
	struct cell *other;

	c->nfds -= n;
	c->owner->egress->fds -= n;
	LIST_FOREACH(other, &c->owner->list, link)
		if (!other->accepting)
			cell_accept_on(other);
}

void
cell_conn_ended(struct cell *c)
{
	c->nconns--;
	cell_accept_on(c);
}

void
cell_count(struct cell *c, size_t in, size_t out)
{
	c->sums.in += (int64_t)in;
	c->sums.out += (int64_t)out;
	if (c->sums.in + c->sums.out > c->max_bytes)
		c->used_up = true;
}

void
cell_report(struct cell *c, const char *host, uint16_t port,
    const struct domain_address *address, enum egress_outcome outcome,
    const char *rule)
{
	struct link *link = c->owner->egress->link;

	if (outcome == EGRESS_REFUSED || outcome == EGRESS_LIMIT)
		c->sums.refused++;
	if (link == NULL ||
	    !reports_due(c->reports, host, port, outcome, clock_mono_ms()))
		return;
	link_report(link, c->id, c->run_id, host, port, address, outcome, rule);
}

struct cells *
cells_new(struct egress *e)
{
	struct cells *t = calloc(1, sizeof(*t));
	bool good;

	if (t == NULL)
		return NULL;
	t->egress = e;
	LIST_INIT(&t->list);
	LIST_INIT(&t->spare);
	t->on_resume = evtimer_new(e->base, on_resume, t);
	good = t->on_resume != NULL;
	for (int i = 0; good && i < CELLS_SPARE; i++)
		good = cells_add_spare(t);
	if (!good)
		cells_free(&t);
	return t;
}

void
cells_free(struct cells **cells)
{
	struct cells *t = *cells;
	struct cell *c;

	*cells = NULL;
	if (t == NULL)
		return;
	while (!LIST_EMPTY(&t->list))
		cell_free(LIST_FIRST(&t->list));
	while ((c = LIST_FIRST(&t->spare)) != NULL) {
		LIST_REMOVE(c, link);
		event_free(c->on_accept);
		free(c);
	}
	if (t->on_resume != NULL)
		event_free(t->on_resume);
	free(t);
}
