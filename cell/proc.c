/*
 * proc: reading of /proc. Runs in the cell, which sees only its own PID
 * namespace. Names of processes are their own choice: a reader must not be led
 * astray by blanks, brackets or line breaks in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell/proc.h"

/* Fields of stat behind the name, counted from there. */
enum {
	STAT_UTIME = 11,
	STAT_STIME,
	STAT_CUTIME,
	STAT_CSTIME,
	STAT_THREADS = 17,
	STAT_STARTED = 19,
	STAT__MAX
};

ssize_t
proc_read(int dirfd, const char *name, char *buf, size_t size)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd == -1)
		return -1;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	return n == -1 ? -1 : (ssize_t)len;
}

const char *
proc_field(const char *status, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = status; p != NULL && *p != '\0';) {
		if (strncmp(p, key, n) == 0 && p[n] == ':')
			return p + n + 1;
		p = strchr(p, '\n');
		if (p != NULL)
			p++;
	}
	return NULL;
}

bool
proc_parse_stat(const char *stat, struct proc_use *ret_use)
{
	uint64_t value[STAT__MAX];
	const char *p = strrchr(stat, ')');
	char *end;

	/* Behind the name comes the state, a letter. */
	if (p == NULL || p[1] != ' ' || p[2] == '\0')
		return false;
	p += 3;
	ret_use->running = p[-1] == 'R';
	for (size_t i = 1; i < STAT__MAX; i++) {
		/* Some may be negative: none of those that count. */
		value[i] = (uint64_t)strtoll(p, &end, 10);
		if (end == p || (*end != ' ' && *end != '\n'))
			return false;
		p = end;
	}
	for (size_t i = STAT_UTIME; i <= STAT_CSTIME; i++)
		if (value[i] > INT64_MAX / 4)
			return false;
	if (value[STAT_THREADS] > UINT32_MAX)
		return false;
	ret_use->ticks = value[STAT_UTIME] + value[STAT_STIME];
	ret_use->waited = value[STAT_CUTIME] + value[STAT_CSTIME];
	ret_use->started = value[STAT_STARTED];
	ret_use->threads = (uint32_t)value[STAT_THREADS];
	return true;
}

/* "   1234 kB" as bytes; 0 when the field is not there. */
static bool
status_bytes(const char *status, const char *key, uint64_t *ret_bytes)
{
	const char *p = proc_field(status, key);
	unsigned long long v;
	char *end;

	*ret_bytes = 0;
	if (p == NULL)
		return true;
	v = strtoull(p, &end, 10);
	if (end == p || strncmp(end, " kB\n", 4) != 0 || v > UINT64_MAX >> 11)
		return false;
	*ret_bytes = (uint64_t)v << 10;
	return true;
}

bool
proc_parse_status(const char *status, struct proc_use *ret_use)
{
	uint64_t anon, swap;

	if (proc_field(status, "State") == NULL ||
	    !status_bytes(status, "RssAnon", &anon) ||
	    !status_bytes(status, "VmSwap", &swap))
		return false;
	ret_use->memory = anon + swap;
	return true;
}
