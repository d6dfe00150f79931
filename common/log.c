#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vis.h>

#include "common/log.h"

#define LINE_MAX_BYTES 2048

static const char *log_prog = "browsertask";
static enum log_level log_max = LOGL_INFO;

void
log_init(const char *prog, enum log_level max_level)
{
	log_prog = prog;
	log_max = max_level;
}

static void __attribute__((format(printf, 2, 0)))
log_vwrite(enum log_level level, const char *fmt, va_list ap)
{
	char msg[LINE_MAX_BYTES], safe[LINE_MAX_BYTES * 4], *line;
	int n;

	vsnprintf(msg, sizeof(msg), fmt, ap);
	strnvis(safe, msg, sizeof(safe), VIS_OCTAL | VIS_NL | VIS_NOSLASH);
	n = asprintf(&line, "<%d>%s: %s\n", (int)level, log_prog, safe);
	if (n < 0)
		return;
	if (write(STDERR_FILENO, line, (size_t)n) == -1) {
		/* Nobody left to tell. */
	}
	free(line);
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
