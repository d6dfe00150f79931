/* The requests of browsers: whole, in every two pieces, cut, and wrong. */
#include "egressd/address.h"
#include "egressd/reports.h"
#include "egressd/socks.h"
#include "egressd/upstream_int.h"
#include "t/unit/tap.h"

/* A greeting and a request, as bytes; what comes of it. */
static const struct {
	const char *name;
	const char *bytes;
	size_t len;
	size_t used; /* of them: what is behind is the site's */
	enum socks_verdict verdict;
	const char *host;
	int port;
} rows[] = {
#define ROW(name, bytes, used, verdict, host, port)                       \
	{                                                                 \
		name, bytes, sizeof(bytes) - 1, used, verdict, host, port \
	}
	ROW("a name", "\5\1\0\5\1\0\3\1a\1\273", 11, SOCKS_REQUEST, "a", 443),
	ROW("a name and what follows", "\5\1\0\5\1\0\3\1a\0\120GET / HTTP", 11,
	    SOCKS_REQUEST, "a", 80),
	ROW("an IPv4 address", "\5\1\0\5\1\0\1\177\0\0\1\0\120", 13,
	    SOCKS_REQUEST, "127.0.0.1", 80),
	ROW("an IPv6 address",
	    "\5\1\0\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\377\377", 25,
	    SOCKS_REQUEST, "::1", 65535),
	ROW("three methods", "\5\3\2\1\0\5\1\0\3\1b\0\1", 13, SOCKS_REQUEST,
	    "b", 1),
	ROW("no method that is known", "\5\2\1\2", 4, SOCKS_NOBODY, "", 0),
	ROW("no method at all", "\5\0", 2, SOCKS_BROKEN, "", 0),
	ROW("version 4", "\4\1\0\120\177\0\0\1\0", 1, SOCKS_BROKEN, "", 0),
	ROW("HTTP", "GET / HTTP/1.1\r\n", 1, SOCKS_BROKEN, "", 0),
	ROW("TLS", "\26\3\1\2\0\1", 1, SOCKS_BROKEN, "", 0),
	ROW("another version in the request", "\5\1\0\4\1\0\3\1a\0\120", 4,
	    SOCKS_BROKEN, "", 0),
	ROW("BIND", "\5\1\0\5\2\0\1\1\2\3\4\0\120", 8, SOCKS_COMMAND, "", 0),
	ROW("UDP ASSOCIATE", "\5\1\0\5\3\0\1\1\2\3\4\0\120", 8, SOCKS_COMMAND,
	    "", 0),
	ROW("a reserved byte", "\5\1\0\5\1\1\1\1\2\3\4\0\120", 8, SOCKS_BROKEN,
	    "", 0),
	ROW("an unknown form", "\5\1\0\5\1\0\2\1\2\3\4\0\120", 8, SOCKS_FORM,
	    "", 0),
	ROW("an empty name", "\5\1\0\5\1\0\3\0\0\120", 8, SOCKS_BROKEN, "", 0),
	ROW("port 0", "\5\1\0\5\1\0\3\1a\0\0", 11, SOCKS_BROKEN, "", 0),
};

/* Feeds pieces as a socket would; returns the last verdict. */
static enum socks_verdict
feed(struct socks *s, const char *bytes, size_t len, size_t piece,
    size_t *ret_used)
{
	enum socks_verdict v = SOCKS_MORE;
	size_t at = 0, ready = piece < len ? piece : len;

	socks_init(s);
	while (v == SOCKS_MORE || v == SOCKS_GREETED) {
		size_t n = socks_wants(s);

		if (at == ready) {
			if (ready == len)
				break;
			ready = len;
		}
		if (n > ready - at)
			n = ready - at;
		memcpy(s->bytes + s->len, bytes + at, n);
		at += n;
		v = socks_took(s, n);
	}
	*ret_used = at;
	return v;
}

static void
test_rows(void)
{
	struct socks s;
	size_t used;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int bad = 0, early = 0;

		for (size_t piece = 1; piece <= rows[i].len; piece++) {
			enum socks_verdict v =
			    feed(&s, rows[i].bytes, rows[i].len, piece, &used);

			if (v != rows[i].verdict)
				bad++;
			if (v == SOCKS_REQUEST &&
			    (used != rows[i].used || s.port != rows[i].port ||
				strcmp(s.host.text, rows[i].host) != 0))
				bad++;
		}
		is_int(bad, 0, rows[i].name);
		if (rows[i].verdict != SOCKS_REQUEST)
			continue;
		for (size_t cut = 0; cut < rows[i].used; cut++) {
			enum socks_verdict v =
			    feed(&s, rows[i].bytes, cut, cut, &used);

			early += v != SOCKS_MORE && v != SOCKS_GREETED;
		}
		is_int(early, 0, "nothing comes of a part of it");
	}
}

