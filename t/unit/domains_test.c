/* Host patterns: what is read, what is refused and how, what matches. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "model/domains.h"
#include "t/unit/tap.h"

static const struct {
	const char *pattern;
	const char *host; /* a name, or an address when it is one */
	int port;
	bool matches;
} rows[] = {
	{ "example.com", "example.com", 80, true },
	{ "example.com", "EXAMPLE.com", 80, true },
	{ "ExAmple.COM", "example.com", 80, true },
	{ "example.com", "example.com.", 80, true },
	{ "example.com.", "example.com", 80, true },
	{ "example.com", "example.com..", 80, false },
	{ "example.com", "a.example.com", 80, false },
	{ "example.com", "badexample.com", 80, false },
	{ "example.com", "example.com.evil.org", 80, false },
	{ "example.com", "example.co", 80, false },
	{ "example.com", "", 80, false },
	{ "example.com", ".", 80, false },
	{ "*.example.com", "example.com", 80, false },
	{ "*.example.com", ".example.com", 80, false },
	{ "*.example.com", "a.example.com", 80, true },
	{ "*.example.com", "a.b.example.com.", 443, true },
	{ "*.example.com", "A.EXAMPLE.COM", 80, true },
	{ "*.example.com", "aexample.com", 80, false },
	{ "*.example.com", "a.example.com.org", 80, false },
	{ "*.com", "example.com", 80, true },
	{ "*.com", "com", 80, false },
	{ "com", "example.com", 80, false },
	{ "*", "anything.at.all", 1, true },
	{ "*", "192.0.2.1", 1, true },
	{ "*", "::1", 65535, true },
	{ "*:443", "example.com", 443, true },
	{ "*:443", "example.com", 80, false },
	{ "*:443", "::1", 443, true },
	{ "example.com:8443", "example.com", 8443, true },
	{ "example.com:8443", "example.com", 443, false },
	{ "*.example.com:1", "a.example.com", 1, true },
	{ "*.example.com:1", "a.example.com", 2, false },
	{ "192.0.2.1", "192.0.2.1", 80, true },
	{ "192.0.2.1", "192.0.2.2", 80, false },
	{ "192.0.2.1", "c000:0201::", 80, false },
	{ "192.0.2.1:80", "192.0.2.1", 80, true },
	{ "192.0.2.1:80", "192.0.2.1", 81, false },
	{ "192.0.2.1.", "192.0.2.1", 80, true },
	{ "10.0.0.0/8", "10.255.255.255", 80, true },
	{ "10.0.0.0/8", "11.0.0.0", 80, false },
	{ "10.0.0.0/8", "10.example.com", 80, false },
	{ "10.0.0.0/8:22", "10.1.1.1", 22, true },
	{ "10.0.0.0/8:22", "10.1.1.1", 23, false },
	{ "172.16.0.0/12", "172.31.255.255", 80, true },
	{ "172.16.0.0/12", "172.32.0.0", 80, false },
	{ "172.16.0.0/12", "172.15.255.255", 80, false },
	{ "128.0.0.0/1", "200.1.1.1", 80, true },
	{ "128.0.0.0/1", "127.1.1.1", 80, false },
	{ "0.0.0.0/0", "9.9.9.9", 80, true },
	{ "0.0.0.0/0", "::1", 80, false },
	{ "0.0.0.0/0", "example.com", 80, false },
	{ "192.0.2.4/31", "192.0.2.5", 80, true },
	{ "192.0.2.4/31", "192.0.2.6", 80, false },
	{ "192.0.2.4/32", "192.0.2.4", 80, true },
	{ "[::1]", "::1", 80, true },
	{ "::1", "::1", 80, true },
	{ "[::1]:80", "::1", 80, true },
	{ "[::1]:80", "::1", 81, false },
	{ "[::]", "::", 80, true },
	{ "2001:DB8::/32", "2001:db8:1::1", 80, true },
	{ "2001:db8::/32", "2001:db9::", 80, false },
	{ "[2001:db8::/33]:443", "2001:db8:7fff::", 443, true },
	{ "[2001:db8::/33]:443", "2001:db8:8000::", 443, false },
	{ "::/0", "::1", 80, true },
	{ "::/0", "1.1.1.1", 80, false },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example", 80, true },
	{ "_dmarc.example", "_dmarc.example", 80, true },
	{ "localhost", "localhost", 80, true },
	{ "a.0xg", "a.0xg", 80, true },
	{ "1.example", "1.example", 80, true },
};

