/*
 * address: classes of addresses, after the registries of special-purpose
 * addresses (RFC 6890) and what clouds do. Runs in egressd. Whatever is not
 * known to be public is not.
 */
#include <arpa/inet.h>
#include <string.h>

#include "common/panic.h"
#include "egressd/address.h"

struct prefix {
	uint8_t b[16];
	uint8_t bits;
	enum address_class class;
};

/* The first that matches decides; what none does is public. */
static const struct prefix v4_prefixes[] = {
	{ { 0 }, 8, ADDRESS_UNSPECIFIED },
	{ { 10 }, 8, ADDRESS_PRIVATE },
	{ { 100, 100, 100, 200 }, 32, ADDRESS_METADATA },
	{ { 100, 64 }, 10, ADDRESS_PRIVATE },
	{ { 127 }, 8, ADDRESS_LOOPBACK },
	{ { 168, 63, 129, 16 }, 32, ADDRESS_METADATA },
	{ { 169, 254, 169, 254 }, 32, ADDRESS_METADATA },
	{ { 169, 254, 170, 2 }, 32, ADDRESS_METADATA },
	{ { 169, 254 }, 16, ADDRESS_LINK_LOCAL },
	{ { 172, 16 }, 12, ADDRESS_PRIVATE },
	{ { 192, 0, 0, 192 }, 32, ADDRESS_METADATA },
	{ { 192, 0, 0 }, 24, ADDRESS_RESERVED },
	{ { 192, 0, 2 }, 24, ADDRESS_DOCUMENTATION },
	{ { 192, 88, 99 }, 24, ADDRESS_TUNNEL },
	{ { 192, 168 }, 16, ADDRESS_PRIVATE },
	{ { 198, 18 }, 15, ADDRESS_RESERVED },
	{ { 198, 51, 100 }, 24, ADDRESS_DOCUMENTATION },
	{ { 203, 0, 113 }, 24, ADDRESS_DOCUMENTATION },
	{ { 224 }, 4, ADDRESS_MULTICAST },
	{ { 255, 255, 255, 255 }, 32, ADDRESS_BROADCAST },
	{ { 240 }, 4, ADDRESS_RESERVED },
};

/* What none matches is reserved: only 2000::/3 is given out. */
static const struct prefix v6_prefixes[] = {
	{ { 0 }, 128, ADDRESS_UNSPECIFIED },
	{ { [15] = 1 }, 128, ADDRESS_LOOPBACK },
	{ { [8] = 0xff, 0xff }, 96, ADDRESS_TRANSLATED },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, ADDRESS_TRANSLATED },
	{ { 0x20, 0x01 }, 32, ADDRESS_TUNNEL },
	{ { 0x20, 0x01 }, 23, ADDRESS_RESERVED },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, ADDRESS_DOCUMENTATION },
	{ { 0x20, 0x02 }, 16, ADDRESS_TUNNEL },
	{ { 0x3f, 0xff }, 20, ADDRESS_DOCUMENTATION },
	{ { 0x20 }, 3, ADDRESS_PUBLIC },
	{ { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 }, 128,
	    ADDRESS_METADATA },
	{ { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 }, 128,
	    ADDRESS_METADATA },
	{ { 0xfc }, 7, ADDRESS_UNIQUE_LOCAL },
	{ { 0xfe, 0x80 }, 10, ADDRESS_LINK_LOCAL },
	{ { 0xff }, 8, ADDRESS_MULTICAST },
};

static const struct {
	const char *name;
	bool local;  /* open to runs of users of this machine */
	bool remote; /* open to all */
} classes[ADDRESS_CLASS__MAX] = {
	[ADDRESS_PUBLIC] = { "public", true, true },
	[ADDRESS_LOOPBACK] = { "loopback", true, false },
	[ADDRESS_PRIVATE] = { "private", true, false },
	[ADDRESS_UNIQUE_LOCAL] = { "unique local", true, false },
	[ADDRESS_LINK_LOCAL] = { "link-local", false, false },
	[ADDRESS_METADATA] = { "metadata", false, false },
	[ADDRESS_UNSPECIFIED] = { "unspecified", false, false },
	[ADDRESS_MULTICAST] = { "multicast", false, false },
	[ADDRESS_BROADCAST] = { "broadcast", false, false },
	[ADDRESS_DOCUMENTATION] = { "documentation", false, false },
	[ADDRESS_TUNNEL] = { "tunnel", false, false },
	[ADDRESS_TRANSLATED] = { "translated", false, false },
	[ADDRESS_RESERVED] = { "reserved", false, false },
};

