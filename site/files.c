/*
 * files: path to bytes and media type for the demo site. Runs in demosite. It
 * must never leave the page directory: every part of a path is opened by
 * itself, from its parent, without following links.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "common/fdio.h"
#include "site/files.h"

static const struct {
	const char *suffix;
	const char *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".json", "application/json; charset=utf-8" },
	{ ".csv", "text/csv; charset=utf-8" },
	{ ".txt", "text/plain; charset=utf-8" },
	{ ".svg", "image/svg+xml; charset=utf-8" },
	{ ".png", "image/png" },
	{ ".ico", "image/x-icon" },
};

static const char *
type_find(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot != NULL && i < sizeof(types) / sizeof(types[0]);
	     i++) {
		if (strcmp(types[i].suffix, dot) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}

/* The next part of *path into name; the rest begins behind its slashes. */
static int
part_next(const char **path, char *name, size_t size)
{
	size_t len = strcspn(*path, "/");

	if (len >= size)
		return ENAMETOOLONG;
	memcpy(name, *path, len);
	name[len] = '\0';
	if (name[0] == '.' || strchr(name, '\\') != NULL)
		return ENOENT;
	*path += len;
	return 0;
}

/* Opens what path names; name gets its last part as it is on the disk. */
static int
file_open(int dirfd, const char *path, char *name, size_t size, int *ret_fd)
{
	int dir = -1, fd, error;

	for (;;) {
		bool last;

		path += strspn(path, "/");
		error = part_next(&path, name, size - sizeof(".html"));
		if (error != 0)
			break;
		last = *path == '\0';
		if (last && name[0] == '\0')
			strlcpy(name, "index.html", size);
		else if (last && strchr(name, '.') == NULL)
			strlcat(name, ".html", size);
		fd = openat(dir == -1 ? dirfd : dir, name,
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
			(last ? 0 : O_DIRECTORY));
		error = fd == -1 ? errno : 0;
		fd_close(&dir);
		if (error != 0)
			break;
		if (last) {
			*ret_fd = fd;
			return 0;
		}
		dir = fd;
	}
	fd_close(&dir);
	return error;
}

static int
file_read(int fd, size_t size, struct evbuffer *out)
{
	struct evbuffer_iovec vec;
	size_t got = 0;

	if (size == 0)
		return 0;
	if (evbuffer_reserve_space(out, (ssize_t)size, &vec, 1) != 1)
		return ENOMEM;
	while (got < size) {
		ssize_t n = read(fd, (char *)vec.iov_base + got, size - got);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? EIO : errno;
		got += (size_t)n;
	}
	vec.iov_len = size;
	return evbuffer_commit_space(out, &vec, 1) == 0 ? 0 : ENOMEM;
}

int
files_read(
    int dirfd, const char *path, struct evbuffer *out, const char **ret_type)
{
	char name[256];
	struct stat st;
	int fd, error;

	error = file_open(dirfd, path, name, sizeof(name), &fd);
	if (error != 0)
		return error;
	if (fstat(fd, &st) == -1)
		error = errno;
	else if (!S_ISREG(st.st_mode))
		error = ENOENT;
	else if (st.st_size > FILES_MAX_BYTES)
		error = EFBIG;
	else
		error = file_read(fd, (size_t)st.st_size, out);
	fd_close(&fd);
	if (error == 0)
		*ret_type = type_find(name);
	return error;
}
