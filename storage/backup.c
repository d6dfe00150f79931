/*
 * Copying a store. Runs in a process of supervisord's program that does nothing
 * else, beside the one that owns the store. All tables are read on one
 * transaction; the files that it names follow. Those of spools are opened while
 * their runs are certain to live; an artifact whose file is gone by then has
 * expired early, and the copy says so.
 */
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "storage/artifact.h"
#include "storage/backup_int.h"
#include "storage/session.h"

#define SPOOL_TRIES 100

static const char *const table_names[] = {
#define TABLE(name, database, key, value) database,
#include "storage/tables.def"
#undef TABLE
};

static const char *const table_values[] = {
#define TABLE(name, database, key, value) value,
#include "storage/tables.def"
#undef TABLE
};

struct backup {
	struct store *store;
	struct store_txn *txn;
	const struct backup_sink *sink;
	struct backup_totals totals;
	uint64_t total; /* about so many bytes */
	struct sha256_ctx sha;
	bool closed; /* the sink takes no more */
	uint8_t piece[BACKUP_PIECE_BYTES];
	size_t len;           /* of piece, not sent yet */
	struct buf spools;    /* struct spool_copy each */
	struct buf artifacts; /* struct ulid each: those in files */
	struct buf sessions;  /* struct ulid each */
	struct buf gone;      /* struct ulid each */
};

/* Output. */

static void
piece_send(struct backup *b)
{
	if (b->len == 0 || b->closed)
		return;
	sha256_update(&b->sha, b->len, b->piece);
	b->closed = !b->sink->data(b->sink->arg, b->piece, b->len);
	b->totals.bytes += b->len;
	b->len = 0;
	b->sink->progress(b->sink->arg, b->totals.bytes,
	    b->total > b->totals.bytes ? b->total : b->totals.bytes);
}

static void
put(struct backup *b, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len > 0 && !b->closed) {
		size_t n = sizeof(b->piece) - b->len;

		n = n < len ? n : len;
		memcpy(b->piece + b->len, p, n);
		b->len += n;
		p += n;
		len -= n;
		if (b->len == sizeof(b->piece))
			piece_send(b);
	}
}

static void
put_number(struct backup *b, uint64_t v, int bytes)
{
	uint8_t text[8];

	for (int i = 0; i < bytes; i++)
		text[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
	put(b, text, (size_t)bytes);
}

static void
file_begin(struct backup *b, const char *name)
{
	if (b->closed)
		return;
	sha256_init(&b->sha);
	b->closed = !b->sink->file(b->sink->arg, name);
	b->totals.files++;
}

static void
file_end(struct backup *b)
{
	uint8_t sum[BACKUP_SUM_BYTES];

	piece_send(b);
	sha256_digest(&b->sha, sizeof(sum), sum);
	if (!b->closed)
		b->closed = !b->sink->end(b->sink->arg, sum);
}

static void
tell(struct backup *b, const char *what, const char *name)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", name, what);
	b->totals.faults++;
	b->sink->fault(b->sink->arg, text);
}

/* Records. */

/* A moment at which the spools of all runs that it knows are there. */
static enum store_err
moment_begin(struct backup *b)
{
	enum store_err err;
	bool whole = false;

	for (int tries = 0; tries < SPOOL_TRIES; tries++) {
		if ((err = store_read_begin(b->store, &b->txn)) != STORE_OK)
			return err;
		err = spool_copies_open(b->txn, &b->spools, &whole);
		if (whole || err != STORE_OK)
			return err;
		spool_copies_close(&b->spools);
		store_read_end(b->store);
	}
	/* One that is missing for good; what there is will do. */
	if ((err = store_read_begin(b->store, &b->txn)) == STORE_OK)
		tell(b, "is not there", "the spool of a run");
	return err;
}

/* What else has to be copied for this row. */
static void
note_row(struct backup *b, const struct txn_walk *w)
{
	struct artifact_row row;
	struct ulid id;

	if (w->table == TABLE_RUNS)
		b->totals.runs++;
	if (w->entry.key_len != sizeof(id))
		return;
	memcpy(&id, w->entry.key, sizeof(id));
	if (w->table == TABLE_SESSIONS) {
		b->totals.sessions++;
		buf_add(&b->sessions, &id, sizeof(id));
	}
	if (w->table != TABLE_ARTIFACTS)
		return;
	b->totals.artifacts++;
	if (artifact_get(b->txn, &id, &row) == STORE_OK &&
	    row.state == ARTIFACT_IN_FILE) {
		buf_add(&b->artifacts, &id, sizeof(id));
		b->total += row.size;
	}
}

