/*
 * conn_ask: leads a request through the judging of every address it might mean
 * to a connection with one of these. Runs in egressd. No byte of the browser
 * reaches anybody before that.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "egressd/address.h"
#include "egressd/conn_int.h"
#include "egressd/own.h"

static void
conn_on_dialled(void *arg, int fd, const struct domain_address *address);
static void
conn_on_undialled(void *arg, int error, const struct domain_address *address);

static const struct dial_ops dial_ops = { conn_on_dialled, conn_on_undialled };

static void
conn_counted(void *arg, size_t in, size_t out)
{
	struct conn *c = arg;
	struct cell *cell = c->cell;

	cell_count(cell, in, out);
	if (!cell->used_up)
		return;
	cell_report(cell, c->socks.host.text, c->socks.port, NULL, EGRESS_LIMIT,
	    "maxRunBytes");
	cell_close_conns(cell);
}

static void
conn_relayed(void *arg)
{
	struct conn *c = arg;

	c->relay = NULL;
	conn_drop(c);
}

/* By the lists as they are now, not as they were when it began. */
static bool
conn_may(const struct conn *c, char ret_rule[JUDGE_RULE_BYTES])
{
	const struct host *h = &c->socks.host;
	struct judge judge;

	cell_judge(c->cell, h, &judge);
	return judge_host(&judge, h, c->socks.port, ret_rule) &&
	    judge_address(&judge, h, &c->target, c->socks.port, ret_rule);
}

void
conn_rejudge(struct conn *c)
{
	char rule[JUDGE_RULE_BYTES];

	if (c->state != CONN_RELAYING || conn_may(c, rule))
		return;
	cell_report(c->cell, c->socks.host.text, c->socks.port, &c->target,
	    EGRESS_REFUSED, rule);
	conn_drop(c);
}

/* The site is there: from now on bytes go both ways. */
static void
conn_grant(struct conn *c, int site)
{
	static const struct relay_ops ops = { conn_counted, conn_relayed };
	uint8_t reply[SOCKS_REPLY_BYTES];
	char rule[JUDGE_RULE_BYTES];
	int fd = c->fd;

	if (!conn_may(c, rule)) {
		close(site);
		conn_refuse(c, EGRESS_REFUSED, &c->target, rule);
		return;
	}
	socks_reply(SOCKS_GRANTED, reply);
	if (!conn_send(c, reply, sizeof(reply))) {
		close(site);
		conn_drop(c);
		return;
	}
	event_free(c->io);
	c->io = NULL;
	event_del(c->timer);
	/* What is left is the browser's and the site's. */
	cell_return_fds(c->cell, c->nfds - 2);
	c->nfds = 2;
	c->state = CONN_RELAYING;
	c->fd = -1;
	c->relay = relay_new(
	    conn_egress(c)->base, fd, site, egress_times.idle / 1000, &ops, c);
	if (c->relay == NULL) {
		conn_drop(c);
		return;
	}
	c->cell->sums.connections++;
}

static void
conn_tunnelled(void *arg, int fd)
{
	struct conn *c = arg;

	c->tunnel = NULL;
	conn_grant(c, fd);
}

static void
conn_untunnelled(void *arg, const char *why)
{
	struct conn *c = arg;

	c->tunnel = NULL;
	conn_refuse(c, EGRESS_PROXY, &c->target, why);
}

static void
conn_on_dialled(void *arg, int fd, const struct domain_address *address)
{
	static const struct tunnel_ops ops = { conn_tunnelled,
		conn_untunnelled };
	struct conn *c = arg;
	struct egress *e = conn_egress(c);

	c->dial = NULL;
	lookup_cancel(&c->lookup);
	if (!c->proxied) {
		c->target = *address;
		conn_grant(c, fd);
		return;
	}
	c->tunnel = tunnel_new(
	    e->base, fd, e->upstream, &c->target, c->socks.port, &ops, c);
	if (c->tunnel == NULL)
		conn_refuse(c, EGRESS_LIMIT, NULL, "no memory");
}

static void
conn_on_undialled(void *arg, int error, const struct domain_address *address)
{
	struct conn *c = arg;

	c->dial = NULL;
	if (error == EMFILE || error == ENFILE || error == ENOMEM ||
	    error == ENOBUFS)
		conn_refuse(c, EGRESS_LIMIT, address, strerror(error));
	else if (c->proxied)
		conn_refuse(c, EGRESS_PROXY, address, strerror(error));
	else if (error == ECONNREFUSED || error == ECONNRESET)
		conn_refuse(c, EGRESS_CONNECT, address, "");
	else if (error == ETIMEDOUT)
		conn_refuse(c, EGRESS_TIMEOUT, address, "");
	else
		conn_refuse(c, EGRESS_UNREACHABLE, address, strerror(error));
}

/* No address is left to try, and none ever was. */
static void
conn_without_address(struct conn *c, enum resolve_status status)
{
	static const char *const why[] = {
		[RESOLVE_OK] = "",
		[RESOLVE_NO_NAME] = "",
		[RESOLVE_FAILED] = "the name servers failed",
		[RESOLVE_TIMEOUT] = "the name servers did not answer",
		[RESOLVE_TOO_MANY] = "too many lookups",
	};

	if (c->rule[0] != '\0')
		conn_refuse(c, EGRESS_REFUSED, &c->bad, c->rule);
	else if (status == RESOLVE_TOO_MANY)
		conn_refuse(c, EGRESS_LIMIT, NULL, why[status]);
	else
		conn_refuse(c, EGRESS_DNS, NULL, why[status]);
}

