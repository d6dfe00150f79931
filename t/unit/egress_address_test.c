/*
 * What hosts mean, however they are spelt: none of the spellings of an address
 * that must not be reached is taken for another, or for a name.
 */
#include <arpa/inet.h>

#include "egressd/address.h"
#include "egressd/host.h"
#include "egressd/judge.h"
#include "t/unit/tap.h"

enum want {
	LOOPBACK = ADDRESS_LOOPBACK,
	PRIVATE = ADDRESS_PRIVATE,
	ULA = ADDRESS_UNIQUE_LOCAL,
	LINK = ADDRESS_LINK_LOCAL,
	METADATA = ADDRESS_METADATA,
	UNSPECIFIED = ADDRESS_UNSPECIFIED,
	MULTICAST = ADDRESS_MULTICAST,
	BROADCAST = ADDRESS_BROADCAST,
	DOCUMENTATION = ADDRESS_DOCUMENTATION,
	TUNNEL = ADDRESS_TUNNEL,
	TRANSLATED = ADDRESS_TRANSLATED,
	RESERVED = ADDRESS_RESERVED,
	BAD = ADDRESS_CLASS__MAX, /* no host at all: refused */
	HERE                      /* localhost */
};

/* All of them are refused to runs of strangers. */
static const struct {
	const char *host;
	enum want want;
} spellings[] = {
	/* Loopback. */
	{ "127.0.0.1", LOOPBACK },
	{ "127.0.0.1.", LOOPBACK },
	{ "127.1", LOOPBACK },
	{ "127.0.1", LOOPBACK },
	{ "127.1.", LOOPBACK },
	{ "127.255.255.254", LOOPBACK },
	{ "127.16777215", LOOPBACK },
	{ "2130706433", LOOPBACK },
	{ "2130706433.", LOOPBACK },
	{ "0x7f000001", LOOPBACK },
	{ "0X7F000001", LOOPBACK },
	{ "0x7F.0x0.0x0.0x1", LOOPBACK },
	{ "0x7f.1", LOOPBACK },
	{ "0x7f.0.1", LOOPBACK },
	{ "0x0000007f.1", LOOPBACK },
	{ "0177.0.0.1", LOOPBACK },
	{ "0177.1", LOOPBACK },
	{ "017700000001", LOOPBACK },
	{ "00000000177.0x1", LOOPBACK },
	{ "127.0.0x0.01", LOOPBACK },
	{ "127.0000.0000.0001", LOOPBACK },
	{ "127.0.0.0x1", LOOPBACK },
	{ "::1", LOOPBACK },
	{ "[::1]", LOOPBACK },
	{ "0:0:0:0:0:0:0:1", LOOPBACK },
	{ "0000:0000:0000:0000:0000:0000:0000:0001", LOOPBACK },
	{ "::0:1", LOOPBACK },
	{ "::0.0.0.1", LOOPBACK },
	{ "::ffff:127.0.0.1", LOOPBACK },
	{ "[::FFFF:127.0.0.1]", LOOPBACK },
	{ "::ffff:7f00:1", LOOPBACK },
	{ "0:0:0:0:0:ffff:7f00:0001", LOOPBACK },
	{ "64:ff9b::127.0.0.1", LOOPBACK },
	{ "64:ff9b::7f00:1", LOOPBACK },
	{ "localhost", HERE },
	{ "LOCALHOST", HERE },
	{ "localhost.", HERE },
	{ "a.localhost", HERE },
	{ "a.b.LocalHost.", HERE },
	/* Private. */
	{ "10.0.0.0", PRIVATE },
	{ "10.255.255.255", PRIVATE },
	{ "10.1", PRIVATE },
	{ "0xa.1", PRIVATE },
	{ "012.1", PRIVATE },
	{ "167772161", PRIVATE },
	{ "0x0a000001", PRIVATE },
	{ "172.16.0.1", PRIVATE },
	{ "172.31.255.255", PRIVATE },
	{ "172.1048577", PRIVATE },
	{ "0254.020.1", PRIVATE },
	{ "192.168.0.1", PRIVATE },
	{ "192.168.1", PRIVATE },
	{ "3232235521", PRIVATE },
	{ "0xc0a80001", PRIVATE },
	{ "0300.0250.0.1", PRIVATE },
	{ "100.64.0.1", PRIVATE },
	{ "100.127.255.255", PRIVATE },
	{ "::ffff:10.0.0.1", PRIVATE },
	{ "::ffff:c0a8:1", PRIVATE },
	{ "64:ff9b::10.0.0.1", PRIVATE },
	{ "64:ff9b::192.168.0.1", PRIVATE },
	{ "[64:ff9b::ac10:1]", PRIVATE },
	{ "fc00::1", ULA },
	{ "fd12:3456:789a::1", ULA },
	{ "[fdff:ffff::]", ULA },
	/* Link-local, and where credentials are. */
	{ "169.254.0.1", LINK },
	{ "169.254.1", LINK },
	{ "169.254.255.255", LINK },
	{ "0xa9.0xfe.1.1", LINK },
	{ "fe80::1", LINK },
	{ "[febf::1]", LINK },
	{ "::ffff:169.254.1.1", LINK },
	{ "169.254.169.254", METADATA },
	{ "169.254.43518", METADATA },
	{ "2852039166", METADATA },
	{ "0xa9fea9fe", METADATA },
	{ "0251.0376.0251.0376", METADATA },
	{ "0xA9.0xFE.0xA9.0xFE", METADATA },
	{ "169.254.0251.254", METADATA },
	{ "169.16689662", METADATA },
	{ "::ffff:169.254.169.254", METADATA },
	{ "::ffff:a9fe:a9fe", METADATA },
	{ "64:ff9b::169.254.169.254", METADATA },
	{ "64:ff9b::a9fe:a9fe", METADATA },
	{ "169.254.170.2", METADATA },
	{ "100.100.100.200", METADATA },
	{ "192.0.0.192", METADATA },
	{ "168.63.129.16", METADATA },
	{ "fd00:ec2::254", METADATA },
	{ "fd20:ce::254", METADATA },
	/* This network, nobody, everybody. */
	{ "0.0.0.0", UNSPECIFIED },
	{ "0", UNSPECIFIED },
	{ "0.", UNSPECIFIED },
	{ "0x0", UNSPECIFIED },
	{ "0x", UNSPECIFIED },
	{ "00", UNSPECIFIED },
	{ "0.0", UNSPECIFIED },
	{ "0.1.2.3", UNSPECIFIED },
	{ "::", UNSPECIFIED },
	{ "[::]", UNSPECIFIED },
	{ "::ffff:0.0.0.0", UNSPECIFIED },
	{ "224.0.0.1", MULTICAST },
	{ "239.255.255.255", MULTICAST },
	{ "3758096385", MULTICAST },
	{ "ff02::1", MULTICAST },
	{ "255.255.255.255", BROADCAST },
	{ "4294967295", BROADCAST },
	{ "0xffffffff", BROADCAST },
	{ "037777777777", BROADCAST },
	/* What nobody should be at. */
	{ "192.0.2.1", DOCUMENTATION },
	{ "198.51.100.1", DOCUMENTATION },
	{ "203.0.113.1", DOCUMENTATION },
	{ "2001:db8::1", DOCUMENTATION },
	{ "3fff::1", DOCUMENTATION },
	{ "192.0.0.1", RESERVED },
	{ "198.18.0.1", RESERVED },
	{ "198.19.255.255", RESERVED },
	{ "240.0.0.1", RESERVED },
	{ "254.1.1.1", RESERVED },
	{ "::127.0.0.1", RESERVED },
	{ "::10.0.0.1", RESERVED },
	{ "::8.8.8.8", RESERVED },
	{ "100::1", RESERVED },
	{ "fec0::1", RESERVED },
	{ "5f00::1", RESERVED },
	{ "4000::1", RESERVED },
	{ "2001:10::1", RESERVED },
	{ "2001:20::1", RESERVED },
	/* Ways into other networks. */
	{ "2002:7f00:1::1", TUNNEL },
	{ "2002:a9fe:a9fe::", TUNNEL },
	{ "2002:808:808::1", TUNNEL },
	{ "2001:0:4136:e378:8000:63bf:3fff:fdd2", TUNNEL },
	{ "2001::1", TUNNEL },
	{ "192.88.99.1", TUNNEL },
	{ "2606:4700::5efe:10.0.0.1", TUNNEL },
	{ "2606:4700::200:5efe:127.0.0.1", TUNNEL },
	{ "fd00::5efe:169.254.169.254", TUNNEL },
	{ "64:ff9b:1::1", TRANSLATED },
	{ "64:ff9b:1:fffe::127.0.0.1", TRANSLATED },
	{ "::ffff:0:127.0.0.1", TRANSLATED },
	{ "::ffff:0:808:808", TRANSLATED },
	/* No address and no name either. */
	{ "", BAD },
	{ ".", BAD },
	{ "..", BAD },
	{ "127.0.0.1..", BAD },
	{ ".127.0.0.1", BAD },
	{ "127..1", BAD },
	{ "127.0.0.256", BAD },
	{ "127.0.0.1.0", BAD },
	{ "1.2.3.4.5", BAD },
	{ "256.1.1.1", BAD },
	{ "127.0.0.08", BAD },
	{ "127.0.0.09", BAD },
	{ "0x7g.1", BAD },
	{ "a.1", BAD },
	{ "example.0x7f", BAD },
	{ "example.127", BAD },
	{ "4294967296", BAD },
	{ "0x100000000", BAD },
	{ "127.16777216", BAD },
	{ "99999999999999999999", BAD },
	{ "0x7f000001ffffffffffffffffffff", BAD },
	{ "127.0.0.1 ", BAD },
	{ " 127.0.0.1", BAD },
	{ "127.0.0.1%00", BAD },
	{ "127.0.0.1/", BAD },
	{ "127.0.0.1:80", BAD },
	{ "user@127.0.0.1", BAD },
	{ "[127.0.0.1]", BAD },
	{ "[::1", BAD },
	{ "::1]", BAD },
	{ "[[::1]]", BAD },
	{ "::1%lo", BAD },
	{ "[fe80::1%25eth0]", BAD },
	{ "[::ffff:127.1]", BAD },
	{ ":::1", BAD },
	{ "1::2::3", BAD },
	{ "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1", BAD },
	{ "\xe2\x91\xa0.1", BAD },
	{ "loc\xc3\xa1lhost", BAD },
	{ "local host", BAD },
	{ "localhost\n", BAD },
	{ "+127.0.0.1", BAD },
};

