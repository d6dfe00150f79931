/*
 * socks: reads what a browser, or whoever has taken its place, asks for. Runs
 * in egressd. Strict, and never reads past a message: what follows a request
 * belongs to the site.
 */
#include <string.h>

#include "common/panic.h"
#include "egressd/address.h"
#include "egressd/socks.h"

#define VERSION     5
#define NO_AUTH     0
#define CMD_CONNECT 1
#define TYPE_V4     1
#define TYPE_NAME   3
#define TYPE_V6     4
#define LEAST_HELLO 3 /* version, one, method */
#define HEAD        5 /* of a request, with the length of a name */
#define PORT_BYTES  2

const uint8_t socks_accept[2] = { VERSION, NO_AUTH };
const uint8_t socks_no_method[2] = { VERSION, 0xff };

void
socks_init(struct socks *s)
{
	memset(s, 0, sizeof(*s));
}

/* Of a request of which the head is there; 0: no such form. */
static size_t
request_length(const struct socks *s)
{
	switch (s->bytes[3]) {
	case TYPE_V4:
		return 4 + 4 + PORT_BYTES;
	case TYPE_V6:
		return 4 + 16 + PORT_BYTES;
	case TYPE_NAME:
		return HEAD + s->bytes[4] + PORT_BYTES;
	default:
		return 0;
	}
}

static size_t
message_length(const struct socks *s)
{
	if (!s->greeted)
		return s->len < 2 ? LEAST_HELLO : 2U + s->bytes[1];
	return s->len < HEAD ? HEAD : request_length(s);
}

size_t
socks_wants(const struct socks *s)
{
	size_t length = message_length(s);

	return length > s->len ? length - s->len : 0;
}

static enum socks_verdict
read_hello(struct socks *s)
{
	if (s->bytes[0] != VERSION || (s->len > 1 && s->bytes[1] == 0))
		return SOCKS_BROKEN;
	if (socks_wants(s) > 0)
		return SOCKS_MORE;
	if (memchr(s->bytes + 2, NO_AUTH, s->bytes[1]) == NULL)
		return SOCKS_NOBODY;
	s->greeted = true;
	s->len = 0;
	return SOCKS_GREETED;
}

static enum socks_verdict
read_target(struct socks *s)
{
	const uint8_t *port = s->bytes + s->len - PORT_BYTES;
	struct domain_address a;

	s->port = (uint16_t)(port[0] << 8 | port[1]);
	if (s->port == 0)
		return SOCKS_BROKEN;
	if (s->bytes[3] == TYPE_NAME) {
		host_read(&s->host, s->bytes + HEAD, s->bytes[4]);
		return SOCKS_REQUEST;
	}
	if (s->bytes[3] == TYPE_V4)
		address_from_v4(&a, s->bytes + 4);
	else
		address_from_v6(&a, s->bytes + 4);
	host_from_address(&s->host, &a);
	return SOCKS_REQUEST;
}

static enum socks_verdict
read_request(struct socks *s)
{
	if (s->bytes[0] != VERSION || (s->len > 2 && s->bytes[2] != 0))
		return SOCKS_BROKEN;
	if (s->len > 2 && s->bytes[1] != CMD_CONNECT)
		return SOCKS_COMMAND;
	if (s->len < HEAD)
		return SOCKS_MORE;
	if (request_length(s) == 0)
		return SOCKS_FORM;
	if (s->bytes[3] == TYPE_NAME && s->bytes[4] == 0)
		return SOCKS_BROKEN;
	return socks_wants(s) > 0 ? SOCKS_MORE : read_target(s);
}

enum socks_verdict
socks_took(struct socks *s, size_t n)
{
	ASSERT(n > 0 && n <= socks_wants(s));
	s->len += n;
	return s->greeted ? read_request(s) : read_hello(s);
}

void
socks_reply(enum socks_code code, uint8_t ret_reply[SOCKS_REPLY_BYTES])
{
	memset(ret_reply, 0, SOCKS_REPLY_BYTES);
	ret_reply[0] = VERSION;
	ret_reply[1] = (uint8_t)code;
	ret_reply[3] = TYPE_V4;
}
