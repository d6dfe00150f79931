#include <stdlib.h>
#include <string.h>

#include "common/ulid.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void
ulid_set_time(struct ulid *id, int64_t ms)
{
	for (int i = 5; i >= 0; i--) {
		id->b[i] = (uint8_t)(ms & 0xff);
		ms >>= 8;
	}
}

int64_t
ulid_time_ms(const struct ulid *id)
{
	int64_t ms = 0;

	for (int i = 0; i < 6; i++)
		ms = ms << 8 | id->b[i];
	return ms;
}

struct ulid
ulid_new(int64_t now_ms)
{
	static struct ulid last;
	struct ulid id;

	if (now_ms > ulid_time_ms(&last)) {
		ulid_set_time(&id, now_ms);
		arc4random_buf(id.b + 6, sizeof(id.b) - 6);
		id.b[6] &= 0x7f; /* room to count up within one ms */
	} else {
		id = last;
		for (int i = ULID_BYTES - 1; i >= 0 && ++id.b[i] == 0; i--)
			;
	}
	last = id;
	return id;
}

void
ulid_format(const struct ulid *id, char ret_text[ULID_CHARS + 1])
{
	uint64_t high = 0, low = 0;

	for (int i = 0; i < ULID_BYTES / 2; i++) {
		high = high << 8 | id->b[i];
		low = low << 8 | id->b[ULID_BYTES / 2 + i];
	}
	ret_text[ULID_CHARS] = '\0';
	/* 26 * 5 = 130 bits: two zero bits lead. */
	for (int c = ULID_CHARS - 1; c >= 0; c--) {
		ret_text[c] = alphabet[low & 31];
		low = low >> 5 | high << 59;
		high >>= 5;
	}
}

bool
ulid_parse(const char *text, struct ulid *ret_id)
{
	struct ulid id = { { 0 } };
	const char *p;

	if (strlen(text) != ULID_CHARS || text[0] > '7')
		return false;
	for (int c = 0; c < ULID_CHARS; c++) {
		p = strchr(alphabet, text[c]);
		if (p == NULL || *p == '\0')
			return false;
		for (int k = 0; k < 5; k++) {
			int bit = c * 5 - 2 + k;

			if (bit >= 0 && ((p - alphabet) >> (4 - k) & 1) != 0)
				id.b[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		}
	}
	*ret_id = id;
	return true;
}
