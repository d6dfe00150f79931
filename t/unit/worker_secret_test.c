/*
 * worker_secret: the secrets of a run as they come by the pipe, and what a
 * template can and cannot do with one.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "common/buf.h"
#include "common/fdio.h"
#include "json/tape.h"
#include "model/limits.h"
#include "t/unit/tap.h"
#include "workerd/lua_json.h"
#include "workerd/redact.h"
#include "workerd/secret.h"
#include "workerd/vm.h"

/* Writes the text in pieces of so many bytes; the last status. */
static enum secrets_status
feed(struct secrets *s, const char *text, size_t len, size_t piece, bool end)
{
	enum secrets_status status = SECRETS_MORE;
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) == -1)
		abort();
	for (size_t at = 0, n; at < len && status == SECRETS_MORE; at += n) {
		n = len - at < piece ? len - at : piece;
		if (write(p[1], text + at, n) != (ssize_t)n)
			abort();
		status = secrets_read(s, p[0]);
	}
	close(p[1]);
	if (end && status == SECRETS_MORE)
		status = secrets_read(s, p[0]);
	close(p[0]);
	return status;
}

static enum secrets_status
feed_all(const char *text)
{
	struct secrets *s = secrets_new();
	enum secrets_status status;

	status = feed(s, text, strlen(text), 4096, true);
	secrets_free(&s);
	return status;
}

static void
test_pipe(void)
{
	static const char text[] = "[\"one\",\"\",\"t\\u0000w\\\"o\"]";
	struct secrets *s;
	const char *value;
	size_t len, good = 0;

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		s = secrets_new();
		if (feed(s, text, sizeof(text) - 1, piece, true) ==
			SECRETS_COMPLETE &&
		    secrets_count(s) == 3)
			good++;
		secrets_free(&s);
	}
	is_int(good, sizeof(text) - 1, "whole however it is cut");
	good = 0;
	for (size_t cut = 0; cut < sizeof(text) - 1; cut++) {
		s = secrets_new();
		if (feed(s, text, cut, SIZE_MAX, true) == SECRETS_LOST)
			good++;
		secrets_free(&s);
	}
	is_int(good, sizeof(text) - 1, "lost when any end of it is missing");
	s = secrets_new();
	is_int(feed(s, text, sizeof(text) - 1, SIZE_MAX, false), SECRETS_MORE,
	    "not before the end of the pipe");
	secrets_free(&s);
	s = secrets_new();
	(void)feed(s, text, sizeof(text) - 1, SIZE_MAX, true);
	value = secrets_value(s, 0, &len);
	ok(len == 3 && strcmp(value, "one") == 0, "a value");
	value = secrets_value(s, 1, &len);
	ok(len == 0 && *value == '\0', "an empty one");
	value = secrets_value(s, 2, &len);
	ok(len == 5 && memcmp(value, "t\0w\"o", 6) == 0, "one with a NUL");
	secrets_free(&s);
	is_int(feed_all("{}"), SECRETS_LOST, "an object");
	is_int(feed_all("[1]"), SECRETS_LOST, "a number");
	is_int(feed_all("[[]]"), SECRETS_LOST, "too deep");
	is_int(feed_all("[]"), SECRETS_COMPLETE, "none at all");
}

static void
test_stored(void)
{
	static const char text[] = "[\"sent\"]\0shop\0\4\0\0\0abc\n"
				   "\11\0\0\0a.example\0odd\0\1\0\0\0x"
				   "\4\0\0\0a..b";
	const size_t all = sizeof(text) - 1;
	struct secrets *s = secrets_new();
	size_t len, good = 0, cuts = 0;

	is_int(feed(s, text, all, SIZE_MAX, true), SECRETS_COMPLETE,
	    "one that was sent and two stored ones");
	is_int(secrets_count(s), 3, "are three");
	is_str(secrets_name(s, 0), "", "what was sent has no name");
	is_str(secrets_name(s, 1), "shop", "a stored one has");
	is_str(secrets_value(s, 1, &len), "abc", "without its last newline");
	ok(secrets_may_fill(s, 0, "http://anywhere"),
	    "what was sent may be filled in anywhere");
	ok(secrets_may_fill(s, 1, "https://a.example"), "a stored one there");
	ok(!secrets_may_fill(s, 1, "https://b.example"), "not elsewhere");
	ok(!secrets_may_fill(s, 2, "https://a.example"),
	    "one whose hosts make no sense nowhere");
	secrets_free(&s);
	for (size_t cut = 9; cut < all; cut++) {
		/* Behind a whole one nothing need follow. */
		if (cut == 8 + 1 + 5 + 8 + 13)
			continue;
		s = secrets_new();
		good += feed(s, text, cut, SIZE_MAX, true) == SECRETS_LOST;
		cuts++;
		secrets_free(&s);
	}
	is_int(good, cuts, "lost when any end of one is missing");
}

