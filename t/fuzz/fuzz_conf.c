/*
 * The configuration file: what is taken is within its limits and reads back
 * when it is written out, a mistake has a line and a text and changes nothing,
 * and no file spoils the next one, since libconfuse keeps state of its own.
 */
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "launcher/conf.h"
#include "t/fuzz/fuzz.h"

static int
count_lines(const char *bytes, size_t len)
{
	int n = 1;

	for (size_t i = 0; i < len; i++)
		n += bytes[i] == '\n';
	return n;
}

static void
check_refused(const struct conf_error *e, int nlines)
{
	ASSERT(e->line >= 0 && e->line <= nlines);
	ASSERT(e->text[0] != '\0');
	ASSERT(memchr(e->text, '\0', sizeof(e->text)) != NULL);
	/* It becomes part of one line of the log. */
	for (const char *p = e->text; *p != '\0'; p++)
		ASSERT((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void
check_taken(
    const struct settings *got, const struct conf_lines *lines, int nlines)
{
	struct settings plain;
	const struct setting_info *row;

	settings_default(&plain);
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		ASSERT(lines->at[i] >= 0 && lines->at[i] <= nlines);
		if (lines->at[i] == 0)
			ASSERT(settings_equal(got, &plain, i));
		if (row->type == SETTING_TEXT)
			continue;
		ASSERT(settings_value(got, i) >= row->lowest);
		ASSERT(settings_value(got, i) <= row->highest);
	}
}

static void
check_written_out(const struct settings *want)
{
	struct conf_lines lines = { { 0 } };
	struct conf_error e = { 0 };
	char line[SETTINGS_LINE_BYTES];
	struct settings got;
	struct buf b;

	buf_init(&b, CONF_BYTES_MAX);
	for (size_t i = 0; settings_row(i) != NULL; i++) {
		settings_format_line(want, i, line);
		ASSERT(buf_addf(&b, "%s\n", line));
	}
	settings_default(&got);
	ASSERT(conf_parse((char *)b.data, b.len, &got, &lines, &e));
	ASSERT(memcmp(&got, want, sizeof(got)) == 0);
	for (size_t i = 0; settings_row(i) != NULL; i++)
		ASSERT(lines.at[i] == (int)i + 1);
	buf_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = size == 0 ? "" : (const char *)bytes;
	struct conf_lines lines = { { 0 } }, no_lines = { { 0 } };
	struct conf_error e = { 0 };
	struct settings got, plain;
	int nlines = count_lines(text, size);

	settings_default(&plain);
	got = plain;
	if (conf_parse(text, size, &got, &lines, &e)) {
		ASSERT(e.text[0] == '\0');
		check_taken(&got, &lines, nlines);
		check_written_out(&got);
		return 0;
	}
	check_refused(&e, nlines);
	ASSERT(memcmp(&got, &plain, sizeof(got)) == 0);
	ASSERT(memcmp(&lines, &no_lines, sizeof(lines)) == 0);
	check_written_out(&plain);
	return 0;
}