static const struct {
	const char *host;
	const char *means; /* an address */
} good[] = {
	{ "8.8.8.8", "8.8.8.8" },
	{ "0x8.8.2056", "8.8.8.8" },
	{ "134744072", "8.8.8.8" },
	{ "010.010.010.010", "8.8.8.8" },
	{ "::ffff:8.8.8.8", "8.8.8.8" },
	{ "2606:4700:4700::1111", "2606:4700:4700::1111" },
	{ "[2606:4700:4700::1111]", "2606:4700:4700::1111" },
	{ "64:ff9b::8.8.8.8", "64:ff9b::808:808" },
	{ "2606:4700::5efe:8.8.8.8", "2606:4700::5efe:808:808" },
	{ "1.1.1.1.", "1.1.1.1" },
	{ "128.0.0.1", "128.0.0.1" },
	{ "126.255.255.255", "126.255.255.255" },
	{ "11.0.0.0", "11.0.0.0" },
	{ "9.255.255.255", "9.255.255.255" },
	{ "172.15.255.255", "172.15.255.255" },
	{ "172.32.0.0", "172.32.0.0" },
	{ "192.167.255.255", "192.167.255.255" },
	{ "192.169.0.0", "192.169.0.0" },
	{ "169.253.255.255", "169.253.255.255" },
	{ "169.255.0.0", "169.255.0.0" },
	{ "100.63.255.255", "100.63.255.255" },
	{ "100.128.0.0", "100.128.0.0" },
	{ "198.17.255.255", "198.17.255.255" },
	{ "198.20.0.0", "198.20.0.0" },
	{ "223.255.255.255", "223.255.255.255" },
	{ "2001:200::1", "2001:200::1" },
	{ "2003::1", "2003::1" },
	{ "3ffe::1", "3ffe::1" },
};

