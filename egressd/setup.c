/*
 * setup: makes the parts of egressd and follows the settings. Runs in egressd.
 * What the launcher says has been checked there; it is checked again, since a
 * wrong list must never become an empty one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "egressd/cells.h"
#include "egressd/launchlink.h"
#include "egressd/link.h"
#include "egressd/own.h"
#include "egressd/resolve.h"
#include "egressd/setup.h"
#include "egressd/upstream.h"
#include "model/setting_checks.h"
#include "model/settings.h"

static bool
take_list(struct egress *e, struct domain_list **list, const char *value)
{
	char lines[SETTINGS_VALUE_BYTES], why[DOMAINS_WHY_BYTES];
	struct domain_list *new = NULL;

	setting_lines(value, lines);
	if (!domain_list_parse(lines, strlen(lines), &new, why)) {
		log_err("a list of hosts stays as it was: %s", why);
		return false;
	}
	domain_list_free(list);
	*list = new;
	cells_rejudge(e->cells);
	return true;
}

static bool
take_allowed(struct egress *e, const char *value)
{
	return take_list(e, &e->allowed, value);
}

static bool
take_forbidden(struct egress *e, const char *value)
{
	return take_list(e, &e->forbidden, value);
}

static bool
take_local(struct egress *e, const char *value)
{
	return take_list(e, &e->local, value);
}

static bool
take_resolver(struct egress *e, const char *value)
{
	char servers[SETTINGS_VALUE_BYTES];
	struct resolver *new;
	const char *why;

	setting_lines(value, servers);
	for (char *c = servers; *c != '\0'; c++)
		if (*c == '\n')
			*c = ',';
	new = resolver_new(e->base, servers, e->names, &why);
	if (new == NULL) {
		log_err("the name servers stay as they were: %s", why);
		return false;
	}
	resolver_retire(&e->resolver);
	e->resolver = new;
	return true;
}

/* Lookups that are under way end with what they have read. */
void
setup_names(struct egress *e, const int fds[2])
{
	const char *why = "no descriptors";
	struct resolver *new = NULL;

	if (fds[0] != -1 && fds[1] != -1)
		new = resolver_new(
		    e->base, resolver_servers(e->resolver), fds, &why);
	for (size_t i = 0; i < 2; i++) {
		int old = new == NULL ? fds[i] : e->names[i];

		fd_close(&old);
		if (new != NULL)
			e->names[i] = fds[i];
	}
	if (new == NULL) {
		log_err("names of hosts stay as they were: %s", why);
		return;
	}
	resolver_retire(&e->resolver);
	e->resolver = new;
	log_debug("resolv.conf and hosts taken over");
}

/* Those under way would go half another way: they end. */
static bool
take_upstream(struct egress *e, const char *value)
{
	struct upstream *new = NULL;

	if (value[0] != '\0' && (new = upstream_new(value)) == NULL) {
		log_err("the upstream proxy stays as it was: no such URL");
		return false;
	}
	cells_close_conns(e->cells);
	upstream_free(&e->upstream);
	e->upstream = new;
	return true;
}

static bool
take_debug(struct egress *e, const char *value)
{
	log_init("egressd", strcmp(value, "yes") == 0 ? LOGL_DEBUG : LOGL_INFO);
	return true;
}

void
setup_setting(struct egress *e, const char *name, const char *value)
{
	static const struct {
		const char *name;
		bool (*take)(struct egress *, const char *);
	} rows[] = {
		{ "allowedDomains", take_allowed },
		{ "forbiddenDomains", take_forbidden },
		{ "localDomains", take_local },
		{ "resolver", take_resolver },
		{ "upstreamProxy", take_upstream },
		{ "debug", take_debug },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(name, rows[i].name) == 0 && rows[i].take(e, value))
			log_debug("setting %s taken over", name);
}

void
setup_break(struct egress *e, const char *what)
{
	log_err("%s: %s: ends to be started anew", what, strerror(errno));
	e->broken = true;
	event_base_loopbreak(e->base);
}

bool
setup_open(struct egress *e)
{
	const char *why;
	char none[DOMAINS_WHY_BYTES];

	if (!domain_list_parse("", 0, &e->allowed, none) ||
	    !domain_list_parse("", 0, &e->forbidden, none) ||
	    !domain_list_parse("", 0, &e->local, none)) {
		log_err("%s", none);
		return false;
	}
	e->names[0] = e->names[1] = -1;
	e->resolver = resolver_new(e->base, "", e->names, &why);
	if (e->resolver == NULL) {
		log_err("c-ares: %s", why);
		return false;
	}
	e->cells = cells_new(e);
	if (e->cells == NULL)
		log_err("no memory");
	return e->cells != NULL;
}

void
setup_close(struct egress *e)
{
	link_free(&e->link);
	launchlink_free(&e->launch);
	cells_free(&e->cells);
	resolver_free(&e->resolver);
	upstream_free(&e->upstream);
	own_free(&e->own);
	fd_close(&e->names[0]);
	fd_close(&e->names[1]);
	domain_list_free(&e->allowed);
	domain_list_free(&e->forbidden);
	domain_list_free(&e->local);
}
