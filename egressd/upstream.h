/*
 * upstream: a proxy through which everything goes, if the administrator named
 * one: by HTTP's CONNECT with Basic authentication, or by SOCKS5 with user and
 * password (RFC 1929).
 */
#ifndef EGRESSD_UPSTREAM_H
#define EGRESSD_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "egressd/host.h"

struct event_base;
struct upstream;
struct tunnel;

/*
 * Of "http://[USER:PASSWORD@]HOST:PORT" or "socks5://..."; %xx in user and
 * password is a byte. NULL: not of that form, or no memory.
 */
struct upstream *upstream_new(const char *url);
/* Wipes the password. */
void upstream_free(struct upstream **);
/* Where it is; never HOST_BAD. */
const struct host *upstream_host(const struct upstream *);
uint16_t upstream_port(const struct upstream *);

struct tunnel_ops {
	/* The site is behind fd, which becomes the receiver's. */
	void (*opened)(void *arg, int fd);
	/* The proxy would not, or broke its protocol. */
	void (*failed)(void *arg, const char *why);
};

/*
 * Asks the proxy behind fd, a connected socket that is taken also on failure
 * (NULL), for an address. The tunnel is gone when it calls. No time limit.
 */
struct tunnel *tunnel_new(struct event_base *, int fd, const struct upstream *,
    const struct domain_address *, uint16_t port, const struct tunnel_ops *,
    void *arg);
/* NULL is accepted. */
void tunnel_free(struct tunnel **);

#endif
