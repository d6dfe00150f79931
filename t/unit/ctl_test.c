/*
 * What browsertaskctl puts on a terminal: cleaned text, widths, cuts, times,
 * tables, and the progress line.
 */
#include <locale.h>
#include <stdlib.h>

#include "ctl/ctl.h"
#include "ctl/eventline.h"
#include "ctl/luapath.h"
#include "ctl/progress.h"
#include "ctl/table.h"
#include "ctl/text.h"
#include "t/unit/tap.h"

#define CJK "\xe4\xbd\xa0\xe5\xa5\xbd" /* two characters, four columns */

static void
is_clean(const char *text, const char *want, const char *name)
{
	struct buf b;

	buf_init(&b, 4096);
	text_clean(&b, text, strlen(text), false);
	buf_add(&b, "", 1);
	is_str((char *)b.data, want, name);
	buf_clear(&b);
}

static void
test_clean(void)
{
	is_clean("plain", "plain", "plain text stays");
	is_clean("  a \t\r\n b\n", "a b", "white space becomes one space");
	is_clean("\033[2J\033]0;x\007", "[2J]0;x", "escapes are taken out");
	is_clean("a\302\233"
		 "31mb",
	    "a31mb", "the one-character CSI, too");
	is_clean("a\342\200\256b\342\201\246c", "abc",
	    "marks that turn the direction");
	is_clean("a\377b\303", "a?b?", "what is no UTF-8");
	is_clean(CJK " \331\205", CJK " \331\205", "CJK and Arabic stay");
	is_clean("", "", "nothing");
}

static void
is_cut(const char *text, size_t width, const char *want, const char *name)
{
	struct buf b;

	buf_init(&b, 4096);
	text_cut(&b, text, width, true);
	buf_add(&b, "", 1);
	is_str((char *)b.data, want, name);
	buf_clear(&b);
}

static void
test_widths(void)
{
	is_int(text_width("abc"), 3, "a letter is a column");
	is_int(text_width(CJK), 4, "a wide character is two");
	is_int(text_width("e\314\201"), 1, "a combining one is none");
	is_cut("abc", 3, "abc", "what fits is not cut");
	is_cut("abcd", 3, "ab\342\200\246", "else an ellipsis ends it");
	is_cut(CJK "!", 4, "\xe4\xbd\xa0\342\200\246 ",
	    "half a wide character leaves a space");
	is_cut(CJK, 1, "\342\200\246", "one column");
}

static void
test_times(void)
{
	static const struct {
		int64_t ms;
		const char *want;
	} rows[] = { { 0, "0 ms" }, { 999, "999 ms" }, { 1000, "1.0 s" },
		{ 59900, "59.9 s" }, { 60000, "1 min" }, { 65999, "1 min 5 s" },
		{ 3599999, "59 min 59 s" }, { 7260000, "2 h 1 min" },
		{ 86400000, "24 h" }, { 604799000, "6 d 23 h" },
		{ 604800000, "7 d" } };
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text_duration(rows[i].ms, text, sizeof(text));
		is_str(text, rows[i].want, "a duration");
	}
	text_bytes(999, text, sizeof(text));
	is_str(text, "999 B", "bytes");
	text_bytes(1234567, text, sizeof(text));
	is_str(text, "1.2 MB", "megabytes");
	text_time(0, text, sizeof(text));
	is_str(text, "-", "no time");
}

static char *
render(const struct table *t, size_t width, bool color)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	table_print(t, f, width, color, true);
	fclose(f);
	return text;
}

