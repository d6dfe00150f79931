/*
 * disk: what a program does to the files below one directory, recorded call by
 * call, and the directory as a machine that lost its power may have it.
 *
 * The recorder is this program's own open, write, fsync, rename and so on: see
 * record.c. A write is durable once its file was synced, or by itself when its
 * descriptor is O_DSYNC; a name is once its directory was synced. What is not
 * durable may be there or not, each for itself, and a write in part.
 */
#ifndef T_TORN_DISK_H
#define T_TORN_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_NAME_CHARS 31

enum disk_kind {
	DISK_CREATE,
	DISK_MKDIR,
	DISK_RENAME, /* node from dir under name to to_dir under to_name */
	DISK_UNLINK,
	DISK_WRITE,
	DISK_TRUNCATE, /* to offset */
	/* From here on without an effect of their own. */
	DISK_SYNC,     /* all that was done to node is durable */
	DISK_SYNC_ONE, /* the write before is */
	DISK_SYNC_ALL, /* the system wrote back whatever there was */
	DISK__MAX
};

/* What a sync is for; one that is left out must be missed. */
enum disk_place {
	PLACE_DATABASE,  /* pages of the database */
	PLACE_META,      /* its meta page, by O_DSYNC */
	PLACE_ARTIFACT,  /* bytes of an artifact */
	PLACE_STATE,     /* bytes of a session's state */
	PLACE_SPOOL,     /* bytes of items */
	PLACE_ROOT,      /* names of the directories */
	PLACE_STORE_DIR, /* name of the database */
	PLACE_SHARDS,    /* names of directories of artifacts */
	PLACE_SHARD,     /* names of artifacts */
	PLACE_SPOOL_DIR,
	PLACE_STATE_DIR,
	PLACE_OTHER,
	PLACE__MAX
};

struct disk_op {
	enum disk_kind kind;
	enum disk_place place; /* of a sync */
	unsigned node, dir, to_dir;
	char name[DISK_NAME_CHARS + 1], to_name[DISK_NAME_CHARS + 1];
	uint64_t offset;
	size_t len;
	uint8_t *bytes; /* owned */
};

struct disk_log {
	struct disk_op *ops;
	size_t count, room;
	unsigned nodes; /* node 0 is the root */
};

/* From now on, for the existing and empty directory root. */
void record_start(const char *root, struct disk_log *);
/* Adds a DISK_SYNC_ALL. */
void record_write_back(void);
void record_stop(void);
/* No sync reaches the disk: what is tried on an image need not last. */
void record_no_sync(bool);
void disk_log_clear(struct disk_log *);

/* The files of a directory, in memory. */
struct disk_node {
	bool dir;
	uint8_t *data;
	size_t len;
	struct disk_entry {
		unsigned node;
		char name[DISK_NAME_CHARS + 1];
	} * entries;
	unsigned count;
};
struct disk_image {
	struct disk_node *nodes;
	unsigned count;
};

/* An empty root, and room for all nodes of the log. */
void image_init(struct disk_image *, const struct disk_log *);
void image_clear(struct disk_image *);
void image_copy(struct disk_image *to, const struct disk_image *from);
/* An operation with all its effect. */
void image_apply(struct disk_image *, const struct disk_op *);
/*
 * A write of which only some blocks arrived: bit i of keep (modulo 64) stands
 * for its i-th block of so many bytes, counted from the beginning of the file.
 */
void image_tear(
    struct disk_image *, const struct disk_op *, size_t block, uint64_t keep);
/* Makes the files in an existing, empty directory. */
void image_write(const struct disk_image *, const char *dir);

#endif
