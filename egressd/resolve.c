/*
 * resolve: runs c-ares on the event loop. Runs in egressd. Nothing is kept from
 * one lookup to the next: what is judged is what is connected to.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <ares.h>
#include <event2/event.h>

#include "common/panic.h"
#include "egressd/address.h"
#include "egressd/resolve.h"

#define TRY_MS     2000 /* the first; c-ares doubles it */
#define TRIES      3
#define DELAY_MS   50 /* what IPv4 waits for IPv6, as in RFC 8305 */
#define FAMILIES   2
#define PATH_BYTES 32

/* One descriptor of c-ares. */
struct watch {
	LIST_ENTRY(watch) link;
	struct resolver *resolver;
	ares_socket_t fd;
	short what;
	struct event *event;
};

struct resolver {
	struct event_base *base;
	ares_channel channel;
	struct event *timer;
	LIST_HEAD(, watch) watches;
	LIST_HEAD(, lookup) lookups;
	size_t nlookups;
	bool ending;
	bool retired;
	char *servers;
};

/* What one family gave. */
struct half {
	struct lookup *lookup;
	bool v6;
	bool answered;
	bool told;
	enum resolve_status status;
	size_t n;
	struct domain_address addresses[RESOLVE_MAX];
};

struct lookup {
	LIST_ENTRY(lookup) link;
	struct resolver *resolver;
	uint32_t owner;
	resolve_fn fn; /* NULL: cancelled */
	void *arg;
	struct event *kick;           /* something is to be told */
	struct half halves[FAMILIES]; /* IPv6, IPv4 */
};

static void
resolver_arm(struct resolver *r)
{
	struct timeval tv, *next = ares_timeout(r->channel, NULL, &tv);

	if (next == NULL)
		event_del(r->timer);
	else
		event_add(r->timer, next);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct resolver *r = arg;

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	resolver_arm(r);
}

static void
on_watch(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *w = arg;
	struct resolver *r = w->resolver;

	ares_process_fd(r->channel, what & EV_READ ? fd : ARES_SOCKET_BAD,
	    what & EV_WRITE ? fd : ARES_SOCKET_BAD);
	resolver_arm(r);
}

static struct watch *
watch_of(struct resolver *r, ares_socket_t fd)
{
	struct watch *w;

	LIST_FOREACH(w, &r->watches, link)
		if (w->fd == fd)
			return w;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return NULL;
	w->resolver = r;
	w->fd = fd;
	LIST_INSERT_HEAD(&r->watches, w, link);
	return w;
}

static void
watch_free(struct watch *w)
{
	LIST_REMOVE(w, link);
	if (w->event != NULL)
		event_free(w->event);
	free(w);
}

/* Without memory for it the query times out, which is reported. */
static void
on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = arg;
	struct watch *w = watch_of(r, fd);
	short what = (short)((readable ? EV_READ : 0) |
	    (writable ? EV_WRITE : 0) | EV_PERSIST);

	if (w == NULL || w->what == what)
		return;
	if (!readable && !writable) {
		watch_free(w);
		return;
	}
	w->what = what;
	if (w->event != NULL)
		event_free(w->event);
	w->event = event_new(r->base, fd, what, on_watch, w);
	if (w->event != NULL)
		event_add(w->event, NULL);
}

static void
lookup_free(struct lookup *l)
{
	struct resolver *r = l->resolver;

	LIST_REMOVE(l, link);
	r->nlookups--;
	event_free(l->kick);
	free(l);
	if (r->retired && !r->ending && r->nlookups == 0)
		resolver_free(&r);
}

/* What the halves have in common to say when neither has an address. */
static enum resolve_status
lookup_status(const struct lookup *l)
{
	enum resolve_status six = l->halves[0].status;
	enum resolve_status four = l->halves[1].status;

	if (six == RESOLVE_OK || four == RESOLVE_OK)
		return RESOLVE_OK;
	return four > six ? four : six;
}

