/*
 * Unit tests of model/secrethosts.c: which documents may be given a secret.
 */
#include <string.h>

#include "model/secrethosts.h"
#include "tap.h"

static void
test_allow(void)
{
	static const struct {
		const char *hosts, *origin;
		bool allowed;
	} rows[] = {
		{ "shop.example", "https://shop.example", true },
		{ "shop.example\n", "https://shop.example:8443", true },
		{ "shop.example", "http://shop.example", false },
		{ "shop.example", "https://evil.example", false },
		{ "shop.example", "https://shop.example.evil.example", false },
		{ "shop.example", "https://sub.shop.example", false },
		{ "shop.example", "null", false },
		{ "shop.example", "", false },
		{ "shop.example", "file://", false },
		{ "shop.example", "https://", false },
		{ "shop.example", "https://shop.example:x", false },
		{ "shop.example", "https://shop.example:65536", false },
		{ "*.shop.example", "https://www.shop.example", true },
		{ "*.shop.example", "https://shop.example", false },
		{ "shop.example:443", "https://shop.example", true },
		{ "shop.example:443", "https://shop.example:444", false },
		{ "a.example\n\nb.example", "https://b.example", true },
		{ "*", "https://evil.example", true },
		{ "*", "http://evil.example", false },
		{ "http://*", "http://evil.example", true },
		{ "http://nas.example", "http://nas.example", true },
		{ "http://nas.example", "https://nas.example", true },
		{ "http://nas.example:80\nb.example", "http://b.example",
		    false },
		{ "http://nas.example:80\nhttp://b.example", "http://b.example",
		    true },
		{ "localhost", "http://localhost:3000", true },
		{ "localhost", "http://127.0.0.1", false },
		{ "*.localhost", "http://a.localhost", true },
		{ "notlocalhost", "http://notlocalhost", false },
		{ "127.0.0.1", "http://127.0.0.1:8080", true },
		{ "127.0.0.0/8", "http://127.9.9.9", true },
		{ "[::1]", "http://[::1]:80", true },
		{ "[::1]", "http://[::2]", false },
		{ "[::2]", "https://[::2]", true },
		{ "10.0.0.0/8", "https://10.1.1.1", true },
		{ "10.0.0.0/8", "http://10.1.1.1", false },
		{ "10.0.0.0/8", "https://[::g]", false },
	};
	char name[128], why[DOMAINS_WHY_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct secret_hosts *h = NULL;

		snprintf(name, sizeof(name), "%s: %s", rows[i].hosts,
		    rows[i].origin);
		for (char *c = name; *c != '\0'; c++)
			if (*c == '\n')
				*c = ' ';
		if (secret_hosts_parse(
			rows[i].hosts, strlen(rows[i].hosts), &h, why))
			ok(secret_hosts_allow(h, rows[i].origin) ==
				rows[i].allowed,
			    "%s", name);
		else
			ok(false, "%s: %s", name, why);
		secret_hosts_free(&h);
	}
}

static const char *
mistake(const char *text, size_t len)
{
	static char why[DOMAINS_WHY_BYTES];
	struct secret_hosts *h = NULL;
	bool good = secret_hosts_parse(text, len, &h, why);

	secret_hosts_free(&h);
	return good ? "none" : why;
}

int
main(void)
{
	static char many[SECRETHOSTS_BYTES + 1];

	test_allow();
	is_str(mistake("", 0), "no host is named", "an empty list");
	is_str(mistake("\n\n", 2), "no host is named", "blank lines");
	is_str(mistake("a..b", 4),
	    "\"a..b\": write a host like example.com, *.example.com, 192.0.2.1 "
	    "or [2001:db8::1], each with :PORT or without",
	    "a wrong pattern");
	ok(strcmp(mistake("a\0b", 3), "none") != 0, "a NUL");
	memset(many, 'a', sizeof(many));
	is_str(mistake(many, sizeof(many)),
	    "the list is longer than 4096 bytes", "too many");
	ok(strcmp(mistake(many, sizeof(many) - 1), "none") != 0,
	    "a name that is too long");
	return done_testing();
}