static const char *const names[] = { "example.com", "EXAMPLE.com.", "a",
	"localhost.example", "notlocalhost", "1.example", "0x7f.example", "1e1",
	"0xfg", "127.0.0.1.example", "xn--bcher-kva.example", "_x.y", "-1" };

static struct host
read_text(const char *text)
{
	struct host h;

	host_read(&h, text, strlen(text));
	return h;
}

static void
test_spelling(const char *text, enum want want)
{
	struct host h = read_text(text);
	enum address_class class;

	if (want == BAD) {
		ok(h.kind == HOST_BAD, "\"%s\" is nothing", h.text);
		return;
	}
	if (want == HERE) {
		ok(h.kind == HOST_LOCAL, "%s is this machine", text);
		return;
	}
	if (!ok(h.kind == HOST_ADDRESS, "%s is an address", text))
		return;
	class = address_classify(&h.address);
	ok(class == (enum address_class)want, "%s is %s", text,
	    address_class_name(class));
	ok(!address_class_allowed(class, false), "and refused to strangers");
	ok(address_class_allowed(class, true) ==
		(want == LOOPBACK || want == PRIVATE || want == ULA),
	    "and to others if not loopback or private");
}

static void
test_spellings(void)
{
	int n = 0;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]);
	     i++, n++)
		test_spelling(spellings[i].host, spellings[i].want);
	ok(n >= 120, "%d spellings", n);
}