static void
test_longest(void)
{
	char bytes[3 + SOCKS_BYTES] = "\5\1\0\5\1\0\3\377";
	struct socks s;
	size_t used;

	memset(bytes + 8, 'a', 255);
	bytes[8 + 63] = bytes[8 + 127] = bytes[8 + 191] = '.';
	bytes[8 + 255] = 0;
	bytes[8 + 256] = 80;
	is_int(feed(&s, bytes, sizeof(bytes), 300, &used), SOCKS_REQUEST,
	    "a name of 255");
	is_int(s.host.kind, HOST_BAD, "is none that can be asked for");
	is_int(strlen(s.host.text), 255, "but can be told");
	bytes[8 + 253] = '.';
	is_int(feed(&s, bytes, sizeof(bytes), 300, &used), SOCKS_REQUEST,
	    "255 with a NUL");
}

static void
test_reply(void)
{
	uint8_t reply[SOCKS_REPLY_BYTES];

	socks_reply(SOCKS_NOT_ALLOWED, reply);
	ok(memcmp(reply, "\5\2\0\1\0\0\0\0\0\0", 10) == 0, "a refusal");
	socks_reply(SOCKS_GRANTED, reply);
	ok(memcmp(reply, "\5\0\0\1\0\0\0\0\0\0", 10) == 0, "a grant");
}

static void
test_reports(void)
{
	struct reports *r = reports_new();
	char host[32];
	int told = 0;

	ok(reports_due(r, "a", 80, EGRESS_REFUSED, 0), "the first is told");
	ok(!reports_due(r, "a", 80, EGRESS_REFUSED, 999), "not again at once");
	ok(reports_due(r, "a", 81, EGRESS_REFUSED, 999), "another port is");
	ok(reports_due(r, "a", 80, EGRESS_DNS, 999), "another outcome is");
	ok(reports_due(r, "a", 80, EGRESS_REFUSED, 1000), "a second later");
	for (int i = 0; i < 1000; i++) {
		snprintf(host, sizeof(host), "h%d", i);
		told += reports_due(r, host, 1, EGRESS_REFUSED, 5000);
	}
	is_int(told, 100, "of a thousand hosts at once, a hundred");
	ok(reports_due(r, "h999", 1, EGRESS_REFUSED, 6000), "then again");
	reports_free(&r);
}

static void
test_upstream(void)
{
	static const char *const wrong[] = { "", "http://", "ftp://a:1",
		"http://a", "http://a:", "http://a:0", "http://a:65536",
		"http://a:1/", "http://u@a:1", "http://u:%zz@a:1",
		"http://u:%00@a:1", "http://u:%4@a:1", "http://:1",
		"http://a b:1", "http://[::1:1", "socks5://a:-1" };
	const uint8_t eight[4] = { 8, 8, 8, 8 };
	struct upstream *u = upstream_new("http://us%65r:p%40ss@[::1]:3128");
	struct domain_address a;
	struct buf b;

	address_from_v4(&a, eight);
	buf_init(&b, 4096);
	ok(u != NULL, "an HTTP proxy");
	if (u == NULL)
		return;
	ok(!u->socks && u->port == 3128 && u->host.kind == HOST_ADDRESS,
	    "where it is");
	is_str(u->user, "user", "user");
	is_str(u->password, "p@ss", "password");
	ok(upstream_http_request(u, &a, 443, &b), "its request");
	buf_add(&b, "", 1);
	is_str((char *)b.data,
	    "CONNECT 8.8.8.8:443 HTTP/1.1\r\nHost: 8.8.8.8:443\r\n"
	    "Proxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n",
	    "names the address");
	buf_clear(&b);
	ok(upstream_socks_login(u, &b) && b.len == 11 &&
		memcmp(b.data, "\1\4user\4p@ss", 11) == 0,
	    "a login");
	buf_clear(&b);
	ok(upstream_socks_request(&a, 258, &b) && b.len == 10 &&
		memcmp(b.data, "\5\1\0\1\10\10\10\10\1\2", 10) == 0,
	    "a request");
	buf_clear(&b);
	upstream_free(&u);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		u = upstream_new(wrong[i]);
		ok(u == NULL, "\"%s\" is none", wrong[i]);
		upstream_free(&u);
	}
	ok(upstream_http_status("HTTP/1.1 200 OK\r\n") == NULL, "agreed");
	ok(upstream_http_status("HTTP/1.0 200\r\n") == NULL, "agreed");
	ok(upstream_http_status("HTTP/1.1 2000\r\n") != NULL, "not that");
	ok(upstream_http_status("HTTP/1.1 407 x\r\n") != NULL, "not that");
	ok(upstream_http_status("SSH-2.0-x\r\n") != NULL, "not that");
	ok(upstream_http_status("HTTP/1.1") != NULL, "not that");
	ok(upstream_socks_status(0) == NULL, "agreed");
	for (int i = 1; i < 256; i++)
		if (upstream_socks_status((uint8_t)i) == NULL)
			ok(false, "%d is no success", i);
}

int
main(void)
{
	test_rows();
	test_longest();
	test_reply();
	test_reports();
	test_upstream();
	return done_testing();
}
