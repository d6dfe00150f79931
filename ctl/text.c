/*
 * Text for terminals. What pages call themselves ends here before it reaches a
 * terminal, and must not be able to steer it.
 */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "ctl/text.h"

#define TEXT_BYTES_MAX (16u << 20)
#define WORD_BYTES     400

bool
text_init(void)
{
	if (setlocale(LC_CTYPE, "") != NULL &&
	    strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
		return true;
	/* A bare environment: terminals of today take UTF-8 all the same. */
	return setlocale(LC_CTYPE, "C.UTF-8") != NULL;
}

/* Marks that reverse or hide text; invisible, but not to the eye's harm. */
static bool
is_steering(wchar_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x2069) || c == 0xfeff;
}

/* The character at text; its length in *ret_len, L'\0' for none. */
static wchar_t
next_char(const char *text, size_t len, size_t *ret_len)
{
	mbstate_t state;
	wchar_t c;
	size_t n;

	memset(&state, 0, sizeof(state));
	n = mbrtowc(&c, text, len, &state);
	if (n == (size_t)-1 || n == (size_t)-2) {
		*ret_len = 1;
		return L'?';
	}
	*ret_len = n == 0 ? 1 : n;
	return c;
}

void
text_clean(struct buf *b, const char *text, size_t len, bool keep_lines)
{
	bool space = !keep_lines; /* leading space goes, too */
	size_t at = 0, n;

	while (at < len) {
		wchar_t c = next_char(text + at, len - at, &n);

		if (keep_lines && (c == L'\n' || c == L'\t'))
			buf_add(b, text + at, 1);
		else if (iswspace((wint_t)c) || c == 0xa0) {
			if (!space || keep_lines)
				buf_add(b, " ", 1);
			space = true;
		} else if (iswcntrl((wint_t)c) || is_steering(c) || c == 0)
			;
		else if (!iswprint((wint_t)c) || (c == L'?' && n == 1)) {
			buf_add(b, "?", 1);
			space = false;
		} else {
			buf_add(b, text + at, n);
			space = false;
		}
		at += n;
	}
	if (!keep_lines && space && b->len > 0 && b->data[b->len - 1] == ' ')
		b->len--;
}

size_t
text_width(const char *text)
{
	size_t len = strlen(text), at = 0, width = 0, n;

	while (at < len) {
		int w = wcwidth(next_char(text + at, len - at, &n));

		width += w > 0 ? (size_t)w : 0;
		at += n;
	}
	return width;
}

void
text_cut(struct buf *b, const char *text, size_t width, bool unicode)
{
	const char *dots = unicode ? "\xe2\x80\xa6" : ".";
	size_t len = strlen(text), at = 0, used = 0, n;

	if (text_width(text) <= width) {
		buf_add(b, text, len);
		return;
	}
	while (at < len) {
		int w = wcwidth(next_char(text + at, len - at, &n));

		if (used + (w > 0 ? (size_t)w : 0) + 1 > width)
			break;
		used += w > 0 ? (size_t)w : 0;
		buf_add(b, text + at, n);
		at += n;
	}
	if (width > 0)
		buf_add_str(b, dots);
	/* A wide character that did not fit leaves a column. */
	for (used++; used < width; used++)
		buf_add(b, " ", 1);
}

char *
text_of(struct json_val v)
{
	const uint8_t *raw = NULL;
	struct buf b;
	size_t len = 0;
	char *text;

	buf_init(&b, TEXT_BYTES_MAX);
	if (json_is_string(v)) {
		text = json_str_dup(v, &len);
		if (text != NULL)
			text_clean(&b, text, len, false);
		free(text);
	} else if (json_is_number(v) || json_is_bool(v)) {
		if (json_raw(v, &raw, &len))
			buf_add(&b, raw, len);
	}
	text = (char *)buf_take(&b, &len);
	buf_clear(&b);
	return text;
}

size_t
text_columns(int fd)
{
	struct winsize ws;

	if (isatty(fd) != 1)
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 1)
		return ws.ws_col;
	return 80;
}

void
text_wrap(FILE *f, const char *text, size_t columns, size_t at, size_t left)
{
	size_t gap, len, cells;
	char word[WORD_BYTES];
	bool begun = false;

	for (; *text != '\0'; text += len) {
		gap = strspn(text, " ");
		text += gap;
		len = strcspn(text, " ");
		if (len >= sizeof(word))
			len = sizeof(word) - 1;
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		cells = text_width(word);
		if (begun && gap > 0 && columns > 0 &&
		    at + gap + cells > columns) {
			fprintf(f, "\n%*s", (int)left, "");
			at = left;
			gap = 0;
		}
		fprintf(f, "%*s%s", (int)gap, "", word);
		at += gap + cells;
		begun = true;
	}
	putc('\n', f);
}

void
text_count(int64_t n, const char *what, char *ret, size_t size)
{
	snprintf(ret, size, "%" PRId64 " %s%s", n, what, n == 1 ? "" : "s");
}

void
text_duration(int64_t ms, char *ret, size_t size)
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = { { 1000, "s" }, { 60000, "min" }, { 3600000, "h" },
		{ 86400000, "d" } };
	size_t i = ms < 3600000 ? 1 : ms < 172800000 ? 2 : 3;
	int64_t rest = ms % units[i].ms / units[i - 1].ms;

	if (ms < 1000)
		snprintf(ret, size, "%" PRId64 " ms", ms);
	else if (ms < 60000)
		snprintf(ret, size, "%.1f s", (double)ms / 1000);
	else if (rest == 0)
		snprintf(ret, size, "%" PRId64 " %s", ms / units[i].ms,
		    units[i].name);
	else
		snprintf(ret, size, "%" PRId64 " %s %" PRId64 " %s",
		    ms / units[i].ms, units[i].name, rest, units[i - 1].name);
}

void
text_time(int64_t stamp_ms, char *ret, size_t size)
{
	time_t t = (time_t)(stamp_ms / 1000);
	struct tm tm;

	if (stamp_ms <= 0 || localtime_r(&t, &tm) == NULL ||
	    strftime(ret, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(ret, size, "-");
}

void
text_bytes(int64_t bytes, char *ret, size_t size)
{
	if (bytes < 1000)
		snprintf(ret, size, "%" PRId64 " B", bytes);
	else if (bytes < 1000000)
		snprintf(ret, size, "%.1f kB", (double)bytes / 1000);
	else if (bytes < 1000000000)
		snprintf(ret, size, "%.1f MB", (double)bytes / 1000000);
	else
		snprintf(ret, size, "%.1f GB", (double)bytes / 1000000000);
}

void
text_time_short(int64_t stamp_ms, int64_t now_ms, char *ret, size_t size)
{
	time_t t = (time_t)(stamp_ms / 1000), now = (time_t)(now_ms / 1000);
	struct tm then, today;

	if (localtime_r(&t, &then) == NULL || localtime_r(&now, &today) == NULL)
		text_time(stamp_ms, ret, size);
	else if (then.tm_year != today.tm_year)
		strftime(ret, size, "%Y-%m-%d", &then);
	else if (then.tm_yday != today.tm_yday)
		strftime(ret, size, "%b %d %H:%M", &then);
	else
		strftime(ret, size, "%H:%M:%S", &then);
}
