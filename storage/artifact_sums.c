/* Checked reading of artifacts' files, from any offset. Runs in supervisord. */
#include <stdlib.h>
#include <string.h>
#include <nettle/sha2.h>

#include "storage/artifact_sums.h"
#include "storage/crc32c.h"
#include "storage/store_impl.h"

#define BLOCK_BYTES (64u << 10)

_Static_assert(ARTIFACT_STEP_BYTES % BLOCK_BYTES == 0, "steps of blocks");

enum store_err
artifact_file_whole(struct store *s, const struct artifact_row *row, void *to)
{
	uint8_t sum[SHA256_DIGEST_SIZE];
	size_t len = (size_t)row->size;
	struct sha256_ctx sha;
	enum store_err err;

	if ((err = artifact_file_read(s, row, 0, to, &len)) != STORE_OK)
		return err;
	sha256_init(&sha);
	sha256_update(&sha, len, to);
	sha256_digest(&sha, sizeof(sum), sum);
	return len == row->size && memcmp(sum, row->sha256, sizeof(sum)) == 0
	    ? STORE_OK
	    : STORE_CORRUPT;
}

struct artifact_sums {
	struct ulid id;
	uint32_t block[]; /* CRC-32C, as records have */
};

struct artifact_scan {
	struct store *store;
	struct artifact_row row;
	uint64_t next;
	struct sha256_ctx sha;
	struct artifact_sums *sums;
};

enum store_err
artifact_scan_new(struct store *store, const struct artifact_row *row,
    struct artifact_scan **ret_scan)
{
	struct artifact_scan *scan = calloc(1, sizeof(*scan));
	uint64_t blocks = row->size / BLOCK_BYTES + 1;

	if (scan != NULL)
		scan->sums =
		    calloc(1, sizeof(*scan->sums) + blocks * sizeof(uint32_t));
	if (scan == NULL || scan->sums == NULL) {
		artifact_scan_free(&scan);
		return STORE_NO_MEMORY;
	}
	scan->store = store;
	scan->row = *row;
	scan->sums->id = row->id;
	sha256_init(&scan->sha);
	*ret_scan = scan;
	return STORE_OK;
}

static size_t
block_len(size_t len, size_t at)
{
	return len - at < BLOCK_BYTES ? len - at : BLOCK_BYTES;
}

enum store_err
artifact_scan_step(struct artifact_scan *scan, struct artifact_sums **ret_sums)
{
	static uint8_t piece[ARTIFACT_STEP_BYTES];
	uint32_t *block = &scan->sums->block[scan->next / BLOCK_BYTES];
	uint8_t sum[SHA256_DIGEST_SIZE];
	size_t len = sizeof(piece);
	enum store_err err;

	err = artifact_file_read(
	    scan->store, &scan->row, scan->next, piece, &len);
	if (err != STORE_OK)
		return err;
	for (size_t at = 0; at < len; at += BLOCK_BYTES)
		*block++ = crc32c(0, piece + at, block_len(len, at));
	sha256_update(&scan->sha, len, piece);
	scan->next += len;
	if (len == sizeof(piece) && scan->next < scan->row.size)
		return STORE_OK;
	sha256_digest(&scan->sha, sizeof(sum), sum);
	if (scan->next != scan->row.size ||
	    memcmp(sum, scan->row.sha256, sizeof(sum)) != 0)
		return STORE_CORRUPT;
	*ret_sums = scan->sums;
	scan->sums = NULL;
	return STORE_OK;
}

void
artifact_scan_free(struct artifact_scan **scan)
{
	if (*scan == NULL)
		return;
	artifact_sums_free(&(*scan)->sums);
	free(*scan);
	*scan = NULL;
}

const struct ulid *
artifact_sums_id(const struct artifact_sums *sums)
{
	return &sums->id;
}

/* Whole blocks, of which only a part may be wanted. */
static enum store_err
read_blocks(const struct artifact_sums *sums, struct store *store,
    const struct artifact_row *row, uint64_t from, uint8_t *to, size_t len)
{
	const uint32_t *block = &sums->block[from / BLOCK_BYTES];
	enum store_err err;
	size_t got = len;

	err = artifact_file_read(store, row, from, to, &got);
	if (err != STORE_OK)
		return err;
	if (got != len)
		return STORE_CORRUPT;
	for (size_t at = 0; at < len; at += BLOCK_BYTES)
		if (*block++ != crc32c(0, to + at, block_len(len, at)))
			return STORE_CORRUPT;
	return STORE_OK;
}

enum store_err
artifact_sums_read(const struct artifact_sums *sums, struct store *store,
    const struct artifact_row *row, uint64_t offset, void *to, size_t *len)
{
	uint64_t from = offset - offset % BLOCK_BYTES, end;
	enum store_err err;
	uint8_t *bytes;

	if (offset > row->size)
		return STORE_INVALID;
	if (*len > row->size - offset)
		*len = (size_t)(row->size - offset);
	if (*len == 0)
		return STORE_OK;
	end = (offset + *len + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
	if (end > row->size)
		end = row->size;
	bytes = malloc((size_t)(end - from));
	if (bytes == NULL)
		return STORE_NO_MEMORY;
	err = read_blocks(sums, store, row, from, bytes, (size_t)(end - from));
	if (err == STORE_OK)
		memcpy(to, bytes + (offset - from), *len);
	free(bytes);
	return err;
}

void
artifact_sums_free(struct artifact_sums **sums)
{
	free(*sums);
	*sums = NULL;
}
