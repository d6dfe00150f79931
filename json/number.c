#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "json/number.h"

/* More digits than any halfway point between two doubles has. */
#define DOUBLE_DIGITS 800

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static const uint8_t *
skip_digits(const uint8_t *p, const uint8_t *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

size_t
json_number_scan(const uint8_t *p, const uint8_t *end, const uint8_t **ret_bad)
{
	const uint8_t *start = p, *from;

	if (p < end && *p == '-')
		p++;
	from = p;
	p = p < end && *p == '0' ? p + 1 : skip_digits(p, end);
	*ret_bad = p;
	if (p == from)
		return 0;
	if (p < end && *p == '.') {
		from = ++p;
		*ret_bad = p = skip_digits(p, end);
		if (p == from)
			return 0;
	}
	if (p < end && (*p | 0x20) == 'e') {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		from = p;
		*ret_bad = p = skip_digits(p, end);
		if (p == from)
			return 0;
	}
	return (size_t)(p - start);
}

static int64_t
read_exponent(const uint8_t *p, const uint8_t *end)
{
	bool negative = p < end && *p == '-';
	int64_t exp = 0;

	if (p < end && (*p == '+' || *p == '-'))
		p++;
	for (; p < end && exp < JSON_EXP_MAX; p++)
		exp = exp * 10 + (*p - '0');
	if (exp > JSON_EXP_MAX)
		exp = JSON_EXP_MAX;
	return negative ? -exp : exp;
}

struct json_decimal
json_decimal_read(const uint8_t *text, size_t len)
{
	const uint8_t *p = text, *end = text + len;
	struct json_decimal d = { 0 };
	size_t seen = 0;  /* digits since the first that is not 0 */
	size_t point = 0; /* digits behind the point */
	size_t zeros = 0; /* since the last that is not 0 */
	int64_t first;    /* exponent of the first digit */
	bool fraction = false;

	d.negative = p < end && *p == '-';
	if (d.negative)
		p++;
	for (; p < end && (*p == '.' || is_digit(*p)); p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		point += fraction;
		if (*p == '0' && seen == 0)
			continue;
		if (seen++ == 0)
			d.digits = p;
		zeros = *p == '0' ? zeros + 1 : 0;
	}
	if (seen == 0) {
		d.negative = false;
		return d;
	}
	if (p < end)
		d.exp = read_exponent(p + 1, end);
	d.ndigits = seen - zeros;
	d.exp += (int64_t)zeros - (int64_t)point;
	/* What json_decimal_add() writes must read back as the same. */
	first = d.exp + (int64_t)d.ndigits - 1;
	if (first > JSON_EXP_MAX)
		d.exp -= first - JSON_EXP_MAX;
	else if (first < -JSON_EXP_MAX)
		d.exp += -JSON_EXP_MAX - first;
	return d;
}

static unsigned
next_digit(const uint8_t **p)
{
	if (**p == '.')
		(*p)++;
	return (unsigned)(*(*p)++ - '0');
}

static int
compare_magnitude(const struct json_decimal *a, const struct json_decimal *b)
{
	int64_t ea = a->exp + (int64_t)a->ndigits;
	int64_t eb = b->exp + (int64_t)b->ndigits;
	const uint8_t *pa = a->digits, *pb = b->digits;

	if (ea != eb)
		return ea < eb ? -1 : 1;
	for (size_t i = 0; i < a->ndigits && i < b->ndigits; i++) {
		unsigned da = next_digit(&pa), db = next_digit(&pb);

		if (da != db)
			return da < db ? -1 : 1;
	}
	return (a->ndigits > b->ndigits) - (a->ndigits < b->ndigits);
}

int
json_decimal_cmp(const struct json_decimal *a, const struct json_decimal *b)
{
	int sa = a->ndigits == 0 ? 0 : a->negative ? -1 : 1;
	int sb = b->ndigits == 0 ? 0 : b->negative ? -1 : 1;

	if (sa != sb)
		return sa < sb ? -1 : 1;
	if (sa == 0)
		return 0;
	return sa * compare_magnitude(a, b);
}

bool
json_decimal_is_int(const struct json_decimal *d)
{
	return d->exp >= 0;
}

bool
json_decimal_int64(const struct json_decimal *d, int64_t *ret)
{
	const uint8_t *p = d->digits;
	uint64_t limit = (uint64_t)INT64_MAX + d->negative, sum = 0;

	if (d->exp < 0 || d->exp > 18 || d->ndigits > 19)
		return false;
	for (size_t i = 0; i < d->ndigits + (size_t)d->exp; i++) {
		unsigned digit = i < d->ndigits ? next_digit(&p) : 0;

		if (sum > (limit - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*ret = (int64_t)(d->negative ? 0 - sum : sum);
	return true;
}

bool
json_decimal_double(const struct json_decimal *d, double *ret)
{
	char text[DOUBLE_DIGITS + 32];
	const uint8_t *p = d->digits;
	size_t n = 0, used;
	int64_t exp = d->exp;
	double v;

	if (d->ndigits == 0) {
		*ret = 0;
		return true;
	}
	used = d->ndigits > DOUBLE_DIGITS ? DOUBLE_DIGITS : d->ndigits;
	if (d->negative)
		text[n++] = '-';
	for (size_t i = 0; i < used; i++)
		text[n++] = (char)('0' + next_digit(&p));
	exp += (int64_t)(d->ndigits - used);
	if (used < d->ndigits) {
		/* The last digit is not 0: enough to break a tie. */
		text[n++] = '1';
		exp--;
	}
	/* Without a decimal point strtod() is the same in every locale. */
	snprintf(text + n, sizeof(text) - n, "e%lld", (long long)exp);
	v = strtod(text, NULL);
	if (!isfinite(v))
		return false;
	*ret = v;
	return true;
}

static uint64_t
mul_mod(uint64_t a, uint64_t b, uint64_t m)
{
	return (uint64_t)((unsigned __int128)a * b % m);
}

bool
json_decimal_divisible(
    const struct json_decimal *value, const struct json_decimal *divisor)
{
	const uint8_t *p = divisor->digits;
	uint64_t m = 0, rest = 0, ten, power;

	if (value->ndigits == 0)
		return true;
	/* Without zeros at its end value is no multiple of a power of 10. */
	if (value->exp < divisor->exp)
		return false;
	for (size_t i = 0; i < divisor->ndigits; i++)
		m = m * 10 + next_digit(&p);
	ASSERT(m != 0);
	p = value->digits;
	for (size_t i = 0; i < value->ndigits; i++)
		rest = (mul_mod(rest, 10, m) + next_digit(&p)) % m;
	power = (uint64_t)(value->exp - divisor->exp);
	for (ten = 10 % m; power != 0; power >>= 1) {
		if (power & 1)
			rest = mul_mod(rest, ten, m);
		ten = mul_mod(ten, ten, m);
	}
	return rest == 0;
}

static void
add_digits(struct buf *out, const uint8_t **p, size_t n)
{
	while (n-- > 0) {
		char c = (char)('0' + next_digit(p));

		buf_add(out, &c, 1);
	}
}

static void
add_zeros(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_add(out, "0", 1);
}

bool
json_decimal_add(const struct json_decimal *d, struct buf *out)
{
	size_t k = d->ndigits;
	int64_t n = d->exp + (int64_t)k;
	const uint8_t *p = d->digits;

	if (k == 0)
		return buf_add_str(out, "0");
	if (d->negative)
		buf_add_str(out, "-");
	if (n > 0 && n <= 21) {
		size_t whole = (size_t)n;

		add_digits(out, &p, k < whole ? k : whole);
		add_zeros(out, k < whole ? whole - k : 0);
		if (k > whole) {
			buf_add_str(out, ".");
			add_digits(out, &p, k - whole);
		}
	} else if (n > -6 && n <= 0) {
		buf_add_str(out, "0.");
		add_zeros(out, (size_t)-n);
		add_digits(out, &p, k);
	} else {
		add_digits(out, &p, 1);
		if (k > 1)
			buf_add_str(out, ".");
		add_digits(out, &p, k - 1);
		buf_addf(out, "e%+lld", (long long)(n - 1));
	}
	return !out->failed;
}

/* Writes v with so many digits; true if it reads back as v. */
static bool
round_trip(double v, int precision, char *text, size_t size, size_t *ret_len)
{
	char full[40];
	struct json_decimal d;
	double back;
	size_t n = 0;
	char *e;

	snprintf(full, sizeof(full), "%.*e", precision - 1, v);
	e = strchr(full, 'e');
	if (e == NULL)
		return false;
	/* Only the digits: the point depends on the locale. */
	for (char *c = full; c < e; c++)
		if (*c == '-' || is_digit((uint8_t)*c))
			text[n++] = *c;
	n += (size_t)snprintf(text + n, size - n, "e%ld",
	    strtol(e + 1, NULL, 10) - (precision - 1));
	*ret_len = n;
	d = json_decimal_read((uint8_t *)text, n);
	return json_decimal_double(&d, &back) && back == v;
}

bool
json_double_add(double v, struct buf *out)
{
	char text[40];
	struct json_decimal d;
	size_t len = 0;
	/* 15 digits always survive, but not those of a denormal number. */
	int precision = fabs(v) < DBL_MIN ? 1 : 15;

	if (v == 0)
		return buf_add_str(out, signbit(v) ? "-0" : "0");
	while (!round_trip(v, precision, text, sizeof(text), &len) &&
	    precision < 17)
		precision++;
	d = json_decimal_read((uint8_t *)text, len);
	return json_decimal_add(&d, out);
}