static void
test_good(void)
{
	char text[ADDRESS_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct host h = read_text(good[i].host);

		if (!ok(h.kind == HOST_ADDRESS, "%s is an address",
			good[i].host))
			continue;
		address_format(&h.address, text);
		is_str(text, good[i].means, "this one");
		ok(address_classify(&h.address) == ADDRESS_PUBLIC,
		    "which is public");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ok(read_text(names[i]).kind == HOST_NAME, "%s is a name",
		    names[i]);
	is_str(read_text("EXAMPLE.com.").name, "example.com", "as it is asked");
	is_str(read_text("EXAMPLE.com.").text, "EXAMPLE.com.", "and as given");
}

/* What libc takes for an address is that address or refused. */
static void
test_inet_aton(void)
{
	static const char digits[] = "0123456789abfx.";
	unsigned int x = 1, differ = 0, taken = 0;
	char text[16];

	for (int round = 0; round < 300000; round++) {
		size_t len = 1 + (x >> 8) % 12;
		struct in_addr libc;
		struct host h;

		for (size_t i = 0; i < len; i++) {
			x = x * 1103515245U + 12345U;
			text[i] = digits[(x >> 16) % (sizeof(digits) - 1)];
		}
		text[len] = '\0';
		h = read_text(text);
		if (inet_aton(text, &libc) == 0)
			continue;
		taken++;
		if (h.kind == HOST_BAD ||
		    (h.kind == HOST_ADDRESS &&
			memcmp(h.address.b, &libc, 4) == 0))
			continue;
		differ++;
		printf("# %s\n", text);
	}
	is_int(differ, 0, "libc understands no address otherwise");
	ok(taken > 1000, "of %u that it understands", taken);
}

static struct domain_list *
list(const char *text)
{
	char why[DOMAINS_WHY_BYTES];
	struct domain_list *l = NULL;

	if (!domain_list_parse(text, strlen(text), &l, why))
		printf("# %s\n", why);
	return l;
}

struct lists {
	bool local;
	const char *service_forbidden, *run_forbidden;
	const char *service_allowed, *run_allowed;
	bool named, was_public;
	const char *kept, *near; /* NULL: empty */
};

/* The rule that refuses, "" for none; "name: " when before resolving. */
static const char *
judged(const struct lists *ls, const char *host, const char *address)
{
	static char rule[JUDGE_RULE_BYTES + 8], r[JUDGE_RULE_BYTES];
	struct domain_list *l[6] = { list(ls->service_forbidden),
		list(ls->run_forbidden), list(ls->service_allowed),
		list(ls->run_allowed), list(ls->kept == NULL ? "" : ls->kept),
		list(ls->near == NULL ? "" : ls->near) };
	const struct judge j = { .local = ls->local,
		.named = ls->named,
		.was_public = ls->was_public,
		.service_forbidden = l[0],
		.run_forbidden = l[1],
		.service_allowed = l[2],
		.run_allowed = l[3],
		.run_kept = l[4],
		.service_local = l[5] };
	struct host h = read_text(host), a = read_text(address);

	rule[0] = '\0';
	if (!judge_host(&j, &h, 443, r))
		snprintf(rule, sizeof(rule), "name: %s", r);
	else if (!judge_address(&j, &h, &a.address, 443, r))
		snprintf(rule, sizeof(rule), "%s", r);
	for (size_t i = 0; i < 6; i++)
		domain_list_free(&l[i]);
	return rule;
}

/* Of a run's trust, the four lists in order, and fields that differ. */
#define LISTS(trust, of_service, of_run, allowed_service, ...)               \
	{                                                                    \
		.local = trust, .service_forbidden = of_service,             \
		.run_forbidden = of_run, .service_allowed = allowed_service, \
		.run_allowed = __VA_ARGS__                                   \
	}

static void
test_judge(void)
{
	static const struct {
		struct lists lists;
		const char *host, *address, *rule;
	} rows[] = {
		{ LISTS(false, "", "", "", ""), "a.example", "8.8.8.8", "" },
		{ LISTS(false, "", "", "", ""), "a.example", "10.0.0.1",
		    "class private" },
		{ LISTS(true, "", "", "", ""), "a.example", "10.0.0.1",
		    "class private: allowedDomains [\"*\", \"a.example\"] "
		    "permits it" },
		{ LISTS(true, "", "", "", "", .named = true), "a.example",
		    "10.0.0.1", "" },
		{ LISTS(true, "", "", "", "", .named = true), "a.example",
		    "169.254.169.254", "class metadata" },
		{ LISTS(false, "", "", "", "", .named = true), "a.example",
		    "10.0.0.1", "class private" },
		{ LISTS(
		      true, "", "", "", "", .named = true, .was_public = true),
		    "a.example", "::1",
		    "class loopback: the name was public before" },
		{ LISTS(
		      true, "", "", "", "", .named = true, .was_public = true),
		    "a.example", "8.8.8.8", "" },
		{ LISTS(true, "", "", "*", "*", .near = "*"), "a.example",
		    "fd00::1",
		    "class unique local: \"a.example\" in allowedDomains "
		    "permits it" },
		{ LISTS(true, "", "", "a.example", ""), "a.example", "10.0.0.1",
		    "" },
		{ LISTS(true, "", "", "", "*.example"), "a.example", "10.0.0.1",
		    "" },
		{ LISTS(true, "", "", "", "", .near = "10.0.0.0/8"),
		    "a.example", "10.0.0.1", "" },
		{ LISTS(true, "", "", "", "", .kept = "a.example"), "a.example",
		    "10.0.0.1", "" },
		{ LISTS(
		      true, "", "", "", "", .named = true, .kept = "b.example"),
		    "a.example", "8.8.8.8", "name: not in the client's hosts" },
		{ LISTS(true, "", "", "", "", .kept = "9.0.0.0/8"), "a.example",
		    "8.8.8.8", "not in the client's hosts" },
		{ LISTS(true, "", "", "", ""), "a.example", "169.254.169.254",
		    "class metadata" },
		{ LISTS(true, "a.example", "", "", ""), "a.example", "8.8.8.8",
		    "name: setting forbiddenDomains a.example" },
		{ LISTS(true, "", "*.example", "", ""), "a.example", "8.8.8.8",
		    "name: forbidden *.example" },
		{ LISTS(true, "", "8.8.0.0/16", "", ""), "a.example", "8.8.8.8",
		    "forbidden 8.8.0.0/16" },
		{ LISTS(true, "", "10.0.0.0/8", "", ""), "a.example",
		    "64:ff9b::10.1.1.1", "forbidden 10.0.0.0/8" },
		{ LISTS(true, "", "10.0.0.0/8", "", ""), "012.1", "10.0.0.1",
		    "forbidden 10.0.0.0/8" },
		{ LISTS(true, "", "", "b.example", ""), "a.example", "8.8.8.8",
		    "name: not in setting allowedDomains" },
		{ LISTS(true, "", "", "", "b.example"), "a.example", "8.8.8.8",
		    "name: not in allowedDomains" },
		{ LISTS(true, "", "", "", "a.example:80"), "a.example",
		    "8.8.8.8", "name: not in allowedDomains" },
		{ LISTS(true, "", "", "", "8.8.0.0/16"), "a.example", "8.8.8.8",
		    "" },
		{ LISTS(true, "", "", "", "8.8.0.0/16"), "a.example", "9.9.9.9",
		    "not in allowedDomains" },
		{ LISTS(false, "", "", "", "a.example"), "a.example",
		    "127.0.0.1", "class loopback" },
		{ LISTS(false, "", "", "*", "a.example"), "A.Example.",
		    "8.8.8.8", "" },
		{ LISTS(false, "", "a.example", "", "a.example"), "a.example",
		    "8.8.8.8", "name: forbidden a.example" },
		{ LISTS(true, "", "", "*.localhost", ""), "localhost",
		    "127.0.0.1", "name: not in setting allowedDomains" },
		{ LISTS(true, "", "localhost", "", ""), "localhost",
		    "127.0.0.1", "name: forbidden localhost" },
		{ LISTS(true, "", "", "", ""), "a b", "8.8.8.8",
		    "name: not a host name" },
		{ LISTS(true, "*", "", "", ""), "8.8.8.8", "8.8.8.8",
		    "name: setting forbiddenDomains *" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(judged(&rows[i].lists, rows[i].host, rows[i].address),
		    rows[i].rule, rows[i].host);
}

int
main(void)
{
	test_spellings();
	test_good();
	test_inet_aton();
	test_judge();
	return done_testing();
}