/*
 * Who reads a backup must not find out by trial what parameters runs had: the
 * key of their digests stays in the store, and since when it is used.
 */
static bool
is_private(const struct txn_walk *w)
{
	static const char *const names[] = { META_DIGEST_KEY,
		META_DIGEST_SINCE };

	for (size_t i = 0; w->table == TABLE_META && i < 2; i++)
		if (w->entry.key_len == strlen(names[i]) &&
		    memcmp(w->entry.key, names[i], w->entry.key_len) == 0)
			return true;
	return false;
}

static void
put_entry(struct backup *b, const struct txn_walk *w)
{
	const MDB_val *v = &w->entry.value;
	const uint8_t *p;
	size_t len;

	if (is_private(w))
		return;
	if (table_values[w->table][0] != 'm' &&
	    walk_payload(w, &p, &len) != STORE_OK)
		tell(b, "a record is damaged", table_names[w->table]);
	else
		note_row(b, w);
	put(b, RECORDS_ENTRY, 1);
	put_number(b, w->entry.key_len, 2);
	put_number(b, v->mv_size, 4);
	put(b, w->entry.key, w->entry.key_len);
	put(b, v->mv_data, v->mv_size);
	b->totals.records++;
}

static enum store_err
put_table(struct backup *b, enum store_table table)
{
	size_t len = strlen(table_names[table]);
	struct txn_walk w;
	struct key all;

	put(b, RECORDS_TABLE, 1);
	put_number(b, len, 1);
	put(b, table_names[table], len);
	key_init(&all);
	walk_up(&w, b->txn, table, &all, NULL);
	while (!b->closed && walk_next(&w))
		put_entry(b, &w);
	walk_end(&w);
	return (enum store_err)b->txn->err;
}

static enum store_err
put_records(struct backup *b)
{
	enum store_err err;

	if ((err = (enum store_err)meta_get(
		 b->txn, "schema", &b->totals.schema)) != STORE_OK ||
	    (err = (enum store_err)meta_get(
		 b->txn, "stamp", &b->totals.stamp_ms)) != STORE_OK)
		return err;
	file_begin(b, RECORDS_FILE);
	put(b, RECORDS_MAGIC, strlen(RECORDS_MAGIC));
	for (int t = 0; t < TABLE__MAX && err == STORE_OK; t++)
		err = put_table(b, (enum store_table)t);
	put(b, RECORDS_END, 1);
	put_number(b, b->totals.records, 8);
	file_end(b);
	return err;
}

/* Files. */

