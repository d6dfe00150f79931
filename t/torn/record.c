/*
 * The recorder: this program's own calls that change files. Each does what the
 * system's does and notes what it did below one directory. LMDB's calls come
 * here, too, since the dynamic linker prefers a program's symbols.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "t/torn/disk.h"

#define NODES_MAX 4096
#define NO_NODE   UINT32_MAX

static struct {
	struct disk_log *log; /* NULL: nothing is recorded */
	bool no_sync;
	struct known {
		dev_t dev;
		ino_t ino;
		enum disk_place data, names; /* what a sync of it is for */
	} known[NODES_MAX];
} rec;

static unsigned
node_of_stat(const struct stat *st)
{
	/* The system may give the number of a file that is gone again. */
	for (unsigned i = rec.log->nodes; i-- > 0;)
		if (rec.known[i].ino == st->st_ino &&
		    rec.known[i].dev == st->st_dev)
			return i;
	return NO_NODE;
}

static unsigned
node_of(int fd)
{
	struct stat st;

	if (rec.log == NULL || fstat(fd, &st) == -1)
		return NO_NODE;
	return node_of_stat(&st);
}

static struct disk_op *
note(enum disk_kind kind, unsigned node)
{
	struct disk_log *l = rec.log;
	struct disk_op *op;

	if (l->count == l->room) {
		l->room = l->room == 0 ? 1024 : l->room * 2;
		l->ops = reallocarray(l->ops, l->room, sizeof(*l->ops));
		if (l->ops == NULL)
			err(1, "record");
	}
	op = &l->ops[l->count++];
	*op = (struct disk_op){ .kind = kind, .node = node };
	return op;
}

/* The directory of a path and what it is called there. */
static unsigned
parent_of(int at, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	char dir[512];

	*ret_name = slash == NULL ? path : slash + 1;
	if (rec.log == NULL)
		return NO_NODE;
	if (slash == NULL)
		return at == AT_FDCWD ? NO_NODE : node_of(at);
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	return fstatat(at, dir, &st, 0) == -1 ? NO_NODE : node_of_stat(&st);
}

static enum disk_place
place_of_names(const char *name, unsigned parent)
{
	static const struct {
		const char *name;
		enum disk_place place;
	} places[] = { { "store", PLACE_STORE_DIR },
		{ "artifacts", PLACE_SHARDS }, { "spool", PLACE_SPOOL_DIR },
		{ "sessions", PLACE_STATE_DIR } };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (parent == 0 && strcmp(name, places[i].name) == 0)
			return places[i].place;
	return rec.known[parent].names == PLACE_SHARDS ? PLACE_SHARD
						       : PLACE_OTHER;
}

static enum disk_place
place_of_data(unsigned parent)
{
	switch (rec.known[parent].names) {
	case PLACE_STORE_DIR:
		return PLACE_DATABASE;
	case PLACE_SPOOL_DIR:
		return PLACE_SPOOL;
	default:
		return PLACE_OTHER;
	}
}

static void
note_made(enum disk_kind kind, unsigned parent, int at, const char *path,
    const char *name)
{
	unsigned node = rec.log->nodes;
	struct disk_op *op;
	struct stat st;

	if (node == NODES_MAX || strlen(name) > DISK_NAME_CHARS ||
	    fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == -1)
		errx(1, "cannot record %s", path);
	rec.log->nodes++;
	rec.known[node] = (struct known){ .dev = st.st_dev,
		.ino = st.st_ino,
		.data = place_of_data(parent),
		.names = place_of_names(name, parent) };
	op = note(kind, node);
	op->dir = parent;
	strlcpy(op->name, name, sizeof(op->name));
}

static void
note_write(int fd, unsigned node, const void *bytes, size_t len, off_t offset)
{
	struct disk_op *op;
	int flags;

	if (node == NO_NODE || len == 0)
		return;
	op = note(DISK_WRITE, node);
	op->offset = (uint64_t)offset;
	op->len = len;
	if ((op->bytes = malloc(len)) == NULL)
		err(1, "record");
	memcpy(op->bytes, bytes, len);
	flags = fcntl(fd, F_GETFL);
	if (flags != -1 && (flags & O_DSYNC) != 0)
		note(DISK_SYNC_ONE, node)->place = PLACE_META;
}

static int
opened(int at, const char *path, int flags, mode_t mode)
{
	const char *name;
	unsigned parent = NO_NODE;
	int fd;

	if (rec.no_sync)
		flags &= ~(O_DSYNC | O_SYNC);
	if ((flags & O_CREAT) != 0 &&
	    syscall(SYS_faccessat, at, path, F_OK) == -1)
		parent = parent_of(at, path, &name);
	fd = (int)syscall(SYS_openat, at, path, flags, mode);
	if (fd != -1 && parent != NO_NODE)
		note_made(DISK_CREATE, parent, at, path, name);
	return fd;
}

int
open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return opened(AT_FDCWD, path, flags, mode);
}