static void
test_limits(void)
{
	char *text = malloc(LIMIT_SECRETS_BYTES + 4);
	size_t len = 0;

	if (text == NULL)
		abort();
	for (int i = 0; i <= LIMIT_SECRETS; i++)
		len +=
		    (size_t)snprintf(text + len, 8, "%s\"x\"", i ? "," : "[");
	memcpy(text + len, "]", 2);
	is_int(feed_all(text), SECRETS_LOST, "too many values");
	memcpy(text + len - 4, "]", 2);
	is_int(feed_all(text), SECRETS_COMPLETE, "as many as there may be");
	memset(text, 'x', LIMIT_SECRETS_BYTES + 1);
	memcpy(text, "[\"", 2);
	memcpy(text + LIMIT_SECRETS_BYTES - 2, "\"]", 3);
	is_int(feed_all(text), SECRETS_COMPLETE, "as long as they may be");
	memcpy(text + LIMIT_SECRETS_BYTES - 1, "\"]", 3);
	is_int(feed_all(text), SECRETS_LOST, "one byte too long");
	free(text);
}

/* ---- in Lua ---- */

struct program {
	const char *inputs;
	const char *text;
	const struct secrets *secrets;
};

/* What a function that fills something does. */
static int
peek(lua_State *L)
{
	size_t len;
	const char *text = secret_text(L, 1, &len);

	lua_pushinteger(L, text == NULL ? -1 : (lua_Integer)len);
	return 1;
}

static int
run_program(lua_State *L)
{
	const struct program *p = lua_touserdata(L, 1);

	lua_json_open(L);
	secret_open(L);
	lua_pushcfunction(L, peek);
	lua_setglobal(L, "peek");
	lua_json_push_lib(L);
	lua_setglobal(L, "json");
	lua_json_push_view(L, p->inputs, strlen(p->inputs));
	lua_getfield(L, -1, "get");
	lua_insert(L, -2);
	lua_call(L, 1, 1);
	secret_place(L, p->secrets);
	lua_setglobal(L, "inputs");
	if (vm_load_text(L, "=test", p->text, strlen(p->text)) != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 0);
	return 0;
}

static bool
try_program(const char *inputs, const char *text, char why[300])
{
	static const struct vm_limits small = { 2 << 20, 3000000, 3000000 };
	struct secrets *s = secrets_new();
	struct program program = { inputs, text, s };
	struct vm *vm = vm_new(&small);
	bool good;

	(void)feed(s, "[\"hun7er2\",\"\"]", 14, SIZE_MAX, true);
	*why = '\0';
	good = vm_protect(vm, run_program, &program, why, 300);
	vm_free(&vm);
	secrets_free(&s);
	return good;
}

static const char inputs[] =
    "{\"user\":\"me\",\"login\":{\"password\":{\"secret\":0},"
    "\"list\":[{\"secret\":1},{\"secret\":\"x\"},{\"secret\":0,\"y\":1}]}}";

static void
lua_ok(const char *text)
{
	char why[300];

	if (!ok(try_program(inputs, text, why), "%.60s", text))
		printf("#   %s\n", why);
}

static void
test_lua(void)
{
	char why[300];

	lua_ok("assert(type(inputs.login.password) == 'userdata')");
	lua_ok("assert(peek(inputs.login.password) == 7)");
	lua_ok("assert(peek(inputs.login.list[1]) == 0)");
	lua_ok("assert(inputs.login.list[2].secret == 'x')");
	lua_ok("assert(inputs.login.list[3].secret == 0)");
	lua_ok("assert(inputs.user == 'me' and peek('hun7er2') == -1)");
	lua_ok("assert(tostring(inputs.login.password) == '[secret]')");
	lua_ok("assert(string.format('%s', inputs.login.password) == "
	       "'[secret]')");
	lua_ok("local s = inputs.login.password "
	       "for _, f in ipairs({function() return s .. 'x' end, "
	       "function() return #s end, function() return s.text end, "
	       "function() s.x = 1 end, function() return s < s end, "
	       "function() return s() end, "
	       "function() return string.byte(s) end, "
	       "function() return table.concat({s}) end, "
	       "function() return json.encode({s}) end, "
	       "function() return tonumber(s) + 1 end}) do "
	       "local ok, e = pcall(f) assert(not ok, _) "
	       "assert(not tostring(e):find('hun7er2'), e) end");
	lua_ok("assert(getmetatable(inputs.login.password) == false)");
	ok(!try_program("{\"a\":{\"secret\":2}}", "", why) &&
		strstr(why, "not given") != NULL,
	    "a number that there is not");
	ok(!try_program("{\"a\":{\"secret\":-1}}", "assert(not inputs.a)", why),
	    "a negative one is none");
}

