/*
 * host: reads the host of a request. Runs in egressd. Total, and strict: what
 * could be understood in two ways is refused.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "egressd/address.h"
#include "egressd/host.h"

#define PARTS_MAX 4

/* A number as of inet_aton(): decimal, 0 octal, 0x hexadecimal. */
static bool
read_number(const char *text, size_t len, uint64_t *ret_value)
{
	unsigned int base = 10;
	uint64_t value = 0;

	if (len >= 2 && text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
		len -= 2;
	} else if (len >= 2 && text[0] == '0') {
		base = 8;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned int digit;

		if (!isxdigit(c))
			return false;
		digit = (unsigned int)(isdigit(c) ? c - '0' : c - 'a' + 10);
		if (digit >= base || value > UINT32_MAX)
			return false;
		value = value * base + digit;
	}
	*ret_value = value;
	return value <= UINT32_MAX;
}

/* Whether the last label is a number: then it is an address or nothing. */
static bool
ends_in_number(const char *name)
{
	const char *last = strrchr(name, '.');
	size_t len;

	last = last == NULL ? name : last + 1;
	len = strlen(last);
	if (len > 0 && strspn(last, "0123456789") == len)
		return true;
	return len >= 2 && last[0] == '0' && last[1] == 'x' &&
	    strspn(last + 2, "0123456789abcdef") == len - 2;
}

/* One to four numbers; the last one fills what is left. */
static bool
read_v4(const char *name, struct domain_address *ret_address)
{
	uint64_t parts[PARTS_MAX], value = 0;
	const char *from = name;
	uint32_t be;
	size_t n = 0;

	for (;;) {
		const char *dot = strchr(from, '.');
		size_t len = dot == NULL ? strlen(from) : (size_t)(dot - from);

		if (n == PARTS_MAX || len == 0 ||
		    !read_number(from, len, &parts[n++]))
			return false;
		if (dot == NULL)
			break;
		from = dot + 1;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		if (parts[i] > 255)
			return false;
		value |= parts[i] << (24 - 8 * i);
	}
	if (parts[n - 1] >> (8 * (PARTS_MAX + 1 - n)) != 0)
		return false;
	be = htonl((uint32_t)(value | parts[n - 1]));
	address_from_v4(ret_address, &be);
	return true;
}

/* With or without brackets; no zone. */
static bool
read_v6(const char *text, size_t len, struct domain_address *ret_address)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr six;

	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (inet_pton(AF_INET6, copy, &six) != 1)
		return false;
	address_from_v6(ret_address, &six);
	return true;
}

/* Letters, digits, - and _ in labels of 1 to 63, in lower case. */
static bool
read_labels(const char *text, size_t len, char ret_name[DOMAIN_NAME_BYTES])
{
	size_t label = 0;

	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len >= DOMAIN_NAME_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
		} else if (!isascii(c) ||
		    (!isalnum(c) && c != '-' && c != '_') || ++label > 63) {
			return false;
		}
		ret_name[i] = (char)tolower(c);
	}
	ret_name[len] = '\0';
	return label > 0;
}

static bool
is_localhost(const char *name)
{
	static const char local[] = "localhost";
	size_t len = strlen(name), want = sizeof(local) - 1;

	return len >= want && strcmp(name + len - want, local) == 0 &&
	    (len == want || name[len - want - 1] == '.');
}

static enum host_kind
host_kind(struct host *h, const char *text, size_t len)
{
	if (memchr(text, ':', len) != NULL)
		return read_v6(text, len, &h->address) ? HOST_ADDRESS
						       : HOST_BAD;
	if (!read_labels(text, len, h->name))
		return HOST_BAD;
	if (is_localhost(h->name))
		return HOST_LOCAL;
	if (!ends_in_number(h->name))
		return HOST_NAME;
	return read_v4(h->name, &h->address) ? HOST_ADDRESS : HOST_BAD;
}

void
host_read(struct host *ret_host, const void *bytes, size_t len)
{
	struct host *h = ret_host;
	const char *text = bytes;

	memset(h, 0, sizeof(*h));
	for (size_t i = 0; i < len && i < HOST_BYTES - 1; i++)
		h->text[i] =
		    (char)(text[i] > ' ' && text[i] <= '~' ? text[i] : '?');
	h->kind = len < HOST_BYTES ? host_kind(h, text, len) : HOST_BAD;
	if (h->kind == HOST_ADDRESS || h->kind == HOST_BAD)
		h->name[0] = '\0';
}

void
host_from_address(struct host *ret_host, const struct domain_address *a)
{
	memset(ret_host, 0, sizeof(*ret_host));
	ret_host->kind = HOST_ADDRESS;
	ret_host->address = *a;
	address_format(a, ret_host->text);
}
