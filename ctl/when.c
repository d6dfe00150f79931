/*
 * Times on the command line: durations and moments in the past. Pure but for
 * the time zone.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/ctl.h"

static bool
read_duration(const char *text, bool days, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 },
		{ "h", 3600000 }, { "d", 86400000 } };
	size_t n = sizeof(units) / sizeof(units[0]) - !days;
	char *end;
	double v;

	if (text[0] < '0' || text[0] > '9')
		return false;
	v = strtod(text, &end);
	/* It reads hexadecimal numbers and exponents, too. */
	if (end != text + strspn(text, "0123456789."))
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(end, units[i].unit) == 0 && v <= 1e6) {
			*ret_ms = (int64_t)(v * (double)units[i].ms + 0.5);
			return true;
		}
	return false;
}

bool
ctl_duration(const char *text, int64_t *ret_ms)
{
	return read_duration(text, false, ret_ms);
}

static bool
read_date(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	static const struct {
		const char *format;
		bool today;
	} rows[] = { { "%Y-%m-%d", false }, { "%Y-%m-%d %H:%M", false },
		{ "%Y-%m-%dT%H:%M", false }, { "%Y-%m-%d %H:%M:%S", false },
		{ "%Y-%m-%dT%H:%M:%S", false }, { "%H:%M", true },
		{ "%H:%M:%S", true } };
	time_t now = (time_t)(now_ms / 1000), t;
	const char *end;
	struct tm tm;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].today || localtime_r(&now, &tm) == NULL)
			memset(&tm, 0, sizeof(tm));
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1;
		end = strptime(text, rows[i].format, &tm);
		if (end == NULL || *end != '\0')
			continue;
		t = mktime(&tm);
		if (t < 0)
			return false;
		*ret_ms = (int64_t)t * 1000;
		return true;
	}
	return false;
}

bool
ctl_moment(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	int64_t ago;

	/* A number alone would be taken for a year by some, by some for ms. */
	if (text[0] == '\0' || text[strlen(text) - 1] <= '9' ||
	    !read_duration(text, true, &ago))
		return read_date(text, now_ms, ret_ms);
	*ret_ms = now_ms > ago ? now_ms - ago : 0;
	return true;
}
