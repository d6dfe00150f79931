/*
 * Reading artifacts in chunks, in supervisord. Text comes as text and is never
 * cut within a character; everything else is base64. offset and length count
 * bytes of the original.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/clock.h"
#include "common/log.h"
#include "model/limits.h"
#include "storage/artifact_sums.h"
#include "storage/store.h"
#include "supervisord/artcheck.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "model/mime.h"
#include "supervisord/query.h"
#include "supervisord/readart.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"

#define UTF8_BYTES_MAX   4
#define NO_ARTIFACT_TEXT "there is no such artifact"

/* Does a character of UTF-8 begin at this byte? */
static bool
readart_at_character(uint8_t byte)
{
	return (byte & 0xc0) != 0x80;
}

size_t
readart_whole_characters(const uint8_t *bytes, size_t len)
{
	size_t start = len, need;

	for (size_t back = 1; back <= UTF8_BYTES_MAX && back <= len; back++) {
		if (readart_at_character(bytes[len - back])) {
			start = len - back;
			break;
		}
	}
	if (start == len)
		return len;
	need = bytes[start] >= 0xf0 ? 4
	    : bytes[start] >= 0xe0  ? 3
	    : bytes[start] >= 0xc0  ? 2
				    : 1;
	return len - start >= need ? len : start;
}

struct chunk {
	struct artifact_row row;
	uint64_t offset;
	uint64_t limit;
	uint8_t *bytes;
	size_t len;
};

static enum store_err
chunk_copy(struct store_txn *txn, struct chunk *c)
{
	const uint8_t *bytes;
	size_t len;

	if (artifact_bytes(txn, &c->row.id, &bytes, &len) != STORE_OK ||
	    len != c->row.size)
		return STORE_CORRUPT;
	memcpy(c->bytes, bytes + c->offset, c->len);
	return STORE_OK;
}

/* Files were held to their sums by now; records have a checksum each. */
static enum store_err
chunk_read(struct sup *sup, struct store_txn *txn, struct chunk *c)
{
	const struct artifact_sums *sums;
	size_t len = (size_t)c->limit;

	if (len > c->row.size - c->offset)
		len = (size_t)(c->row.size - c->offset);
	c->bytes = malloc(len + 1);
	if (c->bytes == NULL)
		return STORE_NO_MEMORY;
	c->len = len;
	if (c->row.state != ARTIFACT_IN_FILE)
		return chunk_copy(txn, c);
	sums = artcheck_find(sup->artchecks, &c->row.id);
	return sums == NULL ? STORE_IO
			    : artifact_sums_read(sums, sup->store, &c->row,
				  c->offset, c->bytes, &c->len);
}

static bool
chunk_refuse(const struct chunk *c, enum store_err err, struct refusal *r)
{
	char name[ID_CHARS + 1];

	id_format("art_", &c->row.id, name);
	if (err != STORE_CORRUPT)
		return refuse(r, ERR_STORAGE_ERROR,
		    "the artifact cannot be read: %s", store_strerror(err));
	log_err("%s: its bytes are not those that were written", name);
	return refuse(r, ERR_STORAGE_ERROR,
	    "the artifact's bytes are not those that were written; a backup "
	    "may have them");
}

/* At least one whole character is asked for, whatever the limit. */
static bool
chunk_fit_text(struct chunk *c, uint64_t limit, struct refusal *r)
{
	size_t len = c->len;

	if (len == 0)
		return true;
	if (!readart_at_character(c->bytes[0]))
		return refuse(
		    r, ERR_INVALID_PARAMETER, "offset lies within a character");
	if (len > limit)
		len = (size_t)limit;
	if (c->offset + len < c->row.size)
		len = readart_whole_characters(c->bytes, len);
	if (len == 0) {
		for (len = 1; len < c->len; len++)
			if (readart_at_character(c->bytes[len]))
				break;
	}
	c->len = len;
	return true;
}

static bool
chunk_find(struct client *client, struct store_txn *txn, const struct ulid *id,
    struct chunk *c, struct refusal *r)
{
	int err = artifact_get_live(txn, id, clock_stamp_ms(), &c->row);

	if (err == STORE_OK && !client_may_read(client, c->row.uid)) {
		auditlog_tell_client_often(client, AUDIT_ACCESS_REFUSE,
		    &c->row.run, "artifact of uid %u", (unsigned)c->row.uid);
		err = STORE_NOT_FOUND;
	}
	if (err == STORE_NOT_FOUND)
		return refuse(r, ERR_ARTIFACT_NOT_FOUND, NO_ARTIFACT_TEXT);
	if (err != STORE_OK)
		return refuse(r, ERR_STORAGE_ERROR, "%s", store_strerror(err));
	if (c->row.state == ARTIFACT_TOMBSTONE)
		return refuse(
		    r, ERR_ARTIFACT_EXPIRED, "the artifact has expired");
	if (c->offset > c->row.size)
		return refuse(r, ERR_INVALID_PARAMETER,
		    "offset is behind the end of the artifact");
	return true;
}

static void
chunk_answer(
    struct client *client, uint32_t seq, const struct chunk *c, bool text)
{
	struct json_writer w;
	struct buf b, b64;

	buf_init(&b, REPLY_BYTES_MAX);
	buf_init(&b64, BASE64_LEN(LIMIT_ARTIFACT_CHUNK_BYTES) + 16);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_id(&w, "artifactId", "art_", &c->row.id);
	json_put_str(&w, "mimeType", c->row.mime);
	json_put_int64(&w, "totalSize", (int64_t)c->row.size);
	json_put_int64(&w, "offset", (int64_t)c->offset);
	json_put_int64(&w, "length", (int64_t)c->len);
	if (text) {
		json_put_strn(&w, "data", (const char *)c->bytes, c->len);
	} else {
		base64_encode(&b64, c->bytes, c->len);
		json_put_strn(&w, "data",
		    b64.data == NULL ? "" : (const char *)b64.data, b64.len);
	}
	json_put_bool(&w, "complete", c->offset + c->len >= c->row.size);
	json_write_end_object(&w);
	buf_clear(&b64);
	reply_json(client, seq, &w, &b);
}

