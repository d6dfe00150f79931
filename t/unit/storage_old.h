/*
 * storage_old: stores of earlier schemas, written as the version that had them
 * wrote them, entry by entry, with nothing of today's code but the checksum and
 * MessagePack. Never changed when the code does.
 */
#ifndef T_UNIT_STORAGE_OLD_H
#define T_UNIT_STORAGE_OLD_H

#include <lmdb.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

#include "ipc/mp.h"
#include "storage/crc32c.h"
#include "storage/idem.h"
#include "storage/store_impl.h"
#include "t/unit/storage_fixture.h"

/* Tables by their numbers, which are part of each checksum. */
static const char *const old_names[] = { "meta", "runs", "run_docs",
	"run_index", "run_totals", "idem", "events", "event_heads", "artifacts",
	"artifact_bytes", "artifacts_by_run", "journal", "collect", "expiry",
	"sessions", "sessions_by_uid", "audit", "audit_state" };
enum {
	OLD_META,
	OLD_RUNS,
	OLD_RUN_DOCS,
	OLD_RUN_INDEX,
	OLD_RUN_TOTALS,
	OLD_IDEM,
	OLD_EVENTS,
	OLD_EVENT_HEADS,
	OLD_ARTIFACTS,
	OLD_ARTIFACT_BYTES,
	OLD_ARTIFACTS_BY_RUN,
	OLD_JOURNAL,
	OLD_COLLECT,
	OLD_EXPIRY,
	OLD_SESSIONS,
	OLD_SESSIONS_BY_UID,
	OLD_AUDIT,
	OLD_AUDIT_STATE
};

#define OLD_TEXT    "an artifact of long ago"
#define OLD_STATE   "{\"cookies\":[]}"
#define OLD_HEARD   5
#define OLD_TABLES1 16 /* of schema 1 */
#define OLD_TABLES2 18

static const char old_template[] = "batch_extract_pages";

/* What the old store holds. */
static struct {
	MDB_txn *txn;
	MDB_dbi dbi[OLD_TABLES2];
	struct ulid run, session, artifact, kept;
	uint8_t identity[STORE_IDENTITY_BYTES];
	int64_t created, ended, expires;
} old;

static inline void
old_put(int table, const struct key *key, const void *payload, size_t len)
{
	MDB_val k = { key->len, (void *)(uintptr_t)key->b }, v;
	uint8_t head[2] = { 1, (uint8_t)table }, value[1024];
	uint32_t crc;

	crc = crc32c(crc32c(0, head, sizeof(head)), key->b, key->len);
	crc = crc32c(crc, payload, len);
	value[0] = 1;
	for (int i = 0; i < 4; i++)
		value[1 + i] = (uint8_t)(crc >> (24 - 8 * i));
	memcpy(value + 5, payload, len);
	v = (MDB_val){ len + 5, value };
	if (mdb_put(old.txn, old.dbi[table], &k, &v, 0) != 0)
		errx(1, "put");
}

static inline void
old_put_buf(int table, const struct key *key, struct buf *b)
{
	old_put(table, key, b->data, b->len);
	buf_clear(b);
}

static inline void
old_mark(int table, const struct key *key)
{
	MDB_val k = { key->len, (void *)(uintptr_t)key->b }, v = { 0, NULL };

	if (mdb_put(old.txn, old.dbi[table], &k, &v, 0) != 0)
		errx(1, "mark");
}

static inline struct key
old_text_key(const char *text)
{
	struct key k;

	key_init(&k);
	key_add(&k, text, strlen(text));
	return k;
}

static inline struct key
old_id_key(const struct ulid *id)
{
	struct key k;

	key_init(&k);
	key_add_ulid(&k, id);
	return k;
}

static inline void
old_str(struct buf *b, const char *text)
{
	mp_put_str(b, text, strlen(text));
}

static inline void
old_id(struct buf *b, const struct ulid *u)
{
	mp_put_bin(b, u->b, ULID_BYTES);
}

static inline void
old_put_number(const char *name, int64_t value)
{
	struct key k = old_text_key(name);
	struct buf b;

	buf_init(&b, 64);
	mp_put_array(&b, 1);
	mp_put_int(&b, value);
	old_put_buf(OLD_META, &k, &b);
}

/*
 * Schema 1 had 28 fields, schema 2 said the level of trust besides, schema 3
 * what is known of its worker's messages.
 */