static const struct {
	const char *pattern;
	const char *says; /* part of the reason */
} wrong[] = {
	{ "\n", "write a host" },
	{ " ", "write a host" },
	{ " example.com", "write a host" },
	{ "exa mple.com", "write a host" },
	{ ".", "write a host" },
	{ "..", "write a host" },
	{ ".example.com", "write a host" },
	{ "a..b", "write a host" },
	{ "a.b..", "write a host" },
	{ "b\xc3\xbc"
	  "cher.example",
	    "write a host" },
	{ "a@b.example", "write a host" },
	{ "a%2e.example", "write a host" },
	{ "a\tb", "write a host" },
	{ "http://example.com", "without scheme" },
	{ "//example.com", "without scheme" },
	{ "example.com/", "four numbers" },
	{ "example.com/8", "four numbers" },
	{ "*.", "write a host" },
	{ "*.*", "stands alone" },
	{ "**", "stands alone" },
	{ "a.*.b", "stands alone" },
	{ "*example.com", "stands alone" },
	{ "example.*", "stands alone" },
	{ "*.1.2.3.4", "no name ends in a number" },
	{ "*.0x7f", "no name ends in a number" },
	{ "127.1", "four numbers" },
	{ "2130706433", "four numbers" },
	{ "0x7f000001", "four numbers" },
	{ "0x", "four numbers" },
	{ "0177.0.0.1", "four numbers" },
	{ "127.0.0.256", "four numbers" },
	{ "1.2.3.4.5", "four numbers" },
	{ "a.1", "four numbers" },
	{ "example.com:", "a port is" },
	{ "example.com:0", "a port is" },
	{ "example.com:65536", "a port is" },
	{ "example.com:+1", "a port is" },
	{ "example.com:080000", "a port is" },
	{ "example.com:http", "a port is" },
	{ ":80", "write a host" },
	{ "*:0", "a port is" },
	{ "[::1", "no ]" },
	{ "[::1]80", "only :PORT" },
	{ "[::1]:", "a port is" },
	{ "[127.0.0.1]", "no IPv6" },
	{ "[]", "no IPv6" },
	{ "[::1%lo]", "no IPv6" },
	{ "fe80::1%eth0", "no IPv6" },
	{ "1:2:3", "no IPv6" },
	{ "::ffff:10.0.0.1", "IPv4 address that is inside" },
	{ "[::ffff:0:0/96]", "IPv4 address that is inside" },
	{ "10.0.0.1/8", "behind the prefix" },
	{ "192.0.2.5/31", "behind the prefix" },
	{ "2001:db8::1/32", "behind the prefix" },
	{ "10.0.0.0/", "number of bits" },
	{ "10.0.0.0/33", "number of bits" },
	{ "10.0.0.0/-1", "number of bits" },
	{ "10.0.0.0/08x", "number of bits" },
	{ "10.0.0.0/0008", "number of bits" },
	{ "::/129", "number of bits" },
};

static struct domain_list *
parse(const char *text, size_t len, char why[DOMAINS_WHY_BYTES])
{
	struct domain_list *l = NULL;

	why[0] = '\0';
	return domain_list_parse(text, len, &l, why) ? l : NULL;
}

static bool
parses(const char *text, size_t len)
{
	char why[DOMAINS_WHY_BYTES];
	struct domain_list *l = parse(text, len, why);
	bool good = l != NULL;

	domain_list_free(&l);
	return good;
}

