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
#include "storage/artifact.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "model/mime.h"
#include "supervisord/query.h"
#include "supervisord/readart.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"

#define UTF8_BYTES_MAX 4

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

static bool
chunk_read(struct sup *sup, struct store_txn *txn, struct chunk *c)
{
	size_t len = (size_t)c->limit;
	const uint8_t *inline_bytes;
	size_t inline_len;

	if (len > c->row.size - c->offset)
		len = (size_t)(c->row.size - c->offset);
	c->bytes = malloc(len + 1);
	if (c->bytes == NULL)
		return false;
	c->len = len;
	if (c->row.state == ARTIFACT_IN_FILE)
		return artifact_file_read(sup->store, &c->row, c->offset,
			   c->bytes, &c->len) == STORE_OK;
	if (artifact_bytes(txn, &c->row.id, &inline_bytes, &inline_len) !=
		STORE_OK ||
	    inline_len < c->offset + len)
		return false;
	memcpy(c->bytes, inline_bytes + c->offset, len);
	return true;
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
chunk_find(struct client *client, struct store_txn *txn, const char *name,
    struct chunk *c, struct refusal *r)
{
	struct ulid id;
	int err = STORE_NOT_FOUND;

	if (id_parse("art_", name, &id))
		err = artifact_get_live(txn, &id, clock_stamp_ms(), &c->row);
	if (err == STORE_OK && !client_may_read(client, c->row.uid)) {
		auditlog_tell_often(client_sup(client),
		    (int64_t)client_uid(client), AUDIT_ACCESS_REFUSE,
		    &c->row.run, "artifact of uid %u", (unsigned)c->row.uid);
		err = STORE_NOT_FOUND;
	}
	if (err == STORE_NOT_FOUND)
		return refuse(
		    r, ERR_ARTIFACT_NOT_FOUND, "there is no such artifact");
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

/*
 * Who reads from the beginning to the end does not get the last piece of what
 * is not as it was written. Files have no checksum of their own.
 */
static bool
chunk_sound(struct client *client, const struct chunk *c, struct refusal *r)
{
	char name[ID_CHARS + 1];

	if (artifact_sum_take(
		client_reading(client), &c->row, c->offset, c->bytes, c->len))
		return true;
	id_format("art_", &c->row.id, name);
	log_err("%s: its bytes are not those that were written", name);
	return refuse(r, ERR_STORAGE_ERROR,
	    "the artifact's bytes are not those that were written; a backup "
	    "may have them");
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
	auditlog_tell(client_sup(client), (int64_t)client_uid(client),
	    AUDIT_ARTIFACT_READ, &c->row.run, "%s, %s", name,
	    artifact_kind_name(c->row.kind));
}

void
readart_get(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	uint64_t limit =
	    (uint64_t)ipc_int(p, F_LIMIT, LIMIT_ARTIFACT_CHUNK_BYTES);
	struct sup *sup = client_sup(client);
	struct refusal refusal = { 0 };
	struct chunk c = { .offset = (uint64_t)ipc_int(p, F_OFFSET, 0) };
	struct store_txn *txn;
	bool good, text = false;

	if (store_read_begin(sup->store, &txn) != STORE_OK) {
		reply_error(client, seq, ERR_STORAGE_ERROR, NULL,
		    "artifacts cannot be read");
		return;
	}
	good = chunk_find(client, txn, ipc_str(p, F_ARTIFACT_ID), &c, &refusal);
	if (good) {
		text = mime_is_text(c.row.mime);
		c.limit = limit + (text ? UTF8_BYTES_MAX : 0);
		good = chunk_read(sup, txn, &c) ||
		    refuse(&refusal, ERR_STORAGE_ERROR,
			"the artifact cannot be read");
	}
	store_read_end(sup->store);
	if (good && text)
		good = chunk_fit_text(&c, limit, &refusal);
	if (good)
		good = chunk_sound(client, &c, &refusal);
	if (good) {
		chunk_tell(client, &c);
		chunk_answer(client, seq, &c, text);
	} else {
		reply_error(client, seq, refusal.code, NULL, refusal.message);
	}
	free(c.bytes);
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