static inline void
old_put_run(int schema)
{
	struct key k = old_id_key(&old.run);
	struct buf b;

	buf_init(&b, 1024);
	mp_put_array(&b, schema == 1 ? 28 : schema == 2 ? 29 : 31);
	old_id(&b, &old.run);
	old_id(&b, &old.session);
	mp_put_bool(&b, true);
	mp_put_uint(&b, 1000);
	old_str(&b, old_template);
	old_str(&b, "1.0.0");
	old_str(&b, "succeeded");
	old_str(&b, "async");
	old_str(&b, "normal");
	mp_put_uint(&b, 1); /* attempt, epoch */
	mp_put_uint(&b, 1);
	mp_put_int(&b, old.created);
	mp_put_int(&b, old.ended);
	mp_put_int(&b, old.created);
	mp_put_int(&b, old.ended);
	mp_put_int(&b, old.expires);
	mp_put_int(&b, 300000); /* limit, spent */
	mp_put_int(&b, 0);
	mp_put_uint(&b, 3); /* done, total */
	mp_put_uint(&b, 3);
	old_str(&b, "none");
	mp_put_int(&b, 0);
	old_str(&b, "");
	old_str(&b, "0123456789abcdef0123456789abcdef");
	old_str(&b, "");
	old_str(&b, "");
	mp_put_bool(&b, true);
	mp_put_bin(&b, old.identity, sizeof(old.identity));
	if (schema > 1)
		old_str(&b, "remote");
	if (schema > 2) {
		mp_put_uint(&b, OLD_HEARD);
		mp_put_int(&b, 1);
	}
	old_put_buf(OLD_RUNS, &k, &b);
}

/* Each combination of the filters: bits 1 uid, 2 status, 4 template, 8
 * session. */
static inline void
old_put_lists(void)
{
	static const uint8_t one = 1, succeeded = RUN_SUCCEEDED;
	struct key k;

	for (unsigned with = 0; with < 16; with++) {
		key_init(&k);
		key_add_u8(&k, (uint8_t)with);
		if ((with & 1) != 0)
			key_add_u32(&k, 1000);
		if ((with & 2) != 0)
			key_add_u8(&k, succeeded);
		if ((with & 4) != 0)
			key_add(&k, old_template, sizeof(old_template));
		if ((with & 8) != 0)
			key_add_ulid(&k, &old.session);
		old_put(OLD_RUN_TOTALS, &k, &one, 1);
		key_add_ulid(&k, &old.run);
		old_mark(OLD_RUN_INDEX, &k);
	}
}

static inline void
old_put_rest_of_run(void)
{
	struct key k = old_id_key(&old.run);
	struct buf b;
	size_t len;

	key_add_u8(&k, 0);
	old_put(OLD_RUN_DOCS, &k, "{\"a\":1}", 7);
	buf_init(&b, 256);
	mp_put_array(&b, 3);
	old_str(&b, "run_created");
	mp_put_int(&b, old.created);
	mp_put_bin(&b, "{}", 2);
	len = b.len;
	k = old_id_key(&old.run);
	key_add_u64(&k, 1);
	old_put_buf(OLD_EVENTS, &k, &b);
	buf_init(&b, 64);
	mp_put_array(&b, 4);
	mp_put_uint(&b, 1);
	mp_put_uint(&b, 0);
	mp_put_uint(&b, 1);
	mp_put_uint(&b, len);
	k = old_id_key(&old.run);
	old_put_buf(OLD_EVENT_HEADS, &k, &b);
	expiry_key(&k, old.expires, 0, old.run.b, ULID_BYTES);
	old_mark(OLD_EXPIRY, &k);
}

static inline void
old_put_key(void)
{
	uint8_t params[32] = { 7 };
	struct key k;
	struct buf b;

	key_init(&k);
	key_add(&k, old.identity, sizeof(old.identity));
	buf_init(&b, 256);
	mp_put_array(&b, 6);
	mp_put_uint(&b, 1000);
	old_id(&b, &old.run);
	mp_put_bin(&b, params, sizeof(params));
	mp_put_bool(&b, true);
	mp_put_int(&b, 0);
	mp_put_bin(&b, "first", 5);
	old_put_buf(OLD_IDEM, &k, &b);
}

static inline void
old_put_artifact(void)
{
	struct key k = old_id_key(&old.artifact);
	struct sha256_ctx sha;
	uint8_t sum[32];
	struct buf b;

	sha256_init(&sha);
	sha256_update(&sha, strlen(OLD_TEXT), (const uint8_t *)OLD_TEXT);
	sha256_digest(&sha, sizeof(sum), sum);
	old_put(OLD_ARTIFACT_BYTES, &k, OLD_TEXT, strlen(OLD_TEXT));
	buf_init(&b, 512);
	mp_put_array(&b, 11);
	old_id(&b, &old.artifact);
	old_id(&b, &old.run);
	mp_put_uint(&b, 1000);
	old_str(&b, "task_result");
	old_str(&b, "inline");
	old_str(&b, "text/plain");
	old_str(&b, "a.txt");
	mp_put_uint(&b, strlen(OLD_TEXT));
	mp_put_bin(&b, sum, sizeof(sum));
	mp_put_int(&b, old.created);
	mp_put_int(&b, old.expires);
	old_put_buf(OLD_ARTIFACTS, &k, &b);
	k = old_id_key(&old.run);
	key_add_ulid(&k, &old.artifact);
	old_mark(OLD_ARTIFACTS_BY_RUN, &k);
	expiry_key(&k, old.expires, 1, old.artifact.b, ULID_BYTES);
	old_mark(OLD_EXPIRY, &k);
	old_put_number("artifact_bytes", (int64_t)strlen(OLD_TEXT));
}

