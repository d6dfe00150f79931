#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vis.h>

#include "common/log.h"

#define LINE_MAX_BYTES  2048
#define LINE_HEAD_BYTES 64

static const char *log_prog = "browsertask";
static enum log_level log_max = LOGL_INFO;
static struct {
	bool on;
	size_t len;
	char text[PIPE_BUF];
} log_held;
static void (*log_filter)(char *message, size_t size);

void
log_init(const char *prog, enum log_level max_level)
{
	log_prog = prog;
	log_max = max_level;
}

void
log_set_filter(void (*filter)(char *message, size_t size))
{
	log_filter = filter;
}

/* Nearly every line: vis would leave it as it is, at some cost. */
static bool
log_is_plain(const char *msg)
{
	for (; *msg != '\0'; msg++)
		if (*msg < ' ' || *msg > '~')
			return false;
	return true;
}

const char *
log_program(void)
{
	return log_prog;
}

/* False: there is no room for it. */
static bool
log_keep(const struct iovec *parts, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += parts[i].iov_len;
	if (len > sizeof(log_held.text) - log_held.len)
		return false;
	for (size_t i = 0; i < n; i++) {
		memcpy(log_held.text + log_held.len, parts[i].iov_base,
		    parts[i].iov_len);
		log_held.len += parts[i].iov_len;
	}
	return true;
}

void
log_flush(void)
{
	if (log_held.len > 0 &&
	    write(STDERR_FILENO, log_held.text, log_held.len) == -1) {
		/* Nobody left to tell. */
	}
	log_held.len = 0;
}

void
log_hold(void)
{
	log_held.on = true;
}

void
log_release(void)
{
	log_held.on = false;
	log_flush();
}

/* "<N>PROG: " and its length; a level is one digit. */
static size_t
log_head(enum log_level level, char ret[LINE_HEAD_BYTES])
{
	size_t len = strnlen(log_prog, LINE_HEAD_BYTES - 5);

	ret[0] = '<';
	ret[1] = (char)('0' + level);
	ret[2] = '>';
	memcpy(ret + 3, log_prog, len);
	ret[3 + len] = ':';
	ret[4 + len] = ' ';
	return len + 5;
}

static void __attribute__((format(printf, 2, 0)))
log_vwrite(enum log_level level, const char *fmt, va_list ap)
{
	char msg[LINE_MAX_BYTES], safe[LINE_MAX_BYTES * 4];
	char head[LINE_HEAD_BYTES], end[] = "\n";
	struct iovec line[3] = { { head, 0 }, { msg, 0 }, { end, 1 } };

	vsnprintf(msg, sizeof(msg), fmt, ap);
	if (log_filter != NULL)
		log_filter(msg, sizeof(msg));
	if (!log_is_plain(msg)) {
		strnvis(
		    safe, msg, sizeof(safe), VIS_OCTAL | VIS_NL | VIS_NOSLASH);
		line[1].iov_base = safe;
	}
	line[0].iov_len = log_head(level, head);
	line[1].iov_len = strlen(line[1].iov_base);
	if (log_held.on && level > LOGL_ERR && log_keep(line, 3))
		return;
	log_flush();
	if (writev(STDERR_FILENO, line, 3) == -1) {
		/* Nobody left to tell. */
	}
}

void
log_write(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > log_max)
		return;
	va_start(ap, fmt);
	log_vwrite(level, fmt, ap);
	va_end(ap);
}

void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vwrite(LOGL_ERR, fmt, ap);
	va_end(ap);
	exit(1);
}
