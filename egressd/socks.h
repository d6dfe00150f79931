/*
 * socks: the requests of SOCKS version 5 (RFC 1928): no authentication,
 * CONNECT only.
 */
#ifndef EGRESSD_SOCKS_H
#define EGRESSD_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egressd/host.h"

#define SOCKS_BYTES       262 /* the longest message */
#define SOCKS_REPLY_BYTES 10

/* Codes of replies. */
enum socks_code {
	SOCKS_GRANTED = 0,
	SOCKS_FAILED = 1,
	SOCKS_NOT_ALLOWED = 2,
	SOCKS_UNREACHABLE = 4,
	SOCKS_REFUSED = 5,
	SOCKS_NO_COMMAND = 7,
	SOCKS_NO_ADDRESS = 8
};

enum socks_verdict {
	SOCKS_MORE,    /* nothing to do yet */
	SOCKS_GREETED, /* answer with socks_accept */
	SOCKS_REQUEST, /* host and port are there */
	SOCKS_BROKEN,  /* close it */
	SOCKS_NOBODY,  /* answer with socks_no_method, close */
	SOCKS_COMMAND, /* answer with SOCKS_NO_COMMAND, close */
	SOCKS_FORM     /* answer with SOCKS_NO_ADDRESS, close */
};

/* What is there of a client's message. */
struct socks {
	uint8_t bytes[SOCKS_BYTES];
	size_t len;
	bool greeted;
	struct host host;
	uint16_t port;
};

extern const uint8_t socks_accept[2];
extern const uint8_t socks_no_method[2];

void socks_init(struct socks *);
/*
 * Bytes that may be read next, at bytes + len: never more than what belongs to
 * the message, so that nothing behind it is taken. 0 after the request.
 */
size_t socks_wants(const struct socks *);
/* n of them, at least one and not more than wanted, have been read. */
enum socks_verdict socks_took(struct socks *, size_t n);
/* The reply to a request; it names no address of ours. */
void socks_reply(enum socks_code, uint8_t ret_reply[SOCKS_REPLY_BYTES]);

#endif