static void
conn_on_upstream(void *arg, const struct domain_address *addresses, size_t n,
    bool last, enum resolve_status status)
{
	struct conn *c = arg;

	for (size_t i = 0; i < n; i++)
		dial_add(c->dial, &addresses[i]);
	if (!last)
		return;
	c->lookup = NULL;
	if (dial_is_empty(c->dial))
		conn_refuse(c, EGRESS_PROXY, NULL, "its name was not found");
	else
		dial_end(c->dial);
}

/* The destination is judged: the proxy is asked for that very address. */
static void
conn_go_upstream(struct conn *c)
{
	struct egress *e = conn_egress(c);
	const struct host *h = upstream_host(e->upstream);

	c->proxied = true;
	dial_free(&c->dial);
	c->dial = dial_new(e->base, upstream_port(e->upstream), &dial_ops, c);
	if (c->dial == NULL) {
		conn_refuse(c, EGRESS_LIMIT, NULL, "no memory");
		return;
	}
	if (h->kind == HOST_ADDRESS) {
		dial_add(c->dial, &h->address);
		dial_end(c->dial);
		return;
	}
	c->lookup = resolver_lookup(
	    e->resolver, c->cell->id, h->name, conn_on_upstream, c);
	if (c->lookup == NULL)
		conn_refuse(c, EGRESS_LIMIT, NULL, "no memory");
}

/*
 * What only users of this machine may reach is this machine or near it: to a
 * proxy the same address would be another host, perhaps the proxy itself.
 */
static bool
conn_goes_straight(const struct conn *c, const struct domain_address *a)
{
	return conn_egress(c)->upstream == NULL ||
	    !address_class_allowed(address_classify(a), false);
}

/* Keeps it when it may be reached, else the reason of the first. */
static void
conn_judge(struct conn *c, const struct domain_address *a)
{
	struct egress *e = conn_egress(c);
	char rule[JUDGE_RULE_BYTES];
	struct judge judge;

	cell_judge(c->cell, &c->socks.host, &judge);
	if (own_listens(e->own, a, c->socks.port))
		strlcpy(rule, "own listener", sizeof(rule));
	else if (judge_address(
		     &judge, &c->socks.host, a, c->socks.port, rule)) {
		if (c->ngood++ == 0 || (c->target.v6 && !a->v6))
			c->target = *a;
		if (conn_goes_straight(c, a))
			dial_add(c->dial, a);
		return;
	}
	if (c->rule[0] != '\0')
		return;
	c->bad = *a;
	strlcpy(c->rule, rule, sizeof(c->rule));
}

static void
conn_on_addresses(void *arg, const struct domain_address *addresses, size_t n,
    bool last, enum resolve_status status)
{
	struct conn *c = arg;

	if (last)
		c->lookup = NULL;
	for (size_t i = 0; i < n; i++)
		if (address_class_allowed(
			address_classify(&addresses[i]), false))
			cell_saw_public(c->cell, &c->socks.host);
	for (size_t i = 0; i < n; i++)
		conn_judge(c, &addresses[i]);
	if (!last)
		return;
	if (c->ngood == 0)
		conn_without_address(c, status);
	else if (!dial_is_empty(c->dial))
		dial_end(c->dial);
	else
		conn_go_upstream(c);
}

static void
conn_find(struct conn *c)
{
	static const struct domain_address local[] = { { true, { [15] = 1 } },
		{ false, { 127, 0, 0, 1 } } };
	struct egress *e = conn_egress(c);
	const struct host *h = &c->socks.host;

	c->dial = dial_new(e->base, c->socks.port, &dial_ops, c);
	if (c->dial == NULL) {
		conn_refuse(c, EGRESS_LIMIT, NULL, "no memory");
		return;
	}
	if (h->kind == HOST_ADDRESS) {
		conn_on_addresses(c, &h->address, 1, true, RESOLVE_OK);
		return;
	}
	if (h->kind == HOST_LOCAL) {
		conn_on_addresses(c, local, 2, true, RESOLVE_OK);
		return;
	}
	c->lookup = resolver_lookup(
	    e->resolver, c->cell->id, h->name, conn_on_addresses, c);
	if (c->lookup == NULL)
		conn_refuse(c, EGRESS_LIMIT, NULL, "no memory");
}

/* The run is known: judge the host, then its addresses. */
void
conn_ask(struct conn *c)
{
	char rule[JUDGE_RULE_BYTES];
	struct judge judge;

	c->state = CONN_ASKING;
	conn_limit_time(c, egress_times.connect);
	if (c->cell->used_up) {
		conn_refuse(c, EGRESS_LIMIT, NULL, "maxRunBytes");
		return;
	}
	if ((int64_t)c->cell->nactive >= c->cell->max_connections) {
		conn_refuse(c, EGRESS_LIMIT, NULL, "maxRunConnections");
		return;
	}
	if (!cell_take_fds(c->cell, DIAL_FDS)) {
		conn_refuse(c, EGRESS_LIMIT, NULL, "no descriptors");
		return;
	}
	c->nfds += DIAL_FDS;
	c->active = true;
	c->cell->nactive++;
	cell_judge(c->cell, &c->socks.host, &judge);
	if (judge_host(&judge, &c->socks.host, c->socks.port, rule))
		conn_find(c);
	else
		conn_refuse(c, EGRESS_REFUSED,
		    c->socks.host.kind == HOST_ADDRESS ? &c->socks.host.address
						       : NULL,
		    rule);
}

void
conn_ask_timeout(struct conn *c)
{
	const struct domain_address *trying;

	trying = c->dial == NULL ? NULL : dial_trying(c->dial);
	if (c->proxied)
		conn_refuse(c, EGRESS_PROXY, trying, "it did not answer");
	else if (trying != NULL)
		conn_refuse(c, EGRESS_TIMEOUT, trying, "");
	else
		conn_without_address(c, RESOLVE_TIMEOUT);
}