/* At most max bytes of the file; how many it were. */
static uint64_t
put_file(struct backup *b, int fd, uint64_t max)
{
	uint64_t got = 0;
	ssize_t n;

	while (got < max && !b->closed) {
		size_t want = sizeof(b->piece) - b->len;

		if (max - got < want)
			want = (size_t)(max - got);
		n = pread(fd, b->piece + b->len, want, (off_t)got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		b->len += (size_t)n;
		got += (uint64_t)n;
		if (b->len == sizeof(b->piece))
			piece_send(b);
	}
	return got;
}

static void
put_spools(struct backup *b)
{
	char id[ULID_CHARS + 1], name[BACKUP_NAME_CHARS + 1];
	struct spool_copy s;

	for (size_t at = 0; at < b->spools.len; at += sizeof(s)) {
		memcpy(&s, b->spools.data + at, sizeof(s));
		ulid_format(&s.run, id);
		snprintf(name, sizeof(name), "spool/%s", id);
		file_begin(b, name);
		if (put_file(b, s.fd, s.end) != s.end && !b->closed)
			tell(b, "is too short", name);
		file_end(b);
	}
}

/* Has the artifact's row lost its file by now? */
static bool
has_gone(struct backup *b, const struct ulid *id)
{
	struct artifact_row row = { .state = ARTIFACT_IN_FILE };
	struct store_txn *txn;
	int err;

	if (store_read_begin(b->store, &txn) != STORE_OK)
		return false;
	err = artifact_get(txn, id, &row);
	store_read_end(b->store);
	return err == STORE_NOT_FOUND ||
	    (err == STORE_OK && row.state == ARTIFACT_TOMBSTONE);
}

static void
put_artifact(struct backup *b, const struct ulid *id)
{
	char text[ULID_CHARS + 1], name[BACKUP_NAME_CHARS + 1];
	struct stat st;
	int fd = -1;

	ulid_format(id, text);
	snprintf(name, sizeof(name), "artifacts/%s/%s",
	    text + ULID_CHARS - SHARD_CHARS, text);
	if (artifact_file_open(b->store, id, &fd) != STORE_OK) {
		if (!has_gone(b, id))
			tell(b, "is not there", name);
		else if (buf_add(&b->gone, id, sizeof(*id)))
			b->totals.gone++;
		return;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		file_begin(b, name);
		put_file(b, fd, (uint64_t)st.st_size);
		file_end(b);
	} else {
		tell(b, "is no file", name);
	}
	fd_close(&fd);
}

static void
put_session(struct backup *b, const struct ulid *id)
{
	char text[ULID_CHARS + 1], name[BACKUP_NAME_CHARS + 1];
	enum store_err err;
	int fd = -1;
	size_t len;

	ulid_format(id, text);
	snprintf(name, sizeof(name), "sessions/%s", text);
	err = session_state_open(b->store, id, &fd, &len);
	if (err == STORE_NOT_FOUND)
		return;
	if (err != STORE_OK) {
		tell(b, "cannot be read", name);
		return;
	}
	file_begin(b, name);
	put_file(b, fd, len);
	file_end(b);
	fd_close(&fd);
}

static void
put_each(struct backup *b, const struct buf *ids,
    void (*fn)(struct backup *, const struct ulid *))
{
	struct ulid id;

	for (size_t at = 0; at < ids->len && !b->closed; at += sizeof(id)) {
		memcpy(&id, ids->data + at, sizeof(id));
		fn(b, &id);
	}
}

static void
put_gone_line(struct backup *b, const struct ulid *id)
{
	char text[ULID_CHARS + 1];

	ulid_format(id, text);
	text[ULID_CHARS] = '\n';
	put(b, text, sizeof(text));
}

static void
put_files(struct backup *b)
{
	put_each(b, &b->artifacts, put_artifact);
	put_each(b, &b->sessions, put_session);
	if (b->gone.len == 0)
		return;
	file_begin(b, GONE_FILE);
	put_each(b, &b->gone, put_gone_line);
	file_end(b);
}

/* About so many bytes of records: the pages in use. */
static uint64_t
records_bytes(const struct backup *b)
{
	uint64_t bytes = 0;
	MDB_stat st;

	for (int t = 0; t < TABLE__MAX; t++)
		if (mdb_stat(b->txn->mdb, b->store->dbi[t], &st) == 0)
			bytes += (st.ms_leaf_pages + st.ms_overflow_pages) *
			    (uint64_t)st.ms_psize;
	return bytes * 2 / 3;
}

static enum store_err
backup_run(struct backup *b)
{
	enum store_err err = moment_begin(b);

	if (err != STORE_OK)
		return err;
	b->total = records_bytes(b);
	err = put_records(b);
	if (err == STORE_OK && !b->closed)
		put_spools(b);
	store_read_end(b->store);
	if (err == STORE_OK && !b->closed)
		put_files(b);
	if (err == STORE_OK &&
	    (b->spools.failed || b->artifacts.failed || b->sessions.failed ||
		b->gone.failed))
		err = STORE_NO_MEMORY;
	return err == STORE_OK && b->closed ? STORE_CLOSED : err;
}

enum store_err
store_backup(
    struct store *s, const struct backup_sink *sink, struct backup_totals *ret)
{
	struct backup *b = calloc(1, sizeof(*b));
	enum store_err err;

	if (b == NULL)
		return STORE_NO_MEMORY;
	b->store = s;
	b->sink = sink;
	buf_init(&b->spools, SIZE_MAX);
	buf_init(&b->artifacts, SIZE_MAX);
	buf_init(&b->sessions, SIZE_MAX);
	buf_init(&b->gone, SIZE_MAX);
	err = backup_run(b);
	if (err == STORE_OK)
		*ret = b->totals;
	spool_copies_close(&b->spools);
	buf_clear(&b->spools);
	buf_clear(&b->artifacts);
	buf_clear(&b->sessions);
	buf_clear(&b->gone);
	free(b);
	return err;
}