static void
chunk_tell(struct client *client, const struct chunk *c)
{
	char name[ID_CHARS + 1];

	if (!client_reads_first(client, &c->row.id))
		return;
	id_format("art_", &c->row.id, name);
	auditlog_spend(client_share(client), 1);
	auditlog_tell_client(client, AUDIT_ARTIFACT_READ, &c->row.run, "%s, %s",
	    name, artifact_kind_name(c->row.kind));
}

/* Must its file be checked before a byte of it is answered? */
static bool
chunk_waits(struct sup *sup, const struct chunk *c)
{
	return c->row.state == ARTIFACT_IN_FILE &&
	    artcheck_find(sup->artchecks, &c->row.id) == NULL;
}

static void
chunk_wait(struct client *client, uint32_t seq, const struct chunk *c,
    const struct readart_want *want)
{
	if (!artcheck_wait(
		client_sup(client)->artchecks, client, seq, &c->row, want))
		reply_error(client, seq, ERR_QUEUE_FULL, NULL,
		    "too many artifacts are read: try again");
}

static bool
chunk_take(struct sup *sup, struct store_txn *txn, enum store_err checked,
    struct chunk *c, struct refusal *r)
{
	enum store_err err =
	    checked == STORE_OK ? chunk_read(sup, txn, c) : checked;

	return err == STORE_OK || chunk_refuse(c, err, r);
}

/* again: its file was checked, if it has one, and this is the verdict. */
static void
readart_try(struct client *client, uint32_t seq,
    const struct readart_want *want, bool again, enum store_err checked)
{
	struct sup *sup = client_sup(client);
	struct refusal refusal = { 0 };
	struct chunk c = { .offset = want->offset };
	struct store_txn *txn;
	bool good, text = false, waits = false;

	if (store_read_begin(sup->store, &txn) != STORE_OK) {
		reply_error(client, seq, ERR_STORAGE_ERROR, NULL,
		    "artifacts cannot be read");
		return;
	}
	good = chunk_find(client, txn, &want->id, &c, &refusal);
	if (good) {
		waits = !again && chunk_waits(sup, &c);
		text = mime_is_text(c.row.mime);
		c.limit = want->limit + (text ? UTF8_BYTES_MAX : 0);
		good = waits || chunk_take(sup, txn, checked, &c, &refusal);
	}
	store_read_end(sup->store);
	if (good && waits) {
		chunk_wait(client, seq, &c, want);
		return;
	}
	if (good && text)
		good = chunk_fit_text(&c, want->limit, &refusal);
	if (good) {
		chunk_tell(client, &c);
		chunk_answer(client, seq, &c, text);
	} else {
		reply_error(client, seq, refusal.code, NULL, refusal.message);
	}
	free(c.bytes);
}

void
readart_get(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct readart_want want = {
		.offset = (uint64_t)ipc_int(p, F_OFFSET, 0),
		.limit =
		    (uint64_t)ipc_int(p, F_LIMIT, LIMIT_ARTIFACT_CHUNK_BYTES),
	};

	if (id_parse("art_", ipc_str(p, F_ARTIFACT_ID), &want.id))
		readart_try(client, seq, &want, false, STORE_OK);
	else
		reply_error(client, seq, ERR_ARTIFACT_NOT_FOUND, NULL,
		    NO_ARTIFACT_TEXT);
}

void
readart_checked(struct client *client, uint32_t seq,
    const struct readart_want *want, enum store_err err)
{
	readart_try(client, seq, want, true, err);
}

static bool
list_artifact(
    const struct ulid *id, const struct artifact_row *row, int err, void *arg)
{
	struct json_writer *w = arg;

	if (err != STORE_OK)
		return true;
	json_write_begin_object(w);
	json_put_id(w, "artifactId", "art_", id);
	json_put_str(w, "kind", artifact_kind_name(row->kind));
	json_put_str(w, "mimeType", row->mime);
	json_put_str(w, "name", row->name);
	json_put_int64(w, "totalSize", (int64_t)row->size);
	json_put_int64(w, "createdAt", row->created_ms);
	if (row->expires_ms != 0)
		json_put_int64(w, "expiresAt", row->expires_ms);
	else
		json_put_null(w, "expiresAt");
	json_put_bool(w, "expired",
	    row->state == ARTIFACT_TOMBSTONE ||
		(row->expires_ms != 0 && row->expires_ms <= clock_stamp_ms()));
	json_write_end_object(w);
	return true;
}

void
readart_list(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct sup *sup = client_sup(client);
	struct run_record rec;
	struct store_txn *txn;
	struct json_writer w;
	struct ulid id;
	struct buf b;

	if (!query_run_id(client, seq, p, &id) ||
	    !query_record(client, seq, &id, &rec))
		return;
	if (store_read_begin(sup->store, &txn) != STORE_OK) {
		reply_error(client, seq, ERR_STORAGE_ERROR, &id,
		    "artifacts cannot be read");
		return;
	}
	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_id(&w, "runId", "run_", &id);
	json_write_key(&w, "artifacts");
	json_write_begin_array(&w);
	artifact_list(txn, &id, list_artifact, &w);
	store_read_end(sup->store);
	json_write_end_array(&w);
	json_write_end_object(&w);
	reply_json(client, seq, &w, &b);
}
