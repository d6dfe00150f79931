/* Unit tests of storage/: artifact files, spools, purge. */
#include <dirent.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

#include "model/limits.h"
#include "storage/artifact_sums.h"
#include "storage/spool.h"
#include "storage/sweep.h"
#include "t/unit/storage_fixture.h"

static uint8_t data[600000];

static void
data_make(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 2654435761u >> 23);
}

static void
path_of(char path[400], const char *dir, const struct ulid *id, bool shard)
{
	char name[ULID_CHARS + 1];

	ulid_format(id, name);
	snprintf(path, 400, "%s/%s/%s%s%s", fx_dir, dir,
	    shard ? name + ULID_CHARS - 2 : "", shard ? "/" : "", name);
}

static int
entries(const char *dir)
{
	char path[400];
	struct dirent *e;
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "%s/%s", fx_dir, dir);
	if ((d = opendir(path)) == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

struct put {
	struct artifact_row row;
	const void *bytes;
};

static int
put_row(struct store_txn *txn, void *arg)
{
	struct put *p = arg;

	return artifact_insert(txn, &p->row, p->bytes);
}

/* Writes len bytes of data in pieces and commits the row. */
static struct artifact_row
make(struct store *s, size_t len, size_t piece)
{
	struct put p = { .row = { .kind = ARTIFACT_CSV } };
	struct ulid id = ulid_new(FX_NOW);
	struct artifact_writer *w;
	size_t n;

	strlcpy(p.row.mime, "text/csv", sizeof(p.row.mime));
	artifact_writer_new(s, &id, sizeof(data), &w);
	for (size_t at = 0; at < len; at += n) {
		n = len - at < piece ? len - at : piece;
		artifact_writer_append(w, data + at, n);
	}
	if (artifact_writer_finish(w, &p.row, &p.bytes) != STORE_OK ||
	    fx_write(s, put_row, &p) != STORE_OK)
		errx(1, "make");
	artifact_writer_free(&w);
	return p.row;
}

static bool
sum_right(const struct artifact_row *row, size_t len)
{
	uint8_t sum[32];
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, len, data);
	sha256_digest(&sha, SHA256_DIGEST_SIZE, sum);
	return row->size == len && memcmp(row->sha256, sum, 32) == 0;
}

static void
test_writer(void)
{
	struct artifact_row small, large;
	uint8_t got[sizeof(data)];
	const uint8_t *p;
	struct store *s;
	struct stat st;
	char path[400];
	size_t len;

	fx_new();
	s = fx_open();
	small = make(s, LIMIT_INLINE_ARTIFACT_BYTES, 1000);
	ok(small.state == ARTIFACT_IN_ROW && sum_right(&small, 16384),
	    "16 KiB stay in LMDB");
	ok(artifact_bytes(fx_read(s), &small.id, &p, &len) == STORE_OK &&
		len == 16384 && memcmp(p, data, len) == 0,
	    "as they were");
	store_read_end(s);
	is_int(entries("artifacts"), 0, "no file was made");
	large = make(s, LIMIT_INLINE_ARTIFACT_BYTES + 1, 1000);
	ok(large.state == ARTIFACT_IN_FILE && sum_right(&large, 16385),
	    "one byte more is a file");
	path_of(path, "artifacts", &large.id, true);
	ok(lstat(path, &st) == 0 && (st.st_mode & 07777) == 0600 &&
		st.st_size == 16385,
	    "in its place, 0600");
	is_int(entries("incoming"), 0, "nothing is left in incoming");
	large = make(s, sizeof(data), sizeof(data));
	ok(sum_right(&large, sizeof(data)), "in one piece");
	len = sizeof(got);
	ok(artifact_file_read(s, &large, 0, got, &len) == STORE_OK &&
		len == sizeof(data) && memcmp(got, data, len) == 0,
	    "read whole");
	len = 100;
	ok(artifact_file_read(s, &large, sizeof(data) - 50, got, &len) ==
		    STORE_OK &&
		len == 50 && memcmp(got, data + sizeof(data) - 50, 50) == 0,
	    "read at the end");
	is_int(artifact_file_read(s, &large, sizeof(data) + 1, got, &len),
	    STORE_INVALID, "behind the end");
	path_of(path, "artifacts", &large.id, true);
	if (truncate(path, 5) == -1)
		err(1, "truncate");
	len = 5;
	is_int(artifact_file_read(s, &large, 0, got, &len), STORE_CORRUPT,
	    "another size is damage");
	unlink(path);
	is_int(artifact_file_read(s, &large, 0, got, &len), STORE_CORRUPT,
	    "so is no file");
	if (symlink("/etc/passwd", path) == -1)
		err(1, "symlink");
	is_int(artifact_file_read(s, &large, 0, got, &len), STORE_CORRUPT,
	    "a symlink is not followed");
	store_free(&s);
}