static void
test_matches(void)
{
	char why[DOMAINS_WHY_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct domain_list *l =
		    parse(rows[i].pattern, strlen(rows[i].pattern), why);
		struct domain_address a = { 0 };
		bool is_v4 = inet_pton(AF_INET, rows[i].host, a.b) == 1;
		bool is_v6 = inet_pton(AF_INET6, rows[i].host, a.b) == 1;
		const char *found;

		if (!ok(l != NULL, "%s is read", rows[i].pattern)) {
			printf("#   %s\n", why);
			continue;
		}
		a.v6 = is_v6;
		found =
		    domain_list_match(l, is_v4 || is_v6 ? NULL : rows[i].host,
			is_v4 || is_v6 ? &a : NULL, (uint16_t)rows[i].port);
		ok((found != NULL) == rows[i].matches, "%s %s %s:%d",
		    rows[i].pattern, rows[i].matches ? "matches" : "is not",
		    rows[i].host, rows[i].port);
		if (found != NULL)
			is_str(found, rows[i].pattern, "as it was written");
		domain_list_free(&l);
	}
}

static void
test_wrong(void)
{
	char why[DOMAINS_WHY_BYTES];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct domain_list *l =
		    parse(wrong[i].pattern, strlen(wrong[i].pattern), why);

		if (!ok(l == NULL && strstr(why, wrong[i].says) != NULL,
			"refused, row %zu", i))
			printf("#   \"%s\": %s\n", wrong[i].pattern, why);
		domain_list_free(&l);
	}
}

static void
test_lists(void)
{
	static const char three[] = "a.example\n*.b.example:1\n10.0.0.0/8";
	const struct domain_address ten = { false, { 10 } };
	char why[DOMAINS_WHY_BYTES];
	struct domain_list *l = parse("", 0, why);

	ok(l != NULL && domain_list_count(l) == 0, "an empty list");
	ok(domain_list_match(l, "a", &ten, 1) == NULL, "matches nothing");
	ok(!domain_list_has_addresses(l), "has no addresses");
	domain_list_free(&l);
	l = parse(three, strlen(three), why);
	ok(l != NULL && domain_list_count(l) == 3, "a list of three");
	is_str(domain_list_match(l, "c.b.example", &ten, 1), "*.b.example:1",
	    "the first that matches");
	is_str(domain_list_match(l, "c.b.example", &ten, 2), "10.0.0.0/8",
	    "a name with its address");
	ok(domain_list_has_addresses(l), "has addresses");
	domain_list_free(&l);
	ok(parse("a\n", 2, why) == NULL, "no empty pattern at the end");
	ok(parse("a\n\nb", 4, why) == NULL, "nor in the middle");
	ok(parse("a\0b", 3, why) == NULL, "a NUL is no way to hide");
}

static void
test_bounds(void)
{
	char why[DOMAINS_WHY_BYTES], text[DOMAINS_BYTES + 1], name[300];
	struct domain_list *l;
	size_t len;

	memset(text, 'a', sizeof(text));
	for (size_t i = 1; i < 2 * DOMAINS_MAX; i += 2)
		text[i] = '\n';
	l = parse(text, 2 * DOMAINS_MAX - 1, why);
	ok(l != NULL && domain_list_count(l) == DOMAINS_MAX, "100 patterns");
	domain_list_free(&l);
	ok(parse(text, 2 * DOMAINS_MAX + 1, why) == NULL, "not 101");
	ok(strstr(why, "more than 100") != NULL, "says so");
	ok(parse(text, sizeof(text), why) == NULL, "too long a text");
	ok(strstr(why, "longer than") != NULL, "says so");
	len = 0;
	for (int i = 0; i < 4; i++) {
		memset(name + len, 'a' + i, 63);
		len += 63;
		name[len++] = '.';
	}
	ok(parses(name, 63), "a label of 63");
	name[63] = 'a';
	ok(parse(name, 64, why) == NULL, "not one of 64");
	name[63] = '.';
	ok(parses(name, 253), "a name of 253");
	ok(parse(name, 255, why) == NULL, "not one of 255");
}

int
main(void)
{
	test_matches();
	test_wrong();
	test_lists();
	test_bounds();
	return done_testing();
}
