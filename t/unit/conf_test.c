/*
 * Unit tests of the configuration file: every setting with every kind of
 * value, mistakes with their lines, files that are not to be trusted, and
 * every beginning of a file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/conf.h"
#include "t/unit/tap.h"

static struct settings got;
static struct conf_lines lines;
static struct conf_error error;

static bool
parse(const char *text)
{
	settings_default(&got);
	return conf_parse(text, strlen(text), &got, &lines, &error);
}

/* The mistake in a text, as "LINE: MESSAGE". */
static const char *
mistake(const char *text)
{
	static char said[SETTINGS_ERROR_BYTES + 16];

	if (parse(text))
		return "none";
	snprintf(said, sizeof(said), "%d: %s", error.line, error.text);
	return said;
}

static void
test_value(
    const struct setting_info *row, const char *value, const char *expected)
{
	char text[128], want[256];

	snprintf(text, sizeof(text), "# one\n\n%s = %s\n", row->name, value);
	snprintf(want, sizeof(want), "3: %s: %s", row->name, expected);
	is_str(mistake(text), want, row->name);
}

static void
test_number(size_t i, const struct setting_info *row)
{
	char text[128], value[32], want[128];
	const char *range;

	snprintf(
	    text, sizeof(text), "%s = %lld", row->name, (long long)row->lowest);
	ok(parse(text) && settings_value(&got, i) == row->lowest, "%s: lowest",
	    row->name);
	snprintf(text, sizeof(text), "%s=\"%lld\"\n", row->name,
	    (long long)row->highest);
	ok(parse(text) && settings_value(&got, i) == row->highest,
	    "%s: highest, in quotes", row->name);
	is_int(lines.at[i], 1, "in line 1");

	snprintf(value, sizeof(value), "%lld", (long long)row->lowest - 1);
	snprintf(want, sizeof(want),
	    "\"%s\" is too small: write a number from %lld to %lld (%s)", value,
	    (long long)row->lowest, (long long)row->highest, row->unit);
	test_value(row, value, want);
	range = strstr(want, ": write");
	snprintf(value, sizeof(value), "%lld", (long long)row->highest + 1);
	snprintf(text, sizeof(text), "\"%s\" is too large%s", value, range);
	test_value(row, value, text);
	snprintf(text, sizeof(text), "\"many\" is not a whole number%s", range);
	test_value(row, "many", text);
	snprintf(text, sizeof(text), "\"1.5\" is not a whole number%s", range);
	test_value(row, "1.5", text);
	snprintf(text, sizeof(text), "\"\" is not a whole number%s", range);
	test_value(row, "\"\"", text);
	snprintf(text, sizeof(text), "\"99999999999999999999\" is too large%s",
	    range);
	test_value(row, "99999999999999999999", text);
}

static void
test_switch(size_t i, const struct setting_info *row)
{
	static const char *const on[] = { "yes", "on", "true", "1" };
	static const char *const off[] = { "no", "off", "false", "0" };
	char text[64];

	for (int k = 0; k < 4; k++) {
		snprintf(text, sizeof(text), "%s = %s", row->name, on[k]);
		ok(parse(text) && settings_value(&got, i) == 1, "%s", text);
		snprintf(text, sizeof(text), "%s = %s", row->name, off[k]);
		ok(parse(text) && settings_value(&got, i) == 0, "%s", text);
	}
	test_value(row, "2", "\"2\" is neither yes nor no: write one of these");
	test_value(
	    row, "\"\"", "\"\" is neither yes nor no: write one of these");
}

static void
test_text(size_t i, const struct setting_info *row)
{
	char text[64];

	snprintf(text, sizeof(text), "\n%s = \"\"", row->name);
	ok(parse(text) && settings_is_default(&got, i), "%s: nothing",
	    row->name);
	is_int(lines.at[i], 2, "in line 2");
	snprintf(text, sizeof(text), "%s = \"a\\\"b\"", row->name);
	ok(!parse(text) && error.line == 1, "%s: a quote", row->name);
}

static void
test_every_setting(void)
{
	const struct setting_info *row;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++)
		if (row->type == SETTING_TEXT)
			test_text(i, row);
		else if (row->type == SETTING_SWITCH)
			test_switch(i, row);
		else
			test_number(i, row);
}

static void
test_good(void)
{
	ok(parse("") && got.maxClients == 1024, "nothing: the defaults");
	ok(parse("# only\n// comments\n/* of\n all */ kinds # ") == false,
	    "a word behind a comment is no setting");
	ok(parse("# only\n// comments\n/* of\n all\nkinds */\n"), "comments");
	ok(parse("allowedDomains = \"a.example, *.b.example:443\"") &&
		strcmp(got.allowedDomains, "a.example, *.b.example:443") == 0,
	    "a text");
	ok(parse("allowedDomains = a.example") &&
		strcmp(got.allowedDomains, "a.example") == 0,
	    "a word without quotes");
	ok(parse("maxClients = 7 # seven\r\nhelloMs=200\npingMs\n=\n300") &&
		got.maxClients == 7 && got.helloMs == 200 && got.pingMs == 300,
	    "several, blanks do not matter");
	is_int(lines.at[settings_index("helloMs")], 2, "lines are known");
	is_int(lines.at[settings_index("debug")], 0, "or not named");
}