/* Flips a bit of the file. */
static void
flip(const struct artifact_row *row, off_t at)
{
	char path[400];
	uint8_t byte;
	int fd;

	path_of(path, "artifacts", &row->id, true);
	fd = open(path, O_RDWR);
	if (fd == -1 || pread(fd, &byte, 1, at) != 1)
		err(1, "%s", path);
	byte ^= 4;
	if (pwrite(fd, &byte, 1, at) != 1)
		err(1, "%s", path);
	close(fd);
}

/* Reads all of it in steps; NULL with *ret_err when it is not sound. */
static struct artifact_sums *
scan(struct store *s, const struct artifact_row *row, int *ret_err, int *steps)
{
	struct artifact_sums *sums = NULL;
	struct artifact_scan *scan;

	if (artifact_scan_new(s, row, &scan) != STORE_OK)
		errx(1, "artifact_scan_new");
	for (*steps = 0, *ret_err = STORE_OK; *ret_err == STORE_OK; ++*steps) {
		*ret_err = artifact_scan_step(scan, &sums);
		if (sums != NULL) {
			++*steps;
			break;
		}
	}
	artifact_scan_free(&scan);
	return sums;
}

static int
read_sums(struct store *s, const struct artifact_sums *sums,
    const struct artifact_row *row, uint64_t offset, size_t want)
{
	static uint8_t got[sizeof(data) + 1];
	size_t len = want;
	size_t there = row->size - offset < want ? row->size - offset : want;
	int rc = artifact_sums_read(sums, s, row, offset, got, &len);

	if (rc == STORE_OK &&
	    (len != there || memcmp(got, data + offset, len) != 0))
		return -1;
	return rc;
}

static void
test_sums_of(struct store *s, size_t size)
{
	static const size_t wants[] = { 0, 1, 65535, 65536, 65537, 262144,
		sizeof(data) };
	struct artifact_row row = make(s, size, 70000);
	struct artifact_sums *sums;
	int rc, steps, bad = 0, blind = 0, wrong = 0, unseen = 0, n = 0;

	printf("# %zu bytes\n", size);
	sums = scan(s, &row, &rc, &steps);
	is_int(rc, STORE_OK, "it is as it was written");
	is_int(steps,
	    (int)((size + ARTIFACT_STEP_BYTES - 1) / ARTIFACT_STEP_BYTES),
	    "read in so many steps");
	for (size_t at = 0; at <= size; at += at % 2 == 0 ? 32767 : 1)
		for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
			bad +=
			    read_sums(s, sums, &row, at, wants[i]) != STORE_OK;
	bad += read_sums(s, sums, &row, size, 1) != STORE_OK;
	is_int(bad, 0, "from any offset it reads as it was written");
	for (size_t at = 0; at < size; at += 9973, n++) {
		struct artifact_sums *none;

		flip(&row, (off_t)at);
		blind += read_sums(s, sums, &row, at, 1) != STORE_CORRUPT;
		blind += read_sums(s, sums, &row, at == 0 ? 0 : at - 1, 2) !=
		    STORE_CORRUPT;
		blind += read_sums(s, sums, &row, 0, size) != STORE_CORRUPT;
		wrong += read_sums(s, sums, &row, at < 140000 ? 262144 : 0,
			     60000) == -1;
		none = scan(s, &row, &rc, &steps);
		unseen += none != NULL || rc != STORE_CORRUPT;
		artifact_sums_free(&none);
		flip(&row, (off_t)at);
	}
	printf("# %d bits were flipped, one by one\n", n);
	is_int(blind, 0, "a flipped bit is never read");
	is_int(wrong, 0, "other blocks are, or are refused");
	is_int(unseen, 0, "and a scan finds each");
	is_int(read_sums(s, sums, &row, 0, size), STORE_OK, "flipped back");
	artifact_sums_free(&sums);
}

