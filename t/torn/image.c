/* Files of a crash image: a handful of nodes in memory, written out. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/torn/disk.h"

static void *
more(void *p, size_t count, size_t size)
{
	void *q = reallocarray(p, count == 0 ? 1 : count, size);

	if (q == NULL)
		err(1, "image");
	return q;
}

void
image_init(struct disk_image *im, const struct disk_log *log)
{
	im->count = log->nodes;
	im->nodes = more(NULL, im->count, sizeof(*im->nodes));
	memset(im->nodes, 0, im->count * sizeof(*im->nodes));
	im->nodes[0].dir = true;
}

void
image_clear(struct disk_image *im)
{
	for (unsigned i = 0; i < im->count; i++) {
		free(im->nodes[i].data);
		free(im->nodes[i].entries);
	}
	free(im->nodes);
	*im = (struct disk_image){ 0 };
}

void
image_copy(struct disk_image *to, const struct disk_image *from)
{
	to->count = from->count;
	to->nodes = more(NULL, to->count, sizeof(*to->nodes));
	for (unsigned i = 0; i < to->count; i++) {
		struct disk_node *n = &to->nodes[i];

		*n = from->nodes[i];
		if (n->data != NULL) {
			n->data = more(NULL, n->len, 1);
			memcpy(n->data, from->nodes[i].data, n->len);
		}
		if (n->entries != NULL) {
			n->entries = more(NULL, n->count, sizeof(*n->entries));
			memcpy(n->entries, from->nodes[i].entries,
			    n->count * sizeof(*n->entries));
		}
	}
}

/* Which node had the name, 0: none, or another one than wanted (0: any). */
static unsigned
name_remove(struct disk_node *dir, const char *name, unsigned want)
{
	unsigned node;

	for (unsigned i = 0; i < dir->count; i++) {
		node = dir->entries[i].node;
		if (strcmp(dir->entries[i].name, name) == 0 &&
		    (want == 0 || node == want)) {
			dir->entries[i] = dir->entries[--dir->count];
			return node;
		}
	}
	return 0;
}

/* A file has one name: it is gone with that. */
static void
name_end(struct disk_image *im, unsigned dir, const char *name, unsigned want)
{
	unsigned node = name_remove(&im->nodes[dir], name, want);

	if (node == 0)
		return;
	free(im->nodes[node].data);
	im->nodes[node].data = NULL;
	im->nodes[node].len = 0;
}

static void
name_add(struct disk_image *im, unsigned in, const char *name, unsigned node)
{
	struct disk_node *dir = &im->nodes[in];
	struct disk_entry *e;

	name_end(im, in, name, 0);
	dir->entries =
	    more(dir->entries, dir->count + 1, sizeof(*dir->entries));
	e = &dir->entries[dir->count++];
	e->node = node;
	strlcpy(e->name, name, sizeof(e->name));
}

static void
node_resize(struct disk_node *n, size_t len)
{
	n->data = more(n->data, len, 1);
	if (len > n->len)
		memset(n->data + n->len, 0, len - n->len);
	n->len = len;
}

static void
node_write(struct disk_node *n, uint64_t at, const uint8_t *bytes, size_t len)
{
	if (at + len > n->len)
		node_resize(n, (size_t)at + len);
	memcpy(n->data + at, bytes, len);
}

void
image_apply(struct disk_image *im, const struct disk_op *op)
{
	struct disk_node *n = &im->nodes[op->node];

	switch (op->kind) {
	case DISK_MKDIR:
		n->dir = true;
		name_add(im, op->dir, op->name, op->node);
		break;
	case DISK_CREATE:
		name_add(im, op->dir, op->name, op->node);
		break;
	case DISK_RENAME:
		name_remove(&im->nodes[op->dir], op->name, op->node);
		name_add(im, op->to_dir, op->to_name, op->node);
		break;
	case DISK_UNLINK:
		name_end(im, op->dir, op->name, op->node);
		break;
	case DISK_WRITE:
		node_write(n, op->offset, op->bytes, op->len);
		break;
	case DISK_TRUNCATE:
		node_resize(n, (size_t)op->offset);
		break;
	default:
		break;
	}
}

void
image_tear(struct disk_image *im, const struct disk_op *op, size_t block,
    uint64_t keep)
{
	size_t done = 0, len;

	for (unsigned i = 0; done < op->len; i++, done += len) {
		len = block - (size_t)((op->offset + done) % block);
		if (len > op->len - done)
			len = op->len - done;
		if ((keep >> (i % 64) & 1) != 0)
			node_write(&im->nodes[op->node], op->offset + done,
			    op->bytes + done, len);
	}
}

static void
file_write(int at, const char *name, const struct disk_node *n)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd == -1 ||
	    (n->len > 0 && write(fd, n->data, n->len) != (ssize_t)n->len))
		err(1, "%s", name);
	close(fd);
}

static void
dir_write(const struct disk_image *im, const struct disk_node *dir, int fd)
{
	for (unsigned i = 0; i < dir->count; i++) {
		const struct disk_entry *e = &dir->entries[i];
		const struct disk_node *n = &im->nodes[e->node];
		int below;

		if (!n->dir) {
			file_write(fd, e->name, n);
			continue;
		}
		if (mkdirat(fd, e->name, 0700) == -1 ||
		    (below = openat(fd, e->name, O_RDONLY | O_DIRECTORY)) == -1)
			err(1, "%s", e->name);
		dir_write(im, n, below);
		close(below);
	}
}

void
image_write(const struct disk_image *im, const char *dir)
{
	int fd = openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY);

	if (fd == -1)
		err(1, "%s", dir);
	dir_write(im, &im->nodes[0], fd);
	close(fd);
}
