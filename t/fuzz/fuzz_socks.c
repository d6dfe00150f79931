/*
 * What a browser sends to egressd: any bytes, taken in pieces as long as the
 * first byte says, end in one verdict; never is more taken than was asked for,
 * and the pieces make no difference. The host of a request is one kind of
 * thing, and what libc takes for an address is never a name.
 */
#include <arpa/inet.h>
#include <string.h>

#include "common/panic.h"
#include "egressd/address.h"
#include "egressd/socks.h"
#include "t/fuzz/fuzz.h"

static enum socks_verdict
feed(struct socks *s, const uint8_t *bytes, size_t size, size_t piece)
{
	enum socks_verdict v = SOCKS_MORE;
	size_t at = 0;

	socks_init(s);
	while (v == SOCKS_MORE || v == SOCKS_GREETED) {
		size_t n = socks_wants(s);

		ASSERT(n > 0 && s->len + n <= sizeof(s->bytes));
		if (n > piece)
			n = piece;
		if (n > size - at)
			return v;
		memcpy(s->bytes + s->len, bytes + at, n);
		at += n;
		v = socks_took(s, n);
	}
	return v;
}

static void
check_host(const struct host *h)
{
	char text[ADDRESS_TEXT_BYTES];
	struct in_addr libc;

	ASSERT(memchr(h->text, '\0', sizeof(h->text)) != NULL);
	for (const char *c = h->text; *c != '\0'; c++)
		ASSERT(*c > ' ' && *c <= '~');
	switch (h->kind) {
	case HOST_NAME:
		ASSERT(h->name[0] != '\0' && inet_aton(h->name, &libc) == 0);
		ASSERT(strstr(h->name, "..") == NULL);
		break;
	case HOST_LOCAL:
		ASSERT(strstr(h->name, "localhost") != NULL);
		break;
	case HOST_ADDRESS:
		ASSERT(h->name[0] == '\0');
		address_format(&h->address, text);
		ASSERT(
		    address_class_name(address_classify(&h->address)) != NULL);
		if (inet_aton(h->text, &libc) != 0)
			ASSERT(memcmp(h->address.b, &libc, 4) == 0);
		break;
	case HOST_BAD:
		ASSERT(h->name[0] == '\0');
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum socks_verdict whole, pieces;
	struct socks a, b;
	struct host h;

	if (size < 1)
		return 0;
	whole = feed(&a, bytes + 1, size - 1, SOCKS_BYTES);
	pieces = feed(&b, bytes + 1, size - 1, 1 + bytes[0] % 16);
	if (whole == SOCKS_REQUEST) {
		ASSERT(pieces == SOCKS_REQUEST && a.port == b.port);
		ASSERT(memcmp(&a.host, &b.host, sizeof(a.host)) == 0);
		ASSERT(a.port != 0);
		check_host(&a.host);
	}
	host_read(&h, bytes, size);
	check_host(&h);
	return 0;
}
