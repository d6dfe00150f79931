/*
 * log: one line per decision on stderr, with the <N> priority prefix that
 * journald understands. Only programs log; library code returns codes.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stddef.h>

enum log_level {
	LOGL_ERR = 3,
	LOGL_WARN = 4,
	LOGL_INFO = 6,
	LOGL_DEBUG = 7
};

/* Names the process in every line; prog must outlive all logging. */
void log_init(const char *prog, enum log_level max_level);
/* The name given there. */
const char *log_program(void);
/*
 * Has every message changed by filter before it is written (NULL: by none);
 * size is the room that it has. The filter must not log.
 */
void log_set_filter(void (*filter)(char *message, size_t size));
/* Writes "<N>PROG: message\n" in one write(2); control bytes are escaped. */
void log_write(enum log_level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/*
 * Between the two, lines are gathered, so that many share a write; errors and
 * what fills PIPE_BUF, beyond which lines of others could come between, are
 * not kept waiting. Nothing in between may wait for anything, nor end the
 * process except by panic().
 */
void log_hold(void);
void log_release(void);
/* Writes what is held; for panic(). */
void log_flush(void);
/* As log_write(LOGL_ERR), then exit(1). Only main files at start-up. */
_Noreturn void
fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define log_err(...)   log_write(LOGL_ERR, __VA_ARGS__)
#define log_warn(...)  log_write(LOGL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOGL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOGL_DEBUG, __VA_ARGS__)

#endif