static void
test_mistakes(void)
{
	is_str(mistake("maxClients = 7\n\nmaxClient = 8\n"),
	    "3: unknown setting \"maxClient\": did you mean maxClients?",
	    "misspelt");
	is_str(mistake("MAXCLIENTS = 8\n"),
	    "1: unknown setting \"MAXCLIENTS\": did you mean maxClients?",
	    "letters count");
	is_str(mistake("\nlisten = 80\n"),
	    "2: unknown setting \"listen\": browsertaskd -h lists all",
	    "unknown");
	is_str(mistake("pingMs = 200\n\npingMs = 300\n"),
	    "3: pingMs: set in line 1 already: remove one of them", "twice");
	is_str(mistake("# a\n/* b\n c */ // d\n'#'\n\nx = 1"),
	    "4: unknown setting \"#\": browsertaskd -h lists all",
	    "quotes hold no comment");
	is_str(mistake("# a\n\n/* b\n"),
	    "3: this comment has no end: close it with */", "open comment");
	is_str(mistake("maxClients = \"7\x1b\\n\"\n"),
	    "1: maxClients: \"7??\" is not a whole number: write a number"
	    " from 1 to 65536 (connections)",
	    "what a terminal obeys is not told");
	is_str(mistake("# ${HOME}\nmaxClients = ${HOME:-7}\n"),
	    "2: there are no variables: write the value itself", "variable");
	is_str(mistake("maxClients 7\n"),
	    "1: missing equal sign after option 'maxClients': write each"
	    " setting as name = value",
	    "no equal sign");
	is_str(mistake("maxClients = 7\nhelloMs = "),
	    "2: premature end of file: write each setting as name = value",
	    "no value");
	is_str(mistake("maxClients = 7\npingMs = \"200\\\"\n"),
	    "2: this string has no end: close it with \"", "quote without end");
	is_str(mistake("maxClients = { 7 }\n"),
	    "1: { needs quotes: write name = \"value\"", "a list");
	is_int(parse("maxClients += 7\n"), false, "adding to it");
	is_int(parse("include(\"/etc/passwd\")\n"), false, "including");
	is_int(parse("= 7\n"), false, "no name");
	is_int(parse("client { maxClients = 7 }\n"), false, "a section");
	is_str(mistake("maxClients = 7\nhelloMs = 99\n"),
	    "2: helloMs: \"99\" is too small: write a number from 100 to"
	    " 600000 (ms)",
	    "one good and one wrong");
	is_int(got.maxClients, 1024, "change nothing");
}

/* Values that libconfuse would take a part of. */
static void
test_quotes(void)
{
	is_str(mistake("debug = no\nupstreamProxy = http://proxy:3128\n"),
	    "2: // in a value begins a comment: put the value in quotes, or a"
	    " blank before the comment",
	    "a URL");
	is_str(mistake("secretsDir = /tmp/rv//s\n"),
	    "1: // in a value begins a comment: put the value in quotes, or a"
	    " blank before the comment",
	    "a path with //");
	is_str(mistake("secretsDir = /tmp/*\n"),
	    "1: /* in a value begins a comment: put the value in quotes, or a"
	    " blank before the comment",
	    "a path with /*");
	is_str(mistake("maxClients = 7# seven\n"),
	    "1: # in a value begins a comment: put the value in quotes, or a"
	    " blank before the comment",
	    "a comment without a blank");
	is_str(mistake("secretsDir = //srv/secrets\ndebug = yes\n"),
	    "1: // begins a comment where a value should be: put the value in"
	    " quotes",
	    "a value that is a comment");
	is_str(mistake("pingMs = /* a */ # b\n 500\n"),
	    "1: /* begins a comment where a value should be: put the value in"
	    " quotes",
	    "a comment before a value");
	is_str(mistake("\nforbiddenDomains = *.example.com:443\n"),
	    "2: * needs quotes: write name = \"value\"", "a pattern");
	is_str(mistake("forbiddenDomains = *\nmaxClients = 7\n"),
	    "1: * needs quotes: write name = \"value\"", "a * alone");
	is_str(mistake("allowedDomains = a.example,b.example\n"),
	    "1: , needs quotes: write name = \"value\"", "a list with commas");
	ok(parse("upstreamProxy = \"http://proxy:3128\"// here\n"
		 "forbiddenDomains='*,#,/*,//'# and\n") == false &&
		strstr(error.text, "is no list of patterns") != NULL,
	    "quotes hold them all");
	ok(parse("upstreamProxy = \"http://proxy:3128\"// here\n"
		 "allowedDomains='*.example.com:443,*:22'# and\n"
		 "secretsDir = /srv/a-b_c.d%20/e@f/[g] // there\n") &&
		strcmp(got.upstreamProxy, "http://proxy:3128") == 0 &&
		strcmp(got.allowedDomains, "*.example.com:443,*:22") == 0 &&
		strcmp(got.secretsDir, "/srv/a-b_c.d%20/e@f/[g]") == 0,
	    "and what is in them is taken whole");
}

