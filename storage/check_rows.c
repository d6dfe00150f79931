/*
 * Checking what does not belong to one run alone: numbers, keys, artifacts,
 * sessions, what expires, the audit log. Runs where check.c does.
 */
#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "storage/check_int.h"
#include "storage/idem.h"
#include "storage/session.h"

#define STAMP 8
#define UID   4

void
check_meta(struct check *c, const struct txn_walk *w)
{
	char name[64];
	const uint8_t *p;
	int64_t number;
	size_t len;
	int err;

	if (w->entry.key_len >= sizeof(name)) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	memcpy(name, w->entry.key, w->entry.key_len);
	name[w->entry.key_len] = '\0';
	if (strcmp(name, META_DIGEST_KEY) == 0)
		err = walk_payload(w, &p, &len) == STORE_OK &&
			len == META_DIGEST_KEY_BYTES
		    ? STORE_OK
		    : STORE_CORRUPT;
	else
		err = meta_get(c->txn, name, &number);
	if (err != STORE_OK)
		check_tell_err(c, w, err, NULL);
}

void
check_idem(struct check *c, const struct txn_walk *w)
{
	struct idem_row row;
	int err;

	if (w->entry.key_len != STORE_IDENTITY_BYTES ||
	    w->entry.key[0] >= IDEM__MAX) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	if ((err = idem_read(c->txn, w->entry.key, &row)) != STORE_OK) {
		check_tell_err(c, w, err, NULL);
		return;
	}
	c->totals.keys++;
	if (!row.with_run)
		check_expires(c, w, row.expires_ms, EXPIRY_IDEM, w->entry.key,
		    STORE_IDENTITY_BYTES, &row.run);
	else if (check_find_run(c, &row.run) == STORE_NOT_FOUND)
		check_tell_entry(
		    c, w, FAULT_OWNER_MISSING, &row.run, "its run");
}

/* Artifacts. */

