/*
 * upstream: who the upstream proxy is, and what to say to it. Runs in egressd.
 * Its answers are a stranger's bytes; nothing behind an answer is read, since
 * that is the site's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/buf.h"
#include "common/panic.h"
#include "egressd/address.h"
#include "egressd/upstream_int.h"

static bool
hex_digit(char c, unsigned int *ret_value)
{
	static const char digits[] = "0123456789abcdef";
	const char *at;

	if (c >= 'A' && c <= 'F')
		c = (char)(c - 'A' + 'a');
	at = c == '\0' ? NULL : strchr(digits, c);
	if (at == NULL)
		return false;
	*ret_value = (unsigned int)(at - digits);
	return true;
}

/* Undoes %xx. */
static bool
read_word(const char *text, size_t len, char ret_word[UPSTREAM_WORD_BYTES])
{
	unsigned int high, low;
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%') {
			if (i + 2 >= len || !hex_digit(text[i + 1], &high) ||
			    !hex_digit(text[i + 2], &low) ||
			    (high == 0 && low == 0))
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (n == UPSTREAM_WORD_BYTES - 1)
			return false;
		ret_word[n++] = c;
	}
	ret_word[n] = '\0';
	return true;
}

static bool
read_place(struct upstream *u, const char *text)
{
	const char *colon = strrchr(text, ':');
	long port;

	if (colon == NULL || strlen(colon + 1) > 5 || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	port = strtol(colon + 1, NULL, 10);
	if (port < 1 || port > UINT16_MAX)
		return false;
	u->port = (uint16_t)port;
	host_read(&u->host, text, (size_t)(colon - text));
	if (u->host.kind == HOST_LOCAL) {
		u->host.kind = HOST_ADDRESS;
		address_from_v4(
		    &u->host.address, (const uint8_t[4]){ 127, 0, 0, 1 });
	}
	return u->host.kind != HOST_BAD;
}

static bool
read_url(struct upstream *u, const char *url)
{
	static const char http[] = "http://", socks[] = "socks5://";
	const char *at, *colon;

	if (strncmp(url, http, sizeof(http) - 1) == 0) {
		url += sizeof(http) - 1;
	} else if (strncmp(url, socks, sizeof(socks) - 1) == 0) {
		url += sizeof(socks) - 1;
		u->socks = true;
	} else {
		return false;
	}
	at = strrchr(url, '@');
	if (at == NULL)
		return read_place(u, url);
	colon = memchr(url, ':', (size_t)(at - url));
	u->credentials = true;
	return colon != NULL &&
	    read_word(url, (size_t)(colon - url), u->user) &&
	    read_word(colon + 1, (size_t)(at - colon - 1), u->password) &&
	    read_place(u, at + 1);
}

struct upstream *
upstream_new(const char *url)
{
	struct upstream *u = calloc(1, sizeof(*u));

	if (u != NULL && !read_url(u, url))
		upstream_free(&u);
	return u;
}

void
upstream_free(struct upstream **upstream)
{
	struct upstream *u = *upstream;

	*upstream = NULL;
	if (u == NULL)
		return;
	explicit_bzero(u, sizeof(*u));
	free(u);
}

const struct host *
upstream_host(const struct upstream *u)
{
	return &u->host;
}

uint16_t
upstream_port(const struct upstream *u)
{
	return u->port;
}

/* "192.0.2.1:443" or "[2001:db8::1]:443" */
static void
add_place(struct buf *b, const struct domain_address *a, uint16_t port)
{
	char text[ADDRESS_TEXT_BYTES];

	address_format(a, text);
	buf_addf(b, a->v6 ? "[%s]:%u" : "%s:%u", text, (unsigned int)port);
}

bool
upstream_http_request(const struct upstream *u, const struct domain_address *a,
    uint16_t port, struct buf *b)
{
	struct buf pair;

	buf_add_str(b, "CONNECT ");
	add_place(b, a, port);
	buf_add_str(b, " HTTP/1.1\r\nHost: ");
	add_place(b, a, port);
	if (u->credentials) {
		buf_init_secret(&pair, 2 * (size_t)UPSTREAM_WORD_BYTES);
		buf_addf(&pair, "%s:%s", u->user, u->password);
		buf_add_str(b, "\r\nProxy-Authorization: Basic ");
		base64_encode(b, pair.data, pair.len);
		if (pair.failed)
			b->failed = true;
		buf_clear(&pair);
	}
	buf_add_str(b, "\r\n\r\n");
	return !b->failed;
}

bool
upstream_socks_hello(const struct upstream *u, struct buf *b)
{
	buf_add(b, u->credentials ? "\5\1\2" : "\5\1\0", 3);
	return !b->failed;
}

bool
upstream_socks_login(const struct upstream *u, struct buf *b)
{
	uint8_t user = (uint8_t)strlen(u->user);
	uint8_t password = (uint8_t)strlen(u->password);

	buf_add(b, "\1", 1);
	buf_add(b, &user, 1);
	buf_add(b, u->user, user);
	buf_add(b, &password, 1);
	buf_add(b, u->password, password);
	return !b->failed;
}

bool
upstream_socks_request(
    const struct domain_address *a, uint16_t port, struct buf *b)
{
	const uint8_t ends[2] = { (uint8_t)(port >> 8), (uint8_t)port };

	buf_add(b, a->v6 ? "\5\1\0\4" : "\5\1\0\1", 4);
	buf_add(b, a->b, a->v6 ? 16 : 4);
	buf_add(b, ends, sizeof(ends));
	return !b->failed;
}

const char *
upstream_http_status(const char *line)
{
	if (strncmp(line, "HTTP/1.", 7) != 0 || strlen(line) < 12 ||
	    line[8] != ' ' || (line[12] != ' ' && line[12] != '\r'))
		return "it is no HTTP proxy";
	if (line[9] == '2')
		return NULL;
	if (strncmp(line + 9, "407", 3) == 0)
		return "it wants another user and password";
	if (strncmp(line + 9, "403", 3) == 0)
		return "it forbids this";
	if (strncmp(line + 9, "504", 3) == 0)
		return "the site did not answer it";
	if (strncmp(line + 9, "502", 3) == 0 ||
	    strncmp(line + 9, "503", 3) == 0)
		return "it cannot reach the site";
	return "it refused with another status than 200";
}

const char *
upstream_socks_status(uint8_t code)
{
	static const char *const texts[] = {
		[1] = "it failed",
		[2] = "it forbids this",
		[3] = "it cannot reach the network",
		[4] = "it cannot reach the site",
		[5] = "the site refused the connection",
		[6] = "the site did not answer it",
		[7] = "it knows no CONNECT",
		[8] = "it does not know that form of address",
	};

	if (code == 0)
		return NULL;
	return code < sizeof(texts) / sizeof(texts[0])
	    ? texts[code]
	    : "it refused for a reason unknown";
}