/* ---- the redactor ---- */

/* One with all that is escaped somewhere, the others plain. */
static const char values[] =
    "[\"pa ss\\\"w/&<\\\\%41\u00e9\",\"hun7er2\",\"abc\","
    "\"1234\",\"nabc\",\"page\",\"true'21%1\",\"null\",\"test12\"]";

static struct redact *redactor;

static const char *
redacted(const char *text, size_t len)
{
	static struct buf b;

	buf_clear(&b);
	buf_init(&b, 1 << 20);
	if (!redact_add(redactor, text, len, &b) || !buf_add(&b, "", 1))
		abort();
	if ((strstr((char *)b.data, REDACT_SHOWN) != NULL) !=
	    redact_finds(redactor, text, len))
		return "finding and taking out differ";
	return (const char *)b.data;
}

static void
expect(const char *text, const char *want)
{
	is_str(redacted(text, strlen(text)), want, text);
}

/* A value that is a word is taken out where it stands alone, "page" here. */
static void
test_words(void)
{
	expect("page", "[secret]");
	expect("pages, homepage, page2, my_page",
	    "pages, homepage, page2, my_page");
	expect("the page is page.", "the [secret] is [secret].");
	expect(
	    "https://x.example/wp-page/?a=1", "https://x.example/wp-page/?a=1");
	expect("https://x.example/page/page.html",
	    "https://x.example/page/page.html");
	expect("https://page.example/", "https://page.example/");
	expect("?user=x&pw=page&y=page", "?user=x&pw=[secret]&y=[secret]");
	expect("a%20page%2C", "a%20[secret]%2C");
	expect("a%2520page", "a%2520[secret]");
	expect("<b>page</b>&nbsp;page", "<b>[secret]</b>&nbsp;[secret]");
	expect("name:page@host", "name:[secret]@host");
	expect("{\"a\":\"line\\npage\",\"b\":\"my pages\"}",
	    "{\"a\":\"line\\n[secret]\",\"b\":\"my pages\"}");
	expect("\303\244page\303\244", "\303\244[secret]\303\244");
	expect("xhun7er2x", "x[secret]x");
	expect("test12, test123, my_test12, pw=test12",
	    "[secret], test123, my_test12, pw=[secret]");
	expect("https://x.example/test12/?q=test12",
	    "https://x.example/test12/?q=[secret]");
}

static void
test_texts(void)
{
	expect("", "");
	expect("abc is short", "abc is short");
	expect("my hun7er2!", "my [secret]!");
	expect("hun7er2hun7er2", "[secret][secret]");
	expect("Hun7er2 hun7er", "Hun7er2 [secret]");
	expect("hun7er is cut", "hun7er is cut");
	expect("cut: hun7", "cut: [secret]");
	expect("cut: hun", "cut: hun");
	expect("%68un7er2 h%75n7er%32 &#104;un7er&#x32;",
	    "[secret] [secret] [secret]");
	expect("\\u0068un7er2", "[secret]");
	expect("=pa ss\"w/&<\\%41\u00e9=", "=[secret]=");
	expect("?q=pa%20ss%22w%2F%26%3C%5C%2541%C3%A9&x", "?q=[secret]&x");
	expect("?q=pa+ss%22w%2f%26%3c%5c%2541%c3%a9&x", "?q=[secret]&x");
	expect("?q=pa%20ss%22w/&%3C%5C%41\u00e9&x", "?q=[secret]&x");
	expect("<b title=\"pa ss&quot;w/&amp;&lt;\\%41&eacute;\">",
	    "<b title=\"pa ss&quot;w/&amp;&lt;\\%41&eacute;\">");
	expect("<b title=\"pa ss&quot;w/&amp;&lt;\\%41&#233;\">",
	    "<b title=\"[secret]\">");
	expect(
	    "<b title='pa&amp;nbsp;ss&amp;quot;w/&amp;amp;&amp;#60;\\%41\u00e9'>",
	    "<b title='[secret]'>");
	expect("x = 'pa ss\\\"w\\/&<\\\\%41\\u00e9'", "x = '[secret]'");
	expect(
	    "'{\\\"a\\\":\\\"hun7er2\\\"}'", "'{\\\"a\\\":\\\"[secret]\\\"}'");
	expect(
	    "pa%2520ss%2522w%252F%2526%253C%255C%252541%25C3%25A9", "[secret]");
	expect("see pa%20ss%2", "see [secret]");
	expect("see pa ss&quo", "see [secret]");
	expect("aHVuN2VyMg==", "[secret]g==");
	/* me:hun7er2, xhun7er2x, xxhun7er2 */
	expect("Basic bWU6aHVuN2VyMg==", "Basic bWU6[secret]g==");
	expect("eGh1bjdlcjJ4", "eG[secret]J4");
	expect("eHhodW43ZXIy", "eHh[secret]");
	expect("x1234567", "x[secret]567");
	expect(" 1234 ", " \"[secret]\" ");
}