static void
test_bytes(void)
{
	char *big = malloc(CONF_BYTES_MAX + 1);

	settings_default(&got);
	ok(!conf_parse("debug=1\n\n\0x", 11, &got, &lines, &error) &&
		error.line == 3,
	    "a byte 0 is told with its line");
	memset(big, '\n', CONF_BYTES_MAX + 1);
	ok(conf_parse(big, CONF_BYTES_MAX, &got, &lines, &error), "64 KiB");
	ok(!conf_parse(big, CONF_BYTES_MAX + 1, &got, &lines, &error) &&
		error.line == 0,
	    "not a byte more");
	memset(big, 'x', CONF_BYTES_MAX);
	ok(!conf_parse(big, CONF_BYTES_MAX, &got, &lines, &error) &&
		error.line == 1,
	    "a name of 64 KiB");
	memset(big, '"', CONF_BYTES_MAX);
	ok(!conf_parse(big, CONF_BYTES_MAX, &got, &lines, &error),
	    "64 KiB of quotes");
	free(big);
}

/* All settings, with comments and quotes, cut at every byte. */
static void
test_truncation(void)
{
	char text[8192] = "/* start */\n# next\n";
	const struct setting_info *row;
	size_t len, good = 0, told = 0;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		len = strlen(text);
		if (row->type == SETTING_TEXT)
			snprintf(text + len, sizeof(text) - len,
			    "%s = \"\" # %s\n", row->name, row->help);
		else
			snprintf(text + len, sizeof(text) - len,
			    i % 2 == 0 ? "%s = \"%lld\" // %s\n"
				       : "%s = %lld /* %s */\n",
			    row->name, (long long)row->highest, row->help);
	}
	len = strlen(text);
	ok(parse(text), "the whole file is good");
	for (size_t cut = 0; cut < len; cut++) {
		settings_default(&got);
		error.text[0] = '\0';
		if (conf_parse(text, cut, &got, &lines, &error))
			good++;
		else if (error.line >= 1 && error.text[0] != '\0')
			told++;
	}
	is_int(good + told, len, "each beginning is good or told with a line");
	ok(good > SETTINGS_COUNT && told > SETTINGS_COUNT,
	    "%zu are good, %zu are not", good, told);
}

static unsigned int
next_random(void)
{
	static unsigned int x = 2463534242U;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

/* One byte of a good file changed, all over it. */
static void
test_mutation(void)
{
	static const char file[] =
	    "# a file\nmaxClients = 7\ndebug = \"yes\"\n/* x */ pingMs=500\n";
	char text[sizeof(file)];
	int out = 0;

	for (size_t at = 0; at < sizeof(file) - 1; at++)
		for (int i = 0; i < 40; i++) {
			memcpy(text, file, sizeof(file));
			text[at] = (char)next_random();
			settings_default(&got);
			conf_parse(
			    text, sizeof(text) - 1, &got, &lines, &error);
			out += got.maxClients < 1 || got.pingMs < 100 ||
			    got.debug < 0 || got.debug > 1;
		}
	is_int(out, 0, "no change of a byte gets past the limits");
}

/* ---- files ---- */

static char dir[] = "/tmp/conf_test.XXXXXX";
static char path[64];

static void
write_file(const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		abort();
	fchmod(fd, mode);
	close(fd);
}

static enum conf_status
read_file(const char *name)
{
	settings_default(&got);
	return conf_read(name, &got, &lines, &error);
}

static void
test_files(void)
{
	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/conf", dir);
	is_int(read_file(path), CONF_ABSENT, "absent");
	write_file("maxClients = 9\n", 0644);
	ok(read_file(path) == CONF_GOOD && got.maxClients == 9, "read");
	write_file("maxClients = 9\n", 0664);
	is_int(read_file(path), CONF_BAD, "the group can write to it");
	is_str(error.text, "others can write to it (mode 0664): chmod go-w",
	    "is told");
	write_file("maxClients = 9\n", 0646);
	is_int(read_file(path), CONF_BAD, "others can write to it");
	write_file("\nmaxClients = 0\n", 0600);
	ok(read_file(path) == CONF_BAD && error.line == 2, "a mistake");
	/* Only root can make a file that belongs to neither root nor us. */
	if (geteuid() == 0) {
		write_file("maxClients = 9\n", 0644);
		is_int(chown(path, 65534, 65534), 0, "given away");
		is_int(read_file(path), CONF_BAD, "somebody else's");
	}
	unlink(path);
	is_int(mkfifo(path, 0600), 0, "a pipe");
	is_int(read_file(path), CONF_BAD, "is not waited for");
	is_str(error.text, "it is not a regular file", "and told");
	unlink(path);
	is_int(read_file(dir), CONF_BAD, "a directory");
	is_int(read_file("/dev/null"), CONF_BAD, "a device");
	rmdir(dir);
}

int
main(void)
{
	test_every_setting();
	test_good();
	test_mistakes();
	test_quotes();
	test_bytes();
	test_truncation();
	test_mutation();
	test_files();
	return done_testing();
}
