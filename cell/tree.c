/*
 * tree: counts what a browser has stored. Runs in the cell, over a directory
 * that a hostile program may have filled and changes meanwhile: no link is
 * followed, and what was found beyond the limit ends the count, so that a
 * million empty files cost no more than those up to it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/tree.h"

#define DEPTH_MAX   24
#define LEAST_BYTES 4096
#define BLOCK_BYTES 512

struct count {
	uint64_t bytes, most;
};

static void tree_enter(int dirfd, const char *name, int depth, struct count *);

static void
tree_add(int dirfd, const char *name, int depth, struct count *n)
{
	struct stat st;
	uint64_t bytes;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return;
	bytes = (uint64_t)st.st_blocks * BLOCK_BYTES;
	n->bytes += bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
	if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
		tree_enter(dirfd, name, depth + 1, n);
}

static void
tree_enter(int dirfd, const char *name, int depth, struct count *n)
{
	int fd = openat(
	    dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *d;
	DIR *dir;

	if (fd == -1)
		return;
	dir = fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return;
	}
	while (n->bytes <= n->most && (d = readdir(dir)) != NULL)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			tree_add(fd, d->d_name, depth, n);
	closedir(dir);
}

uint64_t
tree_bytes(const char *path, uint64_t most)
{
	struct count n = { 0, most };

	tree_enter(AT_FDCWD, path, 0, &n);
	return n.bytes;
}