static void
check_inline(
    struct check *c, const struct txn_walk *w, const struct artifact_row *row)
{
	uint8_t sum[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	const uint8_t *p;
	size_t len;
	int err = artifact_bytes(c->txn, &row->id, &p, &len);

	/* Damaged ones are told where they are met. */
	if (err == STORE_NOT_FOUND)
		check_tell_entry(
		    c, w, FAULT_BYTES_MISSING, &row->run, "%s", "");
	if (err != STORE_OK)
		return;
	sha256_init(&sha);
	sha256_update(&sha, len, p);
	sha256_digest(&sha, sizeof(sum), sum);
	if (len != row->size || memcmp(sum, row->sha256, sizeof(sum)) != 0)
		check_tell_entry(c, w, FAULT_BYTES_WRONG, &row->run, "%s",
		    len != row->size ? "their number" : "their SHA-256");
}

static void
artifact_note_file(struct check *c, const struct artifact_row *row)
{
	struct check_file f = {
		.id = row->id, .run = row->run, .size = row->size
	};

	memcpy(f.sha256, row->sha256, sizeof(f.sha256));
	buf_add(&c->files, &f, sizeof(f));
	c->file_bytes += row->size;
}

void
check_artifact(struct check *c, const struct txn_walk *w)
{
	struct artifact_row row;
	struct ulid id;
	struct key k;
	int err;

	if (!check_key_id(w, 0, ULID_BYTES, &id)) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	err = artifact_get(c->txn, &id, &row);
	if (err == STORE_OK && memcmp(&row.id, &id, sizeof(id)) != 0)
		err = STORE_CORRUPT;
	if (err != STORE_OK) {
		check_tell_err(c, w, err, NULL);
		return;
	}
	c->totals.artifacts++;
	key_init(&k);
	key_add_ulid(&k, &row.run);
	key_add_ulid(&k, &id);
	if (!txn_has(c->txn, TABLE_ARTIFACTS_BY_RUN, &k))
		check_tell_entry(c, w, FAULT_ENTRY_MISSING, &row.run,
		    "the artifacts of its run");
	check_expires(
	    c, w, row.expires_ms, EXPIRY_ARTIFACT, id.b, ULID_BYTES, &row.run);
	if (row.state != ARTIFACT_TOMBSTONE)
		c->artifact_bytes += row.size;
	if (row.state == ARTIFACT_IN_ROW)
		check_inline(c, w, &row);
	if (row.state == ARTIFACT_IN_FILE)
		artifact_note_file(c, &row);
}

void
check_artifact_bytes(struct check *c, const struct txn_walk *w)
{
	struct artifact_row row;
	struct ulid id;
	int err;

	if (!check_key_id(w, 0, ULID_BYTES, &id)) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	err = artifact_get(c->txn, &id, &row);
	if (err == STORE_NOT_FOUND ||
	    (err == STORE_OK && row.state != ARTIFACT_IN_ROW))
		check_tell_entry(
		    c, w, FAULT_OWNER_MISSING, NULL, "its artifact");
}

void
check_artifact_by_run(struct check *c, const struct txn_walk *w)
{
	struct artifact_row row;
	struct ulid run, id;
	int err;

	if (!check_key_id(w, 0, 2 * ULID_BYTES, &run) ||
	    !check_key_id(w, ULID_BYTES, 2 * ULID_BYTES, &id)) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	err = artifact_get(c->txn, &id, &row);
	if (err == STORE_NOT_FOUND ||
	    (err == STORE_OK && memcmp(&row.run, &run, sizeof(run)) != 0))
		check_tell_entry(c, w, FAULT_ENTRY_EXTRA, &run, "artifacts");
}

/* Kept as a number, and counted anew when that cannot be read. */
void
check_artifact_total(struct check *c)
{
	static const char name[] = "artifact_bytes";
	struct check_fault f;
	int64_t kept = 0;
	int err = meta_get(c->txn, name, &kept);

	if ((err != STORE_OK && err != STORE_NOT_FOUND) ||
	    (uint64_t)kept == c->artifact_bytes)
		return;
	f = check_fault_new(
	    FAULT_TOTAL_WRONG, TABLE_META, (const uint8_t *)name, strlen(name));
	snprintf(f.detail, sizeof(f.detail), "it is %lld, and they hold %llu",
	    (long long)kept, (unsigned long long)c->artifact_bytes);
	check_tell(c, &f);
}

/* Sessions. */

void
check_session(struct check *c, const struct txn_walk *w)
{
	struct session_record r;
	struct ulid id;
	struct key k;
	int err;

	if (!check_key_id(w, 0, ULID_BYTES, &id)) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	if ((err = session_get(c->txn, &id, &r)) != STORE_OK) {
		check_tell_err(c, w, err, NULL);
		return;
	}
	c->totals.sessions++;
	buf_add(&c->sessions, &id, sizeof(id));
	key_init(&k);
	key_add_u32(&k, r.uid);
	key_add_ulid(&k, &id);
	if (!txn_has(c->txn, TABLE_SESSIONS_BY_UID, &k))
		check_tell_entry(c, w, FAULT_ENTRY_MISSING, NULL,
		    "the sessions of its user");
	check_expires(
	    c, w, r.expires_ms, EXPIRY_SESSION, id.b, ULID_BYTES, NULL);
}

void
check_session_by_uid(struct check *c, const struct txn_walk *w)
{
	struct session_record r;
	struct ulid id;
	int err;

	if (!check_key_id(w, UID, UID + ULID_BYTES, &id)) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	err = session_get(c->txn, &id, &r);
	if (err == STORE_NOT_FOUND ||
	    (err == STORE_OK && r.uid != key_read_u32(w->entry.key)))
		check_tell_entry(c, w, FAULT_ENTRY_EXTRA, NULL, "sessions");
}

/* Expiry. */

/* When the thing says that it expires; -1: that cannot be told. */
static int64_t
expires_ms(struct check *c, enum expiry_kind kind, const uint8_t *id)
{
	struct session_record session;
	struct artifact_row artifact;
	struct idem_row key;
	struct ulid u;
	int err;

	if (kind == EXPIRY_IDEM) {
		err = idem_read(c->txn, id, &key);
		return err == STORE_OK       ? key.expires_ms
		    : err == STORE_NOT_FOUND ? 0
					     : -1;
	}
	memcpy(&u, id, sizeof(u));
	if (kind == EXPIRY_RUN) {
		err = check_find_run(c, &u);
		return err == STORE_OK       ? c->run.expires_ms
		    : err == STORE_NOT_FOUND ? 0
					     : -1;
	}
	if (kind == EXPIRY_ARTIFACT) {
		err = artifact_get(c->txn, &u, &artifact);
		return err == STORE_OK       ? artifact.expires_ms
		    : err == STORE_NOT_FOUND ? 0
					     : -1;
	}
	err = session_get(c->txn, &u, &session);
	return err == STORE_OK       ? session.expires_ms
	    : err == STORE_NOT_FOUND ? 0
				     : -1;
}

void
check_expiry(struct check *c, const struct txn_walk *w)
{
	const uint8_t *key = w->entry.key;
	size_t head = STAMP + 1, id_len = ULID_BYTES;
	enum expiry_kind kind;
	int64_t stamp, own;

	if (w->entry.key_len > head && key[STAMP] == EXPIRY_IDEM)
		id_len = STORE_IDENTITY_BYTES;
	if (w->entry.key_len != head + id_len || key[STAMP] >= EXPIRY__MAX) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	kind = (enum expiry_kind)key[STAMP];
	stamp = (int64_t)key_read_u64(key);
	own = expires_ms(c, kind, key + head);
	if (own != -1 && own != stamp)
		check_tell_entry(c, w, FAULT_ENTRY_EXTRA, NULL, "expiry");
}

/* The audit log. */

void
check_audit(struct check *c)
{
	struct audit_check a = { 0 };
	struct check_fault f;
	struct key k;
	int err = audit_check(c->txn, &a, UINT_MAX);

	c->totals.audit_rows = a.checked;
	if (err == STORE_OK && a.fault == AUDIT_SOUND)
		return;
	c->txn->err = STORE_OK;
	audit_key(&k, a.bad);
	f = check_fault_new(FAULT_AUDIT_BROKEN, TABLE_AUDIT, k.b, k.len);
	snprintf(f.detail, sizeof(f.detail), "row %llu %s",
	    (unsigned long long)a.bad,
	    err == STORE_OK ? audit_fault_text(a.fault) : store_strerror(err));
	check_tell(c, &f);
}
