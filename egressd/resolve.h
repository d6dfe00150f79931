/*
 * resolve: names to addresses, by c-ares, both families at once.
 */
#ifndef EGRESSD_RESOLVE_H
#define EGRESSD_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/domains.h"

#define RESOLVE_MAX         16   /* addresses taken of one answer */
#define RESOLVE_LOOKUPS_MAX 4096 /* at a time */
#define RESOLVE_EACH_MAX    256  /* of those, for one who asks */

struct event_base;
struct resolver;
struct lookup;

enum resolve_status {
	RESOLVE_OK,
	RESOLVE_NO_NAME, /* there is none, or it has no address */
	RESOLVE_FAILED,  /* the servers cannot tell */
	RESOLVE_TIMEOUT,
	RESOLVE_TOO_MANY
};

/*
 * Some addresses, IPv6 before IPv4 unless that is late. last: no more follow,
 * the lookup is gone; the status says why there are none at all. Never called
 * from within resolver_lookup().
 */
typedef void (*resolve_fn)(void *arg, const struct domain_address *, size_t n,
    bool last, enum resolve_status);

/*
 * servers is "address[:port],..." or "" for those of the system. names are
 * descriptors of what is to be read in place of /etc/resolv.conf and /etc/hosts,
 * or -1. NULL, with a reason in *ret_why, when they cannot be used.
 */
struct resolver *resolver_new(struct event_base *, const char *servers,
    const int names[2], const char **ret_why);
/* As it was made with. */
const char *resolver_servers(const struct resolver *);
/* Lookups that are under way end without a word. */
void resolver_free(struct resolver **);
/* As resolver_free(), but when all lookups have ended. NULL is accepted. */
void resolver_retire(struct resolver **);
/*
 * NULL without memory. The name is a host_read() name. owner is who asks: what
 * it has cancelled counts as its own until the name servers have answered.
 */
struct lookup *resolver_lookup(
    struct resolver *, uint32_t owner, const char *name, resolve_fn, void *arg);
/* Its function is not called any more. */
void lookup_cancel(struct lookup **);

#endif