static const uint8_t mapped[12] = { [10] = 0xff, 0xff };
static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

void
address_from_v4(struct domain_address *a, const void *bytes)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->b, bytes, 4);
}

void
address_from_v6(struct domain_address *a, const void *bytes)
{
	const uint8_t *b = bytes;

	if (memcmp(b, mapped, sizeof(mapped)) == 0) {
		address_from_v4(a, b + sizeof(mapped));
		return;
	}
	a->v6 = true;
	memcpy(a->b, b, 16);
}

static bool
prefix_holds(const struct prefix *p, const uint8_t *b)
{
	unsigned int whole = p->bits / 8, rest = p->bits % 8;

	return memcmp(p->b, b, whole) == 0 &&
	    (rest == 0 ||
		((p->b[whole] ^ b[whole]) & (0xff00 >> rest) & 0xff) == 0);
}

bool
address_inner(const struct domain_address *a, struct domain_address *ret_v4)
{
	if (!a->v6 || memcmp(a->b, nat64, sizeof(nat64)) != 0)
		return false;
	address_from_v4(ret_v4, a->b + sizeof(nat64));
	return true;
}

/* An interface id that names the IPv4 address at which a tunnel ends. */
static bool
is_isatap(const struct domain_address *a, struct domain_address *ret_v4)
{
	static const uint8_t mark[3] = { 0x00, 0x5e, 0xfe };

	if ((a->b[8] & 0xfd) != 0 || memcmp(a->b + 9, mark, 3) != 0)
		return false;
	address_from_v4(ret_v4, a->b + 12);
	return true;
}

enum address_class
address_classify(const struct domain_address *a)
{
	const struct prefix *table = a->v6 ? v6_prefixes : v4_prefixes;
	size_t n = a->v6 ? sizeof(v6_prefixes) / sizeof(v6_prefixes[0])
			 : sizeof(v4_prefixes) / sizeof(v4_prefixes[0]);
	enum address_class class = a->v6 ? ADDRESS_RESERVED : ADDRESS_PUBLIC;
	struct domain_address inner;

	if (address_inner(a, &inner))
		return address_classify(&inner);
	for (size_t i = 0; i < n; i++)
		if (prefix_holds(&table[i], a->b)) {
			class = table[i].class;
			break;
		}
	/* A tunnel into what is not public hides behind any prefix. */
	if (a->v6 && address_class_allowed(class, true) &&
	    is_isatap(a, &inner) && address_classify(&inner) != ADDRESS_PUBLIC)
		return ADDRESS_TUNNEL;
	return class;
}

bool
address_class_allowed(enum address_class class, bool local)
{
	ASSERT(class < ADDRESS_CLASS__MAX);
	return local ? classes[class].local : classes[class].remote;
}

const char *address_class_name(enum address_class class)
{
	ASSERT(class < ADDRESS_CLASS__MAX);
	return classes[class].name;
}

void
address_format(
    const struct domain_address *a, char ret_text[ADDRESS_TEXT_BYTES])
{
	if (inet_ntop(a->v6 ? AF_INET6 : AF_INET, a->b, ret_text,
		ADDRESS_TEXT_BYTES) == NULL)
		panic("an address has a text");
}

socklen_t
address_sockaddr(const struct domain_address *a, uint16_t port,
    struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_addr;
	struct sockaddr_in *four = (struct sockaddr_in *)ret_addr;

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (a->v6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		memcpy(&six->sin6_addr, a->b, 16);
		return sizeof(*six);
	}
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	memcpy(&four->sin_addr, a->b, 4);
	return sizeof(*four);
}
