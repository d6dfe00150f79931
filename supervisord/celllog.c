/*
 * The log pipe of a cell, read by supervisord. Whoever writes there is not
 * trusted: lines are cut, rate is limited, control bytes are made visible by
 * log_write(). Chromium is talkative, so lines without the priority prefix of
 * our own programs are shown only when debugging.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "supervisord/celllog.h"

#define LINE_BYTES       512
#define LINES_PER_SECOND 50
#define NAME_BYTES       48
#define DRAIN_READS      16

struct celllog {
	int fd;
	struct event *readable;
	char name[NAME_BYTES];
	char line[LINE_BYTES + 1];
	size_t len;
	bool cut; /* the rest of an overlong line is passed over */
	int64_t window_ms;
	unsigned shown, dropped;
};

static bool
celllog_may_show(struct celllog *l)
{
	int64_t now = clock_mono_ms();

	if (now - l->window_ms >= 1000) {
		if (l->dropped > 0)
			log_warn("%s: %u lines dropped", l->name, l->dropped);
		l->window_ms = now;
		l->shown = l->dropped = 0;
	}
	if (l->shown >= LINES_PER_SECOND) {
		l->dropped++;
		return false;
	}
	l->shown++;
	return true;
}

/* "<6>workerd: text" keeps its level, anything else is for debugging. */
static void
celllog_show(struct celllog *l)
{
	enum log_level level = LOGL_DEBUG;
	const char *text = l->line;

	l->line[l->len] = '\0';
	if (text[0] == '<' && text[1] >= '0' && text[1] <= '7' &&
	    text[2] == '>') {
		level = text[1] <= '3' ? LOGL_ERR
		    : text[1] <= '4'   ? LOGL_WARN
		    : text[1] <= '6'   ? LOGL_INFO
				       : LOGL_DEBUG;
		text += 3;
	}
	if (*text != '\0' && celllog_may_show(l))
		log_write(level, "%s: %s", l->name, text);
	l->len = 0;
}

static void
celllog_add(struct celllog *l, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n') {
			if (!l->cut)
				celllog_show(l);
			l->cut = false;
			l->len = 0;
		} else if (l->cut) {
			continue;
		} else if (l->len == LINE_BYTES) {
			celllog_show(l);
			l->cut = true;
		} else {
			l->line[l->len++] = bytes[i];
		}
	}
}

/* False when there is nothing (more) to read now. */
static bool
celllog_read(struct celllog *l)
{
	char bytes[4096];
	ssize_t n = read(l->fd, bytes, sizeof(bytes));

	if (n > 0) {
		celllog_add(l, bytes, (size_t)n);
		return true;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return false;
	event_del(l->readable);
	return false;
}

static void
celllog_on_readable(evutil_socket_t fd, short what, void *arg)
{
	celllog_read(arg);
}

struct celllog *
celllog_new(struct event_base *base, int fd, const char *name)
{
	struct celllog *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		fd_close(&fd);
		return NULL;
	}
	l->fd = fd;
	strlcpy(l->name, name, sizeof(l->name));
	l->readable =
	    event_new(base, fd, EV_READ | EV_PERSIST, celllog_on_readable, l);
	if (l->readable == NULL || fd_set_nonblock(fd) != 0 ||
	    event_add(l->readable, NULL) == -1)
		celllog_free(&l);
	return l;
}

void
celllog_rename(struct celllog *l, const char *name)
{
	for (int i = 0; i < DRAIN_READS && celllog_read(l); i++)
		continue;
	strlcpy(l->name, name, sizeof(l->name));
}

void
celllog_free(struct celllog **log)
{
	struct celllog *l = *log;

	if (l == NULL)
		return;
	if (l->readable != NULL) {
		for (int i = 0; i < DRAIN_READS && celllog_read(l); i++)
			continue;
		if (l->len > 0)
			celllog_show(l);
		event_free(l->readable);
	}
	fd_close(&l->fd);
	free(l);
	*log = NULL;
}