/* Tells what can be told now; may end the lookup. */
static void
lookup_tell(struct lookup *l)
{
	resolve_fn fn = l->fn;
	void *arg = l->arg;

	for (size_t i = 0; i < FAMILIES && l->fn != NULL; i++) {
		struct half *h = &l->halves[i];
		bool last = l->halves[0].answered && l->halves[1].answered &&
		    l->halves[1 - i].told;

		if (!h->answered || h->told)
			continue;
		h->told = true;
		if (last) {
			struct half copy = *h;
			enum resolve_status status = lookup_status(l);

			lookup_free(l);
			fn(arg, copy.addresses, copy.n, true, status);
			return;
		}
		if (h->n > 0)
			fn(arg, h->addresses, h->n, false, RESOLVE_OK);
	}
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct lookup *l = arg;

	if (l->fn != NULL)
		lookup_tell(l);
	else if (l->halves[0].answered && l->halves[1].answered)
		lookup_free(l);
}

static enum resolve_status
status_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return RESOLVE_OK;
	case ARES_ENODATA:
	case ARES_ENOTFOUND:
	case ARES_EBADNAME:
		return RESOLVE_NO_NAME;
	case ARES_ETIMEOUT:
		return RESOLVE_TIMEOUT;
	default:
		return RESOLVE_FAILED;
	}
}

static void
half_fill(struct half *h, const struct ares_addrinfo *answer)
{
	const struct ares_addrinfo_node *node;

	for (node = answer->nodes; node != NULL && h->n < RESOLVE_MAX;
	     node = node->ai_next) {
		if (node->ai_family == AF_INET6)
			address_from_v6(&h->addresses[h->n++],
			    &((const struct sockaddr_in6 *)(const void *)
				    node->ai_addr)
				 ->sin6_addr);
		else if (node->ai_family == AF_INET)
			address_from_v4(&h->addresses[h->n++],
			    &((const struct sockaddr_in *)(const void *)
				    node->ai_addr)
				 ->sin_addr);
	}
}

static void
on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *answer)
{
	static const struct timeval now = { 0, 0 };
	static const struct timeval delay = { 0, DELAY_MS * 1000 };
	struct half *h = arg;
	struct lookup *l = h->lookup;

	h->answered = true;
	h->status = status_of(status);
	if (answer != NULL) {
		half_fill(h, answer);
		ares_freeaddrinfo(answer);
	}
	if (h->status == RESOLVE_OK && h->n == 0)
		h->status = RESOLVE_NO_NAME;
	if (l->resolver->ending)
		return;
	event_add(l->kick, h->v6 || l->halves[0].answered ? &now : &delay);
}

/*
 * A page may ask for names that nobody answers for and not wait for the end of
 * it: that must not take all places, also those of other runs.
 */
static bool
resolver_is_full(const struct resolver *r, uint32_t owner)
{
	const struct lookup *l;
	size_t own = 0;

	if (r->nlookups >= RESOLVE_LOOKUPS_MAX)
		return true;
	LIST_FOREACH(l, &r->lookups, link)
		if (l->owner == owner && ++own == RESOLVE_EACH_MAX)
			return true;
	return false;
}

struct lookup *
resolver_lookup(struct resolver *r, uint32_t owner, const char *name,
    resolve_fn fn, void *arg)
{
	bool full = resolver_is_full(r, owner);
	struct ares_addrinfo_hints hints = { .ai_flags = ARES_AI_NOSORT |
		    ARES_AI_ENVHOSTS,
		.ai_socktype = SOCK_STREAM };
	struct lookup *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->resolver = r;
	l->owner = owner;
	l->fn = fn;
	l->arg = arg;
	l->kick = evtimer_new(r->base, on_kick, l);
	if (l->kick == NULL) {
		free(l);
		return NULL;
	}
	LIST_INSERT_HEAD(&r->lookups, l, link);
	r->nlookups++;
	for (int i = 0; i < FAMILIES; i++) {
		l->halves[i].lookup = l;
		l->halves[i].v6 = i == 0;
		if (full) {
			l->halves[i].answered = true;
			l->halves[i].status = RESOLVE_TOO_MANY;
			event_active(l->kick, EV_TIMEOUT, 1);
			continue;
		}
		hints.ai_family = i == 0 ? AF_INET6 : AF_INET;
		ares_getaddrinfo(
		    r->channel, name, NULL, &hints, on_answer, &l->halves[i]);
	}
	resolver_arm(r);
	return l;
}

