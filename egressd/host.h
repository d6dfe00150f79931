/*
 * host: what a host that somebody names is: an address, however it is spelt,
 * this machine, or a name to resolve.
 */
#ifndef EGRESSD_HOST_H
#define EGRESSD_HOST_H

#include "model/domains.h"

#define HOST_BYTES 256 /* as named, with its terminator */

enum host_kind {
	HOST_NAME,
	HOST_ADDRESS,
	HOST_LOCAL, /* localhost: both addresses of the loopback */
	HOST_BAD    /* never to be resolved */
};

struct host {
	enum host_kind kind;
	char text[HOST_BYTES];        /* as named, for reports; printable */
	char name[DOMAIN_NAME_BYTES]; /* lower case, no dot at its end; "" of an
					 address */
	struct domain_address address;
};

/*
 * Total for any bytes. What inet_aton() or a browser would take for an IPv4
 * address is that address, or bad, but never a name.
 */
void host_read(struct host *ret_host, const void *bytes, size_t len);
void host_from_address(struct host *ret_host, const struct domain_address *);

#endif