static void
test_sums(void)
{
	static uint8_t got[sizeof(data)];
	struct artifact_row row;
	struct artifact_sums *sums;
	struct store *s;
	char path[400];
	int rc, steps;

	fx_new();
	s = fx_open();
	test_sums_of(s, LIMIT_INLINE_ARTIFACT_BYTES + 1);
	test_sums_of(s, 65536);
	test_sums_of(s, ARTIFACT_STEP_BYTES);
	test_sums_of(s, ARTIFACT_STEP_BYTES + 1);
	test_sums_of(s, sizeof(data));
	row = make(s, 100000, 100000);
	is_int(artifact_file_whole(s, &row, got), STORE_OK, "whole");
	ok(memcmp(got, data, 100000) == 0, "... as it was");
	flip(&row, 99999);
	is_int(artifact_file_whole(s, &row, got), STORE_CORRUPT,
	    "... or not at all");
	flip(&row, 99999);
	sums = scan(s, &row, &rc, &steps);
	path_of(path, "artifacts", &row.id, true);
	if (truncate(path, 99999) == -1)
		err(1, "truncate");
	is_int(read_sums(s, sums, &row, 0, 10), STORE_CORRUPT, "cut");
	unlink(path);
	is_int(read_sums(s, sums, &row, 0, 10), STORE_CORRUPT, "gone");
	artifact_sums_free(&sums);
	is_int(scan(s, &row, &rc, &steps) == NULL && rc == STORE_CORRUPT, 1,
	    "and there is nothing to scan");
	store_free(&s);
}

static void
test_writer_abort(void)
{
	struct ulid id = ulid_new(FX_NOW);
	struct artifact_row row;
	struct artifact_writer *w;
	const void *bytes;
	struct store *s;

	fx_new();
	s = fx_open();
	artifact_writer_new(s, &id, 50000, &w);
	is_int(artifact_writer_append(w, data, 40000), STORE_OK, "40,000");
	is_int(entries("incoming"), 1, "a file while it grows");
	is_int(artifact_writer_append(w, data, 10001), STORE_LIMIT,
	    "a byte too many");
	ok(artifact_writer_append(w, data, 1) != STORE_OK &&
		artifact_writer_finish(w, &row, &bytes) != STORE_OK,
	    "then it cannot go on");
	artifact_writer_free(&w);
	is_int(entries("incoming"), 0, "and leaves nothing");
	ok(w == NULL, "freed");
	store_free(&s);
}

struct mark {
	struct ulid run;
	struct journal_row row;
};

static int
journal(struct store_txn *txn, void *arg)
{
	struct mark *m = arg;

	return journal_insert(txn, &m->run, &m->row);
}

static uint64_t
spool_end(struct store *s, const struct ulid *run)
{
	uint64_t end = 999;

	journal_spool_end(fx_read(s), run, &end);
	store_read_end(s);
	return end;
}

static void
test_spool(void)
{
	struct run_record r = fx_run();
	struct mark m = { .run = r.id };
	struct journal_extent lost;
	struct spool *sp;
	struct store *s;
	struct stat st;
	char path[400];

	fx_new();
	s = fx_open();
	fx_write(s, fx_insert, &r);
	is_int(spool_open(s, &r.id, 0, 10000, &sp), STORE_OK, "a new spool");
	m.row.nextents = 2;
	is_int(
	    spool_append(sp, data, 1000, &m.row.extents[0]), STORE_OK, "one");
	is_int(spool_append(sp, data + 5000, 2000, &m.row.extents[1]), STORE_OK,
	    "two");
	is_int(m.row.extents[1].offset, 1000, "one behind the other");
	is_int(fx_write(s, journal, &m), STORE_OK, "journaled");
	m.row.index = 1;
	m.row.extents[1].len++;
	is_int(fx_write(s, journal, &m), STORE_INVALID,
	    "bytes that were not appended");
	is_int(spool_append(sp, data, 7001, &lost), STORE_LIMIT, "too many");
	is_int(spool_append(sp, data, 500, &lost), STORE_OK, "not journaled");
	spool_free(&sp);
	store_free(&s);
	s = fx_open();
	is_int(spool_end(s, &r.id), 3000, "end of what rows name");
	is_int(spool_open(s, &r.id, 3000, 10000, &sp), STORE_OK, "open again");
	path_of(path, "spool", &r.id, false);
	ok(stat(path, &st) == 0 && st.st_size == 3000 &&
		(st.st_mode & 07777) == 0600,
	    "what no row names was cut off");
	is_int(spool_append(sp, data, 10, &lost), STORE_OK, "goes on");
	is_int(lost.offset, 3000, "from there");
	spool_free(&sp);
	is_int(spool_open(s, &r.id, 5000, 10000, &sp), STORE_CORRUPT,
	    "rows that name bytes it does not have");
	is_int(spool_remove(s, &r.id), STORE_OK, "removed");
	is_int(entries("spool"), 0, "and gone");
	is_int(spool_remove(s, &r.id), STORE_OK, "twice is fine");
	store_free(&s);
}

