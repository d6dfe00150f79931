/*
 * names: copies of resolv.conf and hosts, and when they change. Runs in the
 * launcher. They are written anew or replaced, may be links, and links may come
 * to lead elsewhere: so the files, the directories that they are in and those
 * where links end are watched, and again after each change.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "launcher/names.h"

#define FILE_BYTES  1048576 /* taken of one */
#define EVENT_BYTES 4096
#define CHANGES                                                 \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | \
	    IN_DELETE_SELF | IN_MOVE_SELF)

static const char *const files[NAMES_FILES] = { "/etc/resolv.conf",
	"/etc/hosts" };

struct names {
	int inotify;
	struct event *readable;
	names_fn *changed;
	void *arg;
	char ends[NAMES_FILES][NAME_MAX + 1]; /* their names where links end */
};

static void
watch_place(struct names *n, const char *path)
{
	char copy[PATH_MAX];

	inotify_add_watch(n->inotify, path, CHANGES);
	strlcpy(copy, path, sizeof(copy));
	inotify_add_watch(n->inotify, dirname(copy), CHANGES);
}

static void
watch_all(struct names *n)
{
	char real[PATH_MAX];

	for (size_t i = 0; i < NAMES_FILES; i++) {
		watch_place(n, files[i]);
		n->ends[i][0] = '\0';
		if (realpath(files[i], real) == NULL)
			continue;
		watch_place(n, real);
		strlcpy(n->ends[i], basename(real), sizeof(n->ends[i]));
	}
}

/* Other files of these directories change, too. */
static bool
is_ours(const struct names *n, const struct inotify_event *e)
{
	if (e->len == 0)
		return (e->mask & IN_IGNORED) == 0;
	for (size_t i = 0; i < NAMES_FILES; i++)
		if (strcmp(e->name, strrchr(files[i], '/') + 1) == 0 ||
		    strcmp(e->name, n->ends[i]) == 0)
			return true;
	return false;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	_Alignas(struct inotify_event) char bytes[EVENT_BYTES];
	struct names *n = arg;
	bool ours = false;
	ssize_t len;

	while ((len = read(n->inotify, bytes, sizeof(bytes))) > 0)
		for (char *p = bytes; p < bytes + len;) {
			const struct inotify_event *e = (const void *)p;

			ours = is_ours(n, e) || ours;
			p += sizeof(*e) + e->len;
		}
	if (!ours)
		return;
	watch_all(n);
	n->changed(n->arg);
}

struct names *
names_new(struct event_base *base, names_fn *changed, void *arg)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->changed = changed;
	n->arg = arg;
	n->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (n->inotify != -1)
		n->readable = event_new(
		    base, n->inotify, EV_READ | EV_PERSIST, on_readable, n);
	if (n->readable == NULL || event_add(n->readable, NULL) == -1)
		names_free(&n);
	else
		watch_all(n);
	return n;
}

void
names_free(struct names **names)
{
	struct names *n = *names;

	*names = NULL;
	if (n == NULL)
		return;
	if (n->readable != NULL)
		event_free(n->readable);
	fd_close(&n->inotify);
	free(n);
}

/* What cannot be read is as good as not there. */
static void
copy_into(int to, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char bytes[EVENT_BYTES];
	size_t left = FILE_BYTES;
	ssize_t n;

	if (from == -1)
		return;
	while (left > 0 && (n = read(from, bytes, sizeof(bytes))) > 0) {
		if (fd_write_all(to, bytes, (size_t)n) != 0)
			break;
		left -= (size_t)n < left ? (size_t)n : left;
	}
	close(from);
}

int
names_copy(int ret_fds[NAMES_FILES])
{
	int fds[NAMES_FILES], error;

	for (size_t i = 0; i < NAMES_FILES; i++) {
		fds[i] = memfd_create("names", MFD_CLOEXEC);
		if (fds[i] == -1) {
			error = errno;
			while (i > 0)
				close(fds[--i]);
			return error;
		}
		copy_into(fds[i], files[i]);
	}
	memcpy(ret_fds, fds, sizeof(fds));
	return 0;
}