/* c-ares cannot forget one query: what comes is thrown away. */
void
lookup_cancel(struct lookup **lookup)
{
	struct lookup *l = *lookup;

	*lookup = NULL;
	if (l == NULL)
		return;
	l->fn = NULL;
	/* Not here: it may be telling something. */
	if (l->halves[0].answered && l->halves[1].answered)
		event_active(l->kick, EV_TIMEOUT, 1);
}

/* c-ares opens them by name, whenever it needs them. */
static void
path_of(int fd, char ret[PATH_BYTES])
{
	snprintf(ret, PATH_BYTES, "/proc/self/fd/%d", fd);
}

static int
resolver_open(struct resolver *r, const int names[2])
{
	static char lookups[] = "fb";
	struct ares_options options = {
		/* A name means itself, whatever the host's search list is. */
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.lookups = lookups,
		.sock_state_cb = on_state,
		.sock_state_cb_data = r,
	};
	char conf[PATH_BYTES], hosts[PATH_BYTES];
	int status, given = 0;

	if (names[0] != -1) {
		path_of(names[0], conf);
		options.resolvconf_path = conf;
		given = ARES_OPT_RESOLVCONF;
	}
	if (names[1] != -1) {
		path_of(names[1], hosts);
		setenv("CARES_HOSTS", hosts, 1);
	}
	status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status == ARES_SUCCESS)
		status = ares_init_options(&r->channel, &options,
		    ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
			ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS |
			ARES_OPT_SOCK_STATE_CB | given);
	if (status == ARES_SUCCESS && r->servers[0] != '\0')
		status = ares_set_servers_ports_csv(r->channel, r->servers);
	return status;
}

struct resolver *
resolver_new(struct event_base *base, const char *servers, const int names[2],
    const char **ret_why)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int status;

	*ret_why = "no memory";
	if (r == NULL)
		return NULL;
	r->base = base;
	LIST_INIT(&r->watches);
	LIST_INIT(&r->lookups);
	r->servers = strdup(servers);
	r->timer = evtimer_new(base, on_timer, r);
	if (r->timer == NULL || r->servers == NULL) {
		if (r->timer != NULL)
			event_free(r->timer);
		free(r->servers);
		free(r);
		return NULL;
	}
	status = resolver_open(r, names);
	if (status != ARES_SUCCESS) {
		*ret_why = ares_strerror(status);
		resolver_free(&r);
	}
	return r;
}

void
resolver_free(struct resolver **resolver)
{
	struct resolver *r = *resolver;

	*resolver = NULL;
	if (r == NULL)
		return;
	r->ending = true;
	if (r->channel != NULL)
		ares_destroy(r->channel);
	ASSERT(LIST_EMPTY(&r->watches));
	while (!LIST_EMPTY(&r->lookups))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the list */
		lookup_free(LIST_FIRST(&r->lookups));
	event_free(r->timer);
	free(r->servers);
	free(r);
}

const char *
resolver_servers(const struct resolver *r)
{
	return r->servers;
}

void
resolver_retire(struct resolver **resolver)
{
	struct resolver *r = *resolver;

	*resolver = NULL;
	if (r == NULL)
		return;
	r->retired = true;
	if (r->nlookups == 0)
		resolver_free(&r);
}