static void
test_json(void)
{
	expect("{\"a\":\"hun7er2\",\"hun7er2\":[1234,12345,-1234]}",
	    "{\"a\":\"[secret]\",\"[secret]\":[\"[secret]\",12345,-1234]}");
	expect("[\"pa ss\\\"w/&<\\\\%41\\u00e9\"]", "[\"[secret]\"]");
	expect("[\"\\nabc\",\"nabc\"]", "[\"\\nabc\",\"[secret]\"]");
	expect("[\"{\\\"a\\\":\\\"pa ss\\\\\\\"w/&<\\\\\\\\%41\u00e9\\\"}\"]",
	    "[\"{\\\"a\\\":\\\"[secret]\\\"}\"]");
	expect("[\"hun7\",\"er2\",true,null,1.5e3]",
	    "[\"[secret]\",\"er2\",true,null,1.5e3]");
	expect("[\"hun7er2\"", "[\"[secret]\"");
	/* A text that was cut would end with what may be the start of one. */
	expect("\ntrue", "\ntrue");
	expect("is it true", "is it [secret]");
	expect(" null", " \"[secret]\"");
	expect("{\"a\":null}", "{\"a\":null}");
	expect("{\"pageInfo\" : \"my page\",\"page\":[\"page\"]}",
	    "{\"pageInfo\" : \"my [secret]\",\"page\":[\"[secret]\"]}");
}

/* Whatever stands around and however it is escaped, JSON stays JSON. */
static void
test_any(void)
{
	static const char *const pieces[] = { "\\\\", "\\\"", "\\n", "n", "abc",
		"hun7er2", "hun", "%", "%25", "&", "&amp;", "\\u0068", "pa ss",
		"\\u005c", "7er2", "1234", "\xc3\xa9", "+", "w/" };
	unsigned x = 1;
	int bad = 0, hits = 0;

	for (int round = 0; round < 20000; round++) {
		char text[200] = "{\"k\":\"";
		struct json_doc *doc = NULL;
		const char *out;

		for (int i = 0; i < 12; i++) {
			x = x * 1103515245U + 12345U;
			strlcat(text,
			    pieces[(x >> 16) %
				(sizeof(pieces) / sizeof(pieces[0]))],
			    sizeof(text));
		}
		strlcat(text, "\"}", sizeof(text));
		out = redacted(text, strlen(text));
		if (!json_parse((const uint8_t *)out, strlen(out), NULL, 0,
			&doc, NULL) ||
		    strstr(out, "hun7er2") != NULL)
			bad++;
		hits += strstr(out, REDACT_SHOWN) != NULL;
		json_doc_free(&doc);
	}
	is_int(bad, 0, "JSON stays JSON, and no secret stays");
	ok(hits > 1000, "%d of 20000 had one", hits);
}

static void
test_names(void)
{
	static const char *const names[][2] = { { "page_read", "page_read" },
		{ "text/html", "text/html" }, { "as_hun7er2", "as_[secret]" } };
	struct buf b;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		buf_init(&b, 100);
		ok(redact_add_name(redactor, names[i][0], &b) &&
			buf_add(&b, "", 1) &&
			strcmp((char *)b.data, names[i][1]) == 0,
		    "the name %s", names[i][0]);
		buf_clear(&b);
	}
}

static void
test_redact(void)
{
	struct secrets *s = secrets_new();

	(void)feed(s, values, strlen(values), SIZE_MAX, true);
	is_int(secrets_count(s), 9, "values to look for");
	redactor = redact_new(s);
	test_words();
	test_texts();
	test_json();
	test_any();
	test_names();
	(void)redacted("", 0);
	redact_free(&redactor);
	secrets_free(&s);
}

int
main(void)
{
	test_redact();
	test_pipe();
	test_stored();
	test_limits();
	test_lua();
	return done_testing();
}