static void
test_table(void)
{
	static const char *const titles[] = { "~NAME", ">N", "LAST" };
	struct table *t = table_new(titles, 3);
	char *text;

	table_add(t, CJK);
	table_addf(t, "%d", 7);
	table_style(t, TABLE_BAD);
	table_add(t, "x\ny");
	table_add(t, "a rather long name");
	table_add(t, "100");
	table_add(t, "z");
	is_int(table_rows(t), 2, "two rows");
	text = render(t, 0, false);
	is_str(text,
	    "NAME                  N  LAST\n" CJK "                  7  x y\n"
	    "a rather long name  100  z\n",
	    "columns are aligned");
	free(text);
	text = render(t, 24, false);
	is_str(text,
	    "NAME             N  LAST\n" CJK "             7  x y\n"
	    "a rather lon\342\200\246  100  z\n",
	    "the name gives way");
	free(text);
	text = render(t, 0, true);
	ok(strstr(text, "\033[31m  7  \033[0m") != NULL, "colours");
	free(text);
	table_free(&t);
	ok(t == NULL, "freed");
	table_add(NULL, "x");
	is_int(table_rows(NULL), 0, "without memory nothing happens");
}

static void
take(struct progress *p, const char *json, int64_t now, bool run)
{
	struct json_doc *doc = NULL;

	json_parse((const uint8_t *)json, strlen(json), NULL, 0, &doc, NULL);
	if (run)
		progress_take_run(p, json_root(doc), now);
	else
		progress_take_event(p, json_root(doc), now);
	json_doc_free(&doc);
}

static void
is_line(const struct progress *p, int64_t now, size_t columns, const char *want,
    const char *name)
{
	char line[1024];

	progress_line(p, now, columns, line, sizeof(line));
	is_str(line, want, name);
}

static void
test_progress(void)
{
	struct progress p;

	progress_init(&p, true, false, false);
	take(&p, "{\"status\":\"queued\",\"progress\":{}}", 1000, true);
	is_line(&p, 1500, 80, "queued  500 ms", "before the start");
	take(&p, "{\"type\":\"run_started\",\"data\":{}}", 2000, false);
	is_line(&p, 2000, 80, "running  0 ms", "the start");
	take(&p, "{\"type\":\"progress\",\"data\":{\"done\":0,\"total\":8}}",
	    2000, false);
	take(&p,
	    "{\"type\":\"progress\",\"data\":{\"done\":4,\"total\":8,"
	    "\"failed\":1,\"ok\":true,\"item\":{\"url\":\"http://a/\","
	    "\"title\":\"T\\u001b\"}}}",
	    6000, false);
	is_line(&p, 6000, 80,
	    "##########.......... 4/8  1 failed  4.0 s  ETA 4.0 s  T  "
	    "http://a/",
	    "half of it, with what is left and the last item");
	is_line(
	    &p, 6000, 30, "##########.......... 4/8  1 f.", "cut at the edge");
	take(&p, "{\"type\":\"progress\",\"data\":\"nonsense\"}", 6000, false);
	take(&p, "{\"type\":\"progress\",\"data\":{\"done\":\"x\"}}", 6000,
	    false);
	is_int(p.done, 4, "nonsense changes nothing");
	take(&p, "{\"type\":\"progress\",\"data\":{\"done\":8,\"total\":8}}",
	    9000, false);
	p.now[0] = '\0';
	is_line(&p, 9000, 80, "#################### 8/8  1 failed  7.0 s",
	    "all of it");
}

static void
is_moment(const char *text, int64_t want, const char *name)
{
	int64_t ms = -1;

	ctl_moment(text, INT64_C(1763762400000), &ms);
	ok(ms == want, "%s: \"%s\" is %lld", name, text, (long long)ms);
}

static void
test_moments(void)
{
	setenv("TZ", "UTC", 1);
	is_moment("2h", 1763755200000, "hours ago");
	is_moment("1.5m", 1763762310000, "a part of a minute");
	is_moment("7d", 1763157600000, "days");
	is_moment("500ms", 1763762399500, "milliseconds");
	is_moment("2025-11-21", 1763683200000, "a day");
	is_moment("2025-11-21 22:00", 1763762400000, "a minute");
	is_moment("2025-11-21T22:00:01", 1763762401000, "a second");
	is_moment("14:30", 1763735400000, "today");
	is_moment("999999d", 0, "before all time");
	is_moment("5", -1, "a number without a unit");
	is_moment("", -1, "nothing");
	is_moment("0x10s", -1, "a hexadecimal number");
	is_moment("1e3s", -1, "an exponent");
	is_moment("2025-13-01", -1, "no month");
	is_moment("1969-12-31", -1, "before 1970");
	is_moment("2025-11-21 22:00 or so", -1, "more than a time");
}

