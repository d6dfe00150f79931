/*
 * Unit tests of supervisord/named.c: which strings of inputs name a host.
 */
#include <string.h>

#include "model/limits.h"
#include "supervisord/named.h"
#include "tap.h"

/* The hosts, with commas; "full" when no more fit. */
static const char *
named(const char *json)
{
	static char text[1024];
	struct json_doc *doc;
	struct buf lines;
	bool good;

	buf_init(&lines, 36);
	if (!json_parse(
		(const uint8_t *)json, strlen(json), NULL, 0, &doc, NULL))
		return "no JSON";
	good = named_hosts(json_root(doc), &lines);
	snprintf(text, sizeof(text), "%.*s", (int)lines.len,
	    lines.data == NULL ? "" : (const char *)lines.data);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\n')
			*c = ',';
	buf_clear(&lines);
	json_doc_free(&doc);
	return good ? text : "full";
}

int
main(void)
{
	static const struct {
		const char *json, *hosts;
	} rows[] = {
		{ "{}", "" },
		{ "{\"a\":1,\"b\":[null,true]}", "" },
		{ "{\"startUrl\":\"http://a.example/x\"}", "a.example," },
		{ "[\"http://a:80\",[{\"x\":\"https://b?c\"}],\"ws://c#d\","
		  "\"wss://d\"]",
		    "a,b,c,d," },
		{ "\" HTTP://LocalHost:3000/\"", "localhost," },
		{ "\"http://user:pw@10.0.0.1:8080/@b\"", "10.0.0.1," },
		{ "\"http://a@b@c\\\\d@e/\"", "c," },
		{ "\"http://[::1]:80/\"", "[::1]," },
		{ "\"http://[fd00::1]\"", "[fd00::1]," },
		{ "\"http://b\u00fccher.example/\"", "xn--bcher-kva.example," },
		{ "\"see http://a.example/\"", "" },
		{ "\"ftp://a.example/\"", "" },
		{ "\"http:///x\"", "" },
		{ "\"http://\"", "" },
		{ "\"http://a b/\"", "" },
		{ "{\"http://a.example/\":1}", "" },
		{ "[\"http://a23456789a23456789a\",\"http://b23456789b234567\"]",
		    "full" },
	};
	char longest[1200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(named(rows[i].json), rows[i].hosts, rows[i].json);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "\"http://", 8);
	strlcpy(longest + 1000, "/\"", 3);
	is_str(named(longest), "", "a host that is too long is none");
	memcpy(longest + 9, "b/", 2);
	is_str(named(longest), "ab,", "a long URL of a host");
	return done_testing();
}