static inline void
old_put_session(void)
{
	struct key k = old_id_key(&old.kept);
	struct buf b;

	buf_init(&b, 256);
	mp_put_array(&b, 8);
	old_id(&b, &old.kept);
	mp_put_uint(&b, 1000);
	mp_put_int(&b, ulid_time_ms(&old.kept));
	mp_put_int(&b, old.ended);
	mp_put_int(&b, 0);
	old_str(&b, old_template);
	old_id(&b, &old.run);
	old_str(&b, "local");
	old_put_buf(OLD_SESSIONS, &k, &b);
	key_init(&k);
	key_add_u32(&k, 1000);
	key_add_ulid(&k, &old.kept);
	old_mark(OLD_SESSIONS_BY_UID, &k);
}

/* The state of the session's browser: nothing but its bytes, up to schema 3. */
static inline void
old_put_state(void)
{
	char path[512], name[ULID_CHARS + 1];
	FILE *f;

	ulid_format(&old.kept, name);
	snprintf(path, sizeof(path), "%s/sessions/%s", fx_dir, name);
	f = fopen(path, "w");
	if (f == NULL || fputs(OLD_STATE, f) == EOF || fclose(f) != 0)
		err(1, "%s", path);
}

/* Of schema 2: a log with one row. */
static inline void
old_put_audit(void)
{
	uint8_t zero[32] = { 0 }, hash[32],
		number[8] = { 0, 0, 0, 0, 0, 0, 0, 1 };
	struct key k = old_text_key("state");
	struct sha256_ctx sha;
	struct buf row, b;

	buf_init(&row, 256);
	mp_put_array(&row, 5);
	mp_put_int(&row, old.created);
	mp_put_int(&row, -1);
	old_str(&row, "service.start");
	mp_put_bin(&row, zero, ULID_BYTES);
	mp_put_bin(&row, "", 0);
	sha256_init(&sha);
	sha256_update(&sha, sizeof(number), number);
	sha256_update(&sha, sizeof(zero), zero);
	sha256_update(&sha, row.len, row.data);
	sha256_digest(&sha, sizeof(hash), hash);
	buf_init(&b, 512);
	mp_put_array(&b, 4);
	mp_put_uint(&b, 1);
	mp_put_uint(&b, 1);
	mp_put_bin(&b, hash, sizeof(hash));
	mp_put_bin(&b, zero, sizeof(zero));
	old_put_buf(OLD_AUDIT_STATE, &k, &b);
	buf_init(&b, 512);
	buf_add(&b, hash, sizeof(hash));
	buf_add(&b, zero, sizeof(zero));
	buf_add(&b, row.data, row.len);
	key_init(&k);
	key_add_u64(&k, 1);
	old_put_buf(OLD_AUDIT, &k, &b);
	buf_clear(&row);
}

static inline void
old_fill(int schema)
{
	static const uint8_t digest_key[32] = { 1, 2, 3 };
	struct key k = old_text_key("digest_key");

	old.run = ulid_new(FX_NOW);
	old.session = ulid_new(FX_NOW);
	old.artifact = ulid_new(FX_NOW);
	old.kept = ulid_new(FX_NOW);
	memset(old.identity, 5, sizeof(old.identity));
	old.identity[0] = IDEM_MCP;
	old.created = ulid_time_ms(&old.run);
	old.ended = old.created + 1000;
	old.expires = old.created + 1000000;
	old_put_number("schema", schema);
	old_put_number("stamp", old.ended);
	old_put_number("last_epoch", 4);
	old_put(OLD_META, &k, digest_key, sizeof(digest_key));
	old_put_run(schema);
	old_put_lists();
	old_put_rest_of_run();
	old_put_key();
	old_put_artifact();
	old_put_session();
	old_put_state();
	if (schema >= 2)
		old_put_audit();
}

/* The directories and the database as that version made them. */
static inline void
old_build(int schema)
{
	static const char *const dirs[] = { "store", "artifacts", "incoming",
		"spool", "sessions" };
	int tables = schema == 1 ? OLD_TABLES1 : OLD_TABLES2;
	char path[512];
	MDB_env *env;

	fx_new();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fx_dir, dirs[i]);
		if (mkdir(path, 0700) == -1)
			err(1, "%s", path);
	}
	snprintf(path, sizeof(path), "%s/store", fx_dir);
	if (mdb_env_create(&env) != 0 || mdb_env_set_maxdbs(env, 32) != 0 ||
	    mdb_env_set_mapsize(env, 4 << 20) != 0 ||
	    mdb_env_open(env, path, MDB_NOTLS, 0600) != 0 ||
	    mdb_txn_begin(env, NULL, 0, &old.txn) != 0)
		errx(1, "lmdb");
	for (int t = 0; t < tables; t++)
		if (mdb_dbi_open(
			old.txn, old_names[t], MDB_CREATE, &old.dbi[t]) != 0)
			errx(1, "%s", old_names[t]);
	old_fill(schema);
	if (mdb_txn_commit(old.txn) != 0)
		errx(1, "commit");
	mdb_env_close(env);
}

#endif
