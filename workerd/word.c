/*
 * Words for the redactor, in workerd only: which secrets are words, and where
 * one stands alone. In doubt a word stands alone, so that it is taken out.
 */
#include "workerd/word.h"

#define PLAIN_MAX 12

bool
word_is_plain(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t letters = 0, n;

	while (letters < len && (p[letters] | 0x20) >= 'a' &&
	    (p[letters] | 0x20) <= 'z')
		letters++;
	for (n = letters; n < len && p[n] >= '0' && p[n] <= '9';)
		n++;
	return letters > 0 && n == len && len < PLAIN_MAX;
}

static bool
is_letter(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
joins(uint8_t c)
{
	return c == '-' || c == '.';
}

/* Whether what ends at p may be an escape, which is no part of a word. */
static bool
ends_escape(const uint8_t *begin, const uint8_t *p)
{
	for (int i = 0; i < 10 && p > begin && is_letter(p[-1]); i++)
		p--;
	return p > begin && (p[-1] == '%' || p[-1] == '\\' || p[-1] == '&');
}

bool
word_is_alone(const uint8_t *begin, const uint8_t *end, const uint8_t *p,
    const uint8_t *p_end)
{
	if (p > begin && is_letter(p[-1]) && !ends_escape(begin, p))
		return false;
	if (p - begin > 1 && joins(p[-1]) && is_letter(p[-2]))
		return false;
	/* A path; "//" may begin a host. */
	if (p > begin && p[-1] == '/')
		return false;
	if (p_end < end && is_letter(*p_end))
		return false;
	return end - p_end < 2 || !joins(*p_end) || !is_letter(p_end[1]);
}
