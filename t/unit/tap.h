/*
 * tap: prints what `prove` and automake's driver read. A test program calls
 * ok() and friends, then returns done_testing().
 */
#ifndef T_UNIT_TAP_H
#define T_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

static inline bool __attribute__((format(printf, 4, 5)))
tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!pass) {
		tap_failed++;
		printf("#   failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return pass;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, name)                                            \
	do {                                                               \
		long long tap_g = (long long)(got);                        \
		long long tap_w = (long long)(want);                       \
		if (!ok(tap_g == tap_w, "%s", name))                       \
			printf("#   got %lld, want %lld\n", tap_g, tap_w); \
	} while (0)
#define is_str(got, want, name)                                           \
	do {                                                              \
		const char *tap_g = (got), *tap_w = (want);               \
		if (!ok(tap_g != NULL && strcmp(tap_g, tap_w) == 0, "%s", \
			name))                                            \
			printf("#   got \"%s\", want \"%s\"\n",           \
			    tap_g == NULL ? "(null)" : tap_g, tap_w);     \
	} while (0)

static inline void
tap_skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

/* Ends the plan; the value is main's. */
static inline int
done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed == 0 ? 0 : 1;
}

#endif
