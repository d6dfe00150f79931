/*
 * number: the exact decimal value of a JSON number, whatever its size, so that
 * comparisons never depend on rounding. Private to json/. Nothing here depends
 * on the locale.
 */
#ifndef JSON_NUMBER_H
#define JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * sign * digits * 10^exp. digits points into the number's text (a '.' between
 * them is skipped), has no zeros at either end, and is empty for 0. If the first
 * digit stands beyond 10^+-JSON_EXP_MAX it is taken to stand there.
 */
struct json_decimal {
	const uint8_t *digits;
	size_t ndigits;
	int64_t exp;
	bool negative;
};

#define JSON_EXP_MAX ((int64_t)1 << 53)

/* text is a number by the JSON grammar, and outlives the decimal. */
struct json_decimal json_decimal_read(const uint8_t *text, size_t len);
/*
 * The length of the number at p, 0 if none is there; *ret_bad is then the first
 * byte that does not fit.
 */
size_t
json_number_scan(const uint8_t *p, const uint8_t *end, const uint8_t **ret_bad);
int json_decimal_cmp(const struct json_decimal *, const struct json_decimal *);
bool json_decimal_is_int(const struct json_decimal *);
bool json_decimal_int64(const struct json_decimal *, int64_t *ret);
/* The nearest double; false if that is infinite. */
bool json_decimal_double(const struct json_decimal *, double *ret);
/*
 * Whether value / divisor is whole. The divisor is not 0 and has at most
 * JSON_DIVISOR_DIGITS digits.
 */
#define JSON_DIVISOR_DIGITS 18
bool json_decimal_divisible(
    const struct json_decimal *value, const struct json_decimal *divisor);
/* Appends it in the layout of ECMAScript's Number.prototype.toString. */
bool json_decimal_add(const struct json_decimal *, struct buf *out);
/* Appends the shortest text that reads back as the same finite double. */
bool json_double_add(double, struct buf *out);

#endif
