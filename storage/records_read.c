/*
 * Reading the records of a backup, which are a stranger's bytes: every length
 * is checked before it is believed, and no more is kept than one entry. Runs in
 * a process of supervisord's program that does nothing else.
 */
#include <string.h>

#include "storage/backup_int.h"

#define HEAD_BYTES   7 /* of an entry: letter, two lengths */
#define BUFFER_BYTES (RECORDS_VALUE_MAX + STORE_KEY_BYTES + HEAD_BYTES)

void
records_reader_init(
    struct records_reader *r, const struct records_sink *sink, void *arg)
{
	memset(r, 0, sizeof(*r));
	buf_init(&r->in, BUFFER_BYTES + BACKUP_PIECE_BYTES);
	r->sink = sink;
	r->arg = arg;
}

void
records_reader_clear(struct records_reader *r)
{
	buf_clear(&r->in);
}

/* Each takes what is at the beginning of p; *ret_used 0: more is needed. */

static enum store_err
read_table(
    struct records_reader *r, const uint8_t *p, size_t len, size_t *ret_used)
{
	char name[RECORDS_NAME_MAX + 1];

	if (len < 2 || (p[1] <= RECORDS_NAME_MAX && len < 2u + p[1]))
		return STORE_OK;
	if (p[1] > RECORDS_NAME_MAX || memchr(p + 2, '\0', p[1]) != NULL)
		return STORE_CORRUPT;
	memcpy(name, p + 2, p[1]);
	name[p[1]] = '\0';
	*ret_used = 2u + p[1];
	r->in_table = true;
	return r->sink->table(r->arg, name);
}

static enum store_err
read_entry(
    struct records_reader *r, const uint8_t *p, size_t len, size_t *ret_used)
{
	size_t key_len, value_len;

	if (!r->in_table)
		return STORE_CORRUPT;
	if (len < HEAD_BYTES)
		return STORE_OK;
	key_len = (size_t)p[1] << 8 | p[2];
	value_len = key_read_u32(p + 3);
	if (key_len == 0 || key_len > STORE_KEY_BYTES ||
	    value_len > RECORDS_VALUE_MAX)
		return STORE_CORRUPT;
	if (len < HEAD_BYTES + key_len + value_len)
		return STORE_OK;
	*ret_used = HEAD_BYTES + key_len + value_len;
	r->entries++;
	return r->sink->entry(r->arg, p + HEAD_BYTES, key_len,
	    p + HEAD_BYTES + key_len, value_len);
}

static enum store_err
read_end(
    struct records_reader *r, const uint8_t *p, size_t len, size_t *ret_used)
{
	if (len < 9)
		return STORE_OK;
	if (key_read_u64(p + 1) != r->entries)
		return STORE_CORRUPT;
	r->ended = true;
	*ret_used = 9;
	return STORE_OK;
}

static enum store_err
read_magic(
    struct records_reader *r, const uint8_t *p, size_t len, size_t *ret_used)
{
	size_t n = strlen(RECORDS_MAGIC);

	if (memcmp(p, RECORDS_MAGIC, len < n ? len : n) != 0)
		return STORE_CORRUPT;
	if (len >= n) {
		r->begun = true;
		*ret_used = n;
	}
	return STORE_OK;
}

static enum store_err
read_one(
    struct records_reader *r, const uint8_t *p, size_t len, size_t *ret_used)
{
	*ret_used = 0;
	if (r->ended)
		return STORE_CORRUPT;
	if (!r->begun)
		return read_magic(r, p, len, ret_used);
	if (p[0] == RECORDS_TABLE[0])
		return read_table(r, p, len, ret_used);
	if (p[0] == RECORDS_ENTRY[0])
		return read_entry(r, p, len, ret_used);
	if (p[0] == RECORDS_END[0])
		return read_end(r, p, len, ret_used);
	return STORE_CORRUPT;
}

enum store_err
records_read(struct records_reader *r, const uint8_t *bytes, size_t len)
{
	enum store_err err = STORE_OK;
	size_t at = 0, used;

	if (!buf_add(&r->in, bytes, len))
		return len > r->in.max - r->in.len ? STORE_CORRUPT
						   : STORE_NO_MEMORY;
	while (err == STORE_OK && at < r->in.len) {
		err = read_one(r, r->in.data + at, r->in.len - at, &used);
		if (err != STORE_OK || used == 0)
			break;
		at += used;
	}
	memmove(r->in.data, r->in.data + at, r->in.len - at);
	r->in.len -= at;
	return err;
}

bool
records_reader_done(const struct records_reader *r)
{
	return r->ended && r->in.len == 0;
}
