/*
 * Unit tests of storage/: what must reach the disk before anything may be
 * acknowledged, and a disk that refuses one call at the worst moment. The calls
 * are this program's own, so that it sees and fails them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "storage/artifact.h"
#include "t/unit/storage_fixture.h"

#define META_PAGES 8192 /* both of LMDB's meta pages */

static ino_t watched;     /* a directory */
static unsigned synced;   /* how often it was synced */
static bool had_database; /* data.mdb was in it at the last time */
static int fail_sync;     /* so many syncs of it fail */
static bool fail_meta;    /* writes of meta pages fail */

int
fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_ino == watched) {
		if (fail_sync > 0) {
			fail_sync--;
			errno = EIO;
			return -1;
		}
		synced++;
		had_database = faccessat(fd, "data.mdb", F_OK, 0) == 0;
	}
	return (int)syscall(SYS_fsync, fd);
}

ssize_t
pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	if (fail_meta && offset < META_PAGES) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, bytes, len, offset);
}

static void
watch(const char *name, bool make)
{
	struct stat st;
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", fx_dir, name);
	if ((make && mkdir(path, 0700) == -1) || stat(path, &st) == -1)
		err(1, "%s", path);
	watched = st.st_ino;
	synced = 0;
	had_database = false;
	fail_sync = 0;
}

static void
test_new_store(void)
{
	struct store *s;

	fx_new();
	watch("store", true);
	s = fx_open();
	ok(synced > 0 && had_database,
	    "the name of a new database is on disk once it is open");
	store_free(&s);
}

static int
write_nothing(struct store_txn *txn, void *arg)
{
	return STORE_OK;
}

/* Two ids that share the last characters, and so the directory. */
static enum store_err
publish(struct store *s, uint8_t which)
{
	static const uint8_t bytes[20000];
	struct ulid id = { { 1, 2, 3, 4, 5, which } };
	struct artifact_writer *w;
	struct artifact_row row;
	const void *inline_bytes;
	enum store_err rc;

	if (artifact_writer_new(s, &id, sizeof(bytes), &w) != STORE_OK ||
	    artifact_writer_append(w, bytes, sizeof(bytes)) != STORE_OK)
		errx(1, "artifact");
	rc = artifact_writer_finish(w, &row, &inline_bytes);
	if (rc == STORE_OK && fx_write(s, write_nothing, NULL) == STORE_OK)
		rc = artifact_writer_error(w);
	artifact_writer_free(&w);
	return rc;
}

static void
test_new_shard(void)
{
	struct store *s;

	fx_new();
	s = fx_open();
	watch("artifacts", false);
	fail_sync = 1;
	is_int(publish(s, 1), STORE_FULL,
	    "a directory whose name is not on disk takes no artifact");
	is_int(publish(s, 2), STORE_OK, "the next one is taken");
	is_int(synced, 1, "after the name was synced after all");
	is_int(publish(s, 3), STORE_OK, "and another one");
	is_int(synced, 1, "without a sync it does not need");
	store_free(&s);

	/* As after a kill between making the directory and its sync. */
	s = fx_open();
	watch("artifacts", false);
	is_int(publish(s, 4), STORE_OK, "a directory of an earlier start");
	is_int(synced, 1, "is synced once");
	store_free(&s);
}

static void
test_lost_meta(void)
{
	struct run_record a = fx_run(), b = fx_run(), c = fx_run(), got;
	struct store_txn *txn;
	struct store *s;

	fx_new();
	s = fx_open();
	is_int(fx_write(s, fx_insert, &a), STORE_OK, "a write");
	fail_meta = true;
	is_int(fx_write(s, fx_insert, &b), STORE_BROKEN,
	    "a failure in the last step of a commit leaves it open what the "
	    "disk holds");
	fail_meta = false;
	is_int(fx_write(s, fx_insert, &c), STORE_BROKEN,
	    "which nothing but a new start can tell");
	is_int(store_read_begin(s, &txn), STORE_BROKEN, "not even for reading");
	store_free(&s);
	s = fx_open();
	is_int(run_get(fx_read(s), &a.id, &got), STORE_OK,
	    "after it, what was acknowledged is there");
	store_read_end(s);
	is_int(fx_write(s, fx_insert, &c), STORE_OK, "and writing works");
	store_free(&s);
}

int
main(void)
{
	test_new_store();
	test_new_shard();
	test_lost_meta();
	return done_testing();
}
