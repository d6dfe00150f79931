/*
 * upstream_int: what is said to the upstream proxy and what its answers mean,
 * for the tunnel and its tests.
 */
#ifndef EGRESSD_UPSTREAM_INT_H
#define EGRESSD_UPSTREAM_INT_H

#include "common/buf.h"
#include "egressd/upstream.h"

#define UPSTREAM_WORD_BYTES 256 /* user or password, with its terminator */

struct upstream {
	bool socks; /* else HTTP */
	struct host host;
	uint16_t port;
	bool credentials;
	char user[UPSTREAM_WORD_BYTES];
	char password[UPSTREAM_WORD_BYTES];
};

/* Each appends a message; false without memory. */
bool upstream_http_request(const struct upstream *,
    const struct domain_address *, uint16_t port, struct buf *);
bool upstream_socks_hello(const struct upstream *, struct buf *);
bool upstream_socks_login(const struct upstream *, struct buf *);
bool upstream_socks_request(
    const struct domain_address *, uint16_t port, struct buf *);
/* What is wrong; NULL: the proxy agreed. */
const char *upstream_http_status(const char *line);
const char *upstream_socks_status(uint8_t code);

#endif