int
openat(int at, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return opened(at, path, flags, mode);
}

int
mkdirat(int at, const char *path, mode_t mode)
{
	const char *name;
	unsigned parent;

	if (syscall(SYS_mkdirat, at, path, mode) == -1)
		return -1;
	parent = parent_of(at, path, &name);
	if (parent != NO_NODE)
		note_made(DISK_MKDIR, parent, at, path, name);
	return 0;
}

int
unlinkat(int at, const char *path, int flags)
{
	const char *name;
	unsigned node = NO_NODE, parent = parent_of(at, path, &name);
	struct disk_op *op;
	struct stat st;

	if (parent != NO_NODE &&
	    fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		node = node_of_stat(&st);
	if (syscall(SYS_unlinkat, at, path, flags) == -1)
		return -1;
	if (node != NO_NODE) {
		op = note(DISK_UNLINK, node);
		op->dir = parent;
		strlcpy(op->name, name, sizeof(op->name));
	}
	return 0;
}

int
renameat(int from, const char *path, int to, const char *to_path)
{
	const char *name, *to_name;
	unsigned node = NO_NODE, parent = parent_of(from, path, &name),
		 to_parent = parent_of(to, to_path, &to_name);
	struct disk_op *op;
	struct stat st;

	if (parent != NO_NODE &&
	    fstatat(from, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		node = node_of_stat(&st);
	if (syscall(SYS_renameat2, from, path, to, to_path, 0) == -1)
		return -1;
	if (node != NO_NODE) {
		op = note(DISK_RENAME, node);
		op->dir = parent;
		op->to_dir = to_parent;
		strlcpy(op->name, name, sizeof(op->name));
		strlcpy(op->to_name, to_name, sizeof(op->to_name));
	}
	return 0;
}

ssize_t
pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	ssize_t n = syscall(SYS_pwrite64, fd, bytes, len, offset);

	if (n > 0)
		note_write(fd, node_of(fd), bytes, (size_t)n, offset);
	return n;
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
	unsigned node = node_of(fd);
	off_t at = node == NO_NODE ? 0 : lseek(fd, 0, SEEK_CUR);
	ssize_t n = syscall(SYS_write, fd, bytes, len);

	if (n > 0)
		note_write(fd, node, bytes, (size_t)n, at);
	return n;
}

/* LMDB writes pages that follow each other so: each is a write of its own. */
ssize_t
writev(int fd, const struct iovec *iov, int count)
{
	unsigned node = node_of(fd);
	off_t at = node == NO_NODE ? 0 : lseek(fd, 0, SEEK_CUR);
	ssize_t n = syscall(SYS_writev, fd, iov, count), left = n;

	for (int i = 0; i < count && left > 0; i++) {
		size_t len = iov[i].iov_len;

		if (len > (size_t)left)
			len = (size_t)left;
		note_write(fd, node, iov[i].iov_base, len, at);
		at += (off_t)len;
		left -= (ssize_t)len;
	}
	return n;
}

int
ftruncate(int fd, off_t len)
{
	unsigned node = node_of(fd);

	if (syscall(SYS_ftruncate, fd, len) == -1)
		return -1;
	if (node != NO_NODE)
		note(DISK_TRUNCATE, node)->offset = (uint64_t)len;
	return 0;
}

static void
note_sync(int fd, enum disk_place unknown)
{
	unsigned node = node_of(fd);
	enum disk_place place;
	struct stat st;

	if (node == NO_NODE || fstat(fd, &st) == -1)
		return;
	if (S_ISDIR(st.st_mode))
		place = node == 0 ? PLACE_ROOT : rec.known[node].names;
	else
		place = rec.known[node].data;
	note(DISK_SYNC, node)->place = place == PLACE_OTHER ? unknown : place;
}

int
fsync(int fd)
{
	if (!rec.no_sync && syscall(SYS_fsync, fd) == -1)
		return -1;
	note_sync(fd, PLACE_ARTIFACT);
	return 0;
}

int
fdatasync(int fd)
{
	if (!rec.no_sync && syscall(SYS_fdatasync, fd) == -1)
		return -1;
	note_sync(fd, PLACE_STATE);
	return 0;
}

void
record_start(const char *root, struct disk_log *l)
{
	struct stat st;

	if (stat(root, &st) == -1)
		err(1, "%s", root);
	*l = (struct disk_log){ .nodes = 1 };
	rec.known[0] = (struct known){ .dev = st.st_dev,
		.ino = st.st_ino,
		.data = PLACE_OTHER,
		.names = PLACE_OTHER };
	rec.log = l;
}

void
record_write_back(void)
{
	note(DISK_SYNC_ALL, 0);
}

void
record_stop(void)
{
	rec.log = NULL;
}

void
record_no_sync(bool on)
{
	rec.no_sync = on;
}

void
disk_log_clear(struct disk_log *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->ops[i].bytes);
	free(l->ops);
	*l = (struct disk_log){ 0 };
}