static void
test_spool_copy(void)
{
	struct run_record r = fx_run();
	struct journal_extent a, b;
	struct artifact_row row = { .kind = ARTIFACT_EXTRACTION };
	struct artifact_writer *w;
	const void *bytes;
	struct ulid id = ulid_new(FX_NOW);
	struct spool *sp;
	struct store *s;
	char path[400];
	int fd;

	fx_new();
	s = fx_open();
	spool_open(s, &r.id, 0, 1 << 20, &sp);
	spool_append(sp, data, 70000, &a);
	spool_append(sp, data + 70000, 30000, &b);
	artifact_writer_new(s, &id, 1 << 20, &w);
	is_int(spool_copy(sp, &a, w), STORE_OK, "first piece");
	is_int(spool_copy(sp, &b, w), STORE_OK, "second piece");
	is_int(artifact_writer_finish(w, &row, &bytes), STORE_OK, "finished");
	ok(sum_right(&row, 100000), "they make the artifact");
	artifact_writer_free(&w);
	path_of(path, "spool", &r.id, false);
	fd = open(path, O_WRONLY);
	if (fd == -1 || pwrite(fd, "\xff\x00", 2, 66000) != 2)
		err(1, "pwrite");
	close(fd);
	id = ulid_new(FX_NOW);
	artifact_writer_new(s, &id, 1 << 20, &w);
	is_int(spool_copy(sp, &a, w), STORE_CORRUPT, "changed bytes are seen");
	artifact_writer_free(&w);
	spool_free(&sp);
	store_free(&s);
}

static void
drop_file(const char *dir, const char *name)
{
	char path[600];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s", fx_dir, dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd == -1)
		err(1, "%s", path);
	close(fd);
}

static void
test_purge(void)
{
	struct run_record live = fx_run(), ended = fx_run();
	struct artifact_row row;
	struct purge_result pr;
	char name[ULID_CHARS + 1], kept[400];
	struct ulid stray;
	struct store *s;

	fx_new();
	s = fx_open();
	row = make(s, 20000, 20000);
	path_of(kept, "artifacts", &row.id, true);
	/* A stray in the same shard: it differs in its time alone. */
	stray = row.id;
	stray.b[5] ^= 1;
	ulid_format(&stray, name);
	snprintf(strrchr(kept, '/') + 1, ULID_CHARS + 1, "%s", name);
	drop_file("", strstr(kept, "artifacts"));
	drop_file("incoming", name);
	drop_file("incoming", "README");
	fx_write(s, fx_insert, &live);
	fx_write(s, fx_insert, &ended);
	fx_end_run(&ended, RUN_FAILED, FX_NOW, 0);
	fx_write(s, fx_update, &ended);
	drop_file("spool", name);
	ulid_format(&live.id, name);
	drop_file("spool", name);
	ulid_format(&ended.id, name);
	drop_file("spool", name);
	is_int(store_purge(s, &pr), STORE_OK, "purge");
	ok(pr.artifacts == 1 && pr.incoming == 1 && pr.spools == 2,
	    "what no row names is gone");
	path_of(kept, "artifacts", &row.id, true);
	ok(access(kept, F_OK) == 0, "the artifact is there");
	path_of(kept, "spool", &live.id, false);
	ok(access(kept, F_OK) == 0, "and the spool of the live run");
	is_int(entries("incoming"), 1, "and what is not ours");
	is_int(store_purge(s, &pr), STORE_OK, "again");
	is_int(pr.artifacts + pr.incoming + pr.spools, 0, "nothing to do");
	store_free(&s);
}

static int
expire(struct store_txn *txn, void *arg)
{
	return artifact_set_expiry(
	    txn, &((struct artifact_row *)arg)->run, FX_NOW + 1);
}

static void
test_sweep_file(void)
{
	struct artifact_row row;
	struct store *s;
	char path[400];

	fx_new();
	s = fx_open();
	row = make(s, 20000, 20000);
	path_of(path, "artifacts", &row.id, true);
	fx_write(s, expire, &row);
	store_sweep(s, FX_NOW + 1, 1000, 10, NULL, NULL, NULL);
	ok(access(path, F_OK) == 0, "the file is there before the commit");
	store_commit(s, FX_NOW + 1);
	ok(access(path, F_OK) == -1, "and gone after it");
	store_free(&s);
}

int
main(void)
{
	data_make();
	test_writer();
	test_sums();
	test_writer_abort();
	test_spool();
	test_spool_copy();
	test_purge();
	test_sweep_file();
	return done_testing();
}
