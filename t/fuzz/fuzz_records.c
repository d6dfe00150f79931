/*
 * Records of a backup: any bytes are read or refused, whole or in pieces with
 * the same outcome, and nothing is handed on that the store has no room for.
 */
#include <string.h>

#include "common/panic.h"
#include "storage/backup_int.h"
#include "t/fuzz/fuzz.h"

struct seen {
	uint64_t tables, entries, bytes;
};

static enum store_err
see_table(void *arg, const char *name)
{
	struct seen *s = arg;

	ASSERT(strlen(name) <= RECORDS_NAME_MAX);
	s->tables++;
	return STORE_OK;
}

static enum store_err
see_entry(void *arg, const uint8_t *key, size_t key_len, const uint8_t *value,
    size_t value_len)
{
	struct seen *s = arg;
	uint8_t sum = 0;

	ASSERT(s->tables > 0);
	ASSERT(key_len > 0 && key_len <= STORE_KEY_BYTES);
	ASSERT(value_len <= RECORDS_VALUE_MAX);
	/* All of it must be there to be read. */
	for (size_t i = 0; i < key_len; i++)
		sum ^= key[i];
	for (size_t i = 0; i < value_len; i++)
		sum ^= value[i];
	s->entries++;
	s->bytes += key_len + value_len + (sum & 1);
	return STORE_OK;
}

static enum store_err
read_in_pieces(const uint8_t *bytes, size_t size, size_t piece,
    struct seen *ret, bool *ret_done)
{
	static const struct records_sink sink = { see_table, see_entry };
	enum store_err err = STORE_OK;
	struct records_reader r;
	size_t n;

	memset(ret, 0, sizeof(*ret));
	records_reader_init(&r, &sink, ret);
	for (size_t at = 0; err == STORE_OK && at < size; at += n) {
		n = size - at < piece ? size - at : piece;
		err = records_read(&r, bytes + at, n);
	}
	*ret_done = records_reader_done(&r);
	records_reader_clear(&r);
	return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum store_err whole, pieces;
	bool done, done_pieces;
	struct seen a, b;

	whole = read_in_pieces(bytes, size, size + 1, &a, &done);
	pieces = read_in_pieces(bytes, size, 7, &b, &done_pieces);
	ASSERT(whole == pieces && a.entries == b.entries &&
	    a.bytes == b.bytes && a.tables == b.tables);
	/* What was refused may be done before it. */
	ASSERT(whole != STORE_OK || done == done_pieces);
	return 0;
}
