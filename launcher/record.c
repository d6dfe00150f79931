/*
 * record: number and hash of the audit log's last row, in a file beside the state
 * directory that supervisord cannot write to. Runs in the launcher, which does
 * not know what they mean: supervisord tells it the row, and is told it at its
 * next start. A crash leaves an earlier row, never a later one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launcher/record.h"

static int
open_dir(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) == -1 && errno != EEXIST)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		return fd;
	if (st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return fd;
	fd_close(&fd);
	errno = EPERM;
	return -1;
}

/* What is no row is none. */
static void
read_row(struct record *r)
{
	static const char digits[] = "0123456789abcdef";
	char text[RECORD_BYTES + 1];
	ssize_t n = pread(r->fd, text, RECORD_BYTES, 0);

	r->text[0] = '\0';
	if (n != RECORD_BYTES)
		return;
	text[RECORD_BYTES - 1] = '\0';
	if (strspn(text, digits) == RECORD_NUMBER &&
	    text[RECORD_NUMBER] == ':' &&
	    strspn(text + RECORD_NUMBER + 1, digits) ==
		RECORD_BYTES - RECORD_NUMBER - 2)
		strlcpy(r->text, text, sizeof(r->text));
}

void
record_open(struct record *r, const char *state)
{
	char path[PATH_MAX + sizeof(RECORD_SUFFIX)];
	int dir;

	snprintf(path, sizeof(path), "%s" RECORD_SUFFIX, state);
	r->text[0] = '\0';
	r->fd = -1;
	dir = open_dir(path);
	if (dir != -1) {
		r->fd = openat(dir, RECORD_FILE,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		close(dir);
	}
	if (r->fd == -1)
		log_warn("the end of the audit log is not recorded: %s: %s",
		    path, strerror(errno));
	else
		read_row(r);
}

/* One write of one length: who reads it sees this row or the one before. */
void
record_take(struct record *r, const struct launch_row_told *told)
{
	char text[RECORD_BYTES + 1];
	size_t len;

	if (r->fd == -1 || told->row == 0)
		return;
	len = (size_t)snprintf(
	    text, sizeof(text), "%0*" PRIu64 ":", RECORD_NUMBER, told->row);
	for (size_t i = 0; i < sizeof(told->hash); i++)
		len += (size_t)snprintf(
		    text + len, sizeof(text) - len, "%02x", told->hash[i]);
	if (strcmp(text, r->text) == 0)
		return;
	strlcpy(r->text, text, sizeof(r->text));
	text[RECORD_BYTES - 1] = '\n';
	if (pwrite(r->fd, text, RECORD_BYTES, 0) != RECORD_BYTES)
		log_warn("the end of the audit log was not recorded: %s",
		    strerror(errno));
}