static void
is_event(const char *json, const char *want, const char *name)
{
	struct json_doc *doc = NULL;
	struct buf b;

	buf_init(&b, 4096);
	json_parse((const uint8_t *)json, strlen(json), NULL, 0, &doc, NULL);
	eventline_add(json_root(doc), &b);
	buf_add(&b, "", 1);
	is_str((char *)b.data, want, name);
	buf_clear(&b);
	json_doc_free(&doc);
}

static void
test_eventlines(void)
{
	is_event(
	    "{\"type\":\"progress\",\"data\":{\"done\":2,\"total\":9,"
	    "\"ok\":true,\"item\":{\"title\":\"T\\u001b\",\"url\":\"u\"}}}",
	    "2/9  T  u", "an item");
	is_event("{\"type\":\"progress\",\"data\":{\"done\":3,\"total\":9,"
		 "\"ok\":false,\"item\":{\"message\":\"gone\",\"url\":\"u\"}}}",
	    "3/9  failed: gone  u", "one that failed");
	is_event("{\"type\":\"artifact_created\",\"data\":{\"kind\":\"csv\","
		 "\"artifactId\":\"art_X\",\"totalSize\":1500}}",
	    "art_X  csv  1.5 kB", "an artifact");
	is_event("{\"type\":\"run_failed\",\"data\":{\"error\":{"
		 "\"errorCode\":\"RUN_TIMEOUT\",\"message\":\"late\"}}}",
	    "RUN_TIMEOUT: late", "an error");
	is_event("{\"type\":\"step_succeeded\",\"data\":{\"step\":\"s\","
		 "\"durationMs\":2500,\"x\":{}}}",
	    "step s, duration 2.5 s", "anything else");
	is_event("{\"type\":\"run_started\"}", "", "nothing to say");
	is_event("[]", "", "no event");
}

static const char lua[] = "-- id = 0\n"                          /* 1 */
			  "local name = [[ id = 1\n"             /* 2 */
			  "]] --[==[ id = 2\n"                   /* 3 */
			  "]] ]==] local s = \"{ id = 3\\\"\"\n" /* 4 */
			  "return {\n"                           /* 5 */
			  "  inputs = { properties = {\n"        /* 6 */
			  "    name = { type = 'string' },\n"    /* 7 */
			  "    n = {\n"                          /* 8 */
			  "      minimum = 1, anyOf = { {\n"     /* 9 */
			  "        type = 'x' } } } } },\n"      /* 10 */
			  "  outputs = outputs,\n"               /* 11 */
			  "  id = 'x', limits = { a == b },\n"   /* 12 */
			  "  name = 'N',\n"                      /* 13 */
			  "}\n";

static void
is_at(const char *pointer, int64_t line)
{
	int64_t got = luapath_line(lua, strlen(lua), pointer);

	ok(got == line, "%s is at line %lld", pointer, (long long)got);
}

static void
test_luapath(void)
{
	int64_t sum = 0;

	is_at("/id", 12);
	is_at("/name", 13);
	is_at("/inputs", 6);
	is_at("/inputs/properties/name", 7);
	is_at("/inputs/properties/name/type", 7);
	is_at("/inputs/properties/n/minimum", 9);
	is_at("/inputs/properties/n/anyOf/0/type", 10);
	is_at("/inputs/properties/n/maximum", 8);
	is_at("/outputs/type", 11);
	is_at("/limits/a", 12);
	is_at("/none", 0);
	is_at("", 0);
	is_at("id", 0);
	for (size_t len = 0; len <= strlen(lua); len++) {
		char *cut = malloc(len + 1);

		if (len > 0)
			memcpy(cut, lua, len);
		sum += luapath_line(cut, len, "/inputs/properties/n/anyOf");
		free(cut);
	}
	ok(sum > 0, "a text that is cut anywhere");
}

int
main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	test_clean();
	test_widths();
	test_times();
	test_table();
	test_progress();
	test_moments();
	test_eventlines();
	test_luapath();
	return done_testing();
}
