/*
 * Every row of the message table: good, cut, too long, with unknown, missing,
 * doubled, mistyped and out-of-range fields, in wrong phases and directions;
 * then mutated bytes. A new row is covered by being in the table.
 */
#include <stdlib.h>

#include "ipc/mp.h"
#include "ipc/msg.h"
#include "t/unit/tap.h"

static uint8_t filler[LIMIT_FRAME_BYTES];
static int covered[MSG__MAX];
static bool field_covered[MSG__MAX][F__MAX];

/* How the bytes of a message are to be wrong. */
enum twist {
	GOOD,
	LEAST,   /* required fields only */
	UNKNOWN, /* one field more */
	TWICE,   /* the first field again */
	MISSING, /* one field less */
	MISTYPED,
	LOW, /* a value below its least, or a text with a NUL */
	HIGH /* a value above its greatest */
};

static void
put_str_or_bin(struct buf *b, const struct msg_field *f, size_t len)
{
	if (f->type == FIELD_STR)
		mp_put_str(b, (const char *)filler, len);
	else
		mp_put_bin(b, filler, len);
}

static void
put_field(struct buf *b, const struct msg_field *f, enum twist t)
{
	bool bytes = f->type <= FIELD_JSON;

	mp_put_cstr(b, msg_key_name(f->key));
	if (t == MISTYPED && f->type == FIELD_STR)
		mp_put_bin(b, "x", 1);
	else if (t == MISTYPED && bytes)
		mp_put_str(b, "x", 1);
	else if (t == MISTYPED && f->type == FIELD_INT)
		mp_put_double(b, (double)f->min);
	else if (t == MISTYPED)
		mp_put_int(b, 1);
	else if (t == LOW && f->type == FIELD_STR)
		mp_put_str(b, "a\0b", 3);
	else if (t == LOW && bytes)
		put_str_or_bin(b, f, (size_t)f->min - 1);
	else if (t == HIGH && bytes)
		put_str_or_bin(b, f, (size_t)f->max + 1);
	else if (bytes)
		put_str_or_bin(b, f, (size_t)(f->min > 0 ? f->min : 1));
	else if (f->type == FIELD_INT)
		mp_put_int(b,
		    t == LOW        ? f->min - 1
			: t == HIGH ? f->max + 1
				    : f->max);
	else
		mp_put_bool(b, true);
}

static void
put_head(struct buf *b, const struct msg_row *row)
{
	buf_reset(b);
	mp_put_array(b, row->kind == MSG_KIND_NOTE ? 3 : 4);
	mp_put_int(b,
	    row->kind == MSG_KIND_REQ          ? 0
		: row->kind == MSG_KIND_ANSWER ? 1
					       : 2);
	if (row->kind != MSG_KIND_NOTE)
		mp_put_int(b, 77);
	if (row->kind == MSG_KIND_ANSWER)
		mp_put_nil(b);
	else
		mp_put_cstr(b, row->name);
}

/* A message whose field number at is twisted. */
static void
make(struct buf *b, const struct msg_row *row, enum twist t, size_t at)
{
	size_t nfields = msg_nfields(row);
	uint32_t n = 0;

	for (size_t i = 0; i < nfields; i++)
		n += t == LEAST    ? row->fields[i].required
		    : t == MISSING ? i != at
				   : 1;
	n += t == UNKNOWN || t == TWICE;
	put_head(b, row);
	mp_put_map(b, n);
	for (size_t i = 0; i < nfields; i++) {
		if ((t == LEAST && !row->fields[i].required) ||
		    (t == MISSING && i == at))
			continue;
		put_field(b, &row->fields[i], i == at ? t : GOOD);
	}
	if (t == TWICE)
		put_field(b, &row->fields[at], GOOD);
	if (t == UNKNOWN) {
		mp_put_cstr(b, "later");
		mp_put_array(b, 2);
		mp_put_nil(b);
		mp_put_cstr(b, "x");
	}
}

static enum ipc_phase
first_phase(const struct msg_row *row)
{
	return (enum ipc_phase)(row->phases & -row->phases);
}

/* Decodes a tight copy, so that the sanitizer sees a step too far. */
static enum ipc_verdict
decode_as(const void *bytes, size_t len, enum ipc_dir dir, enum ipc_phase phase,
    struct ipc_msg *ret_msg)
{
	struct ipc_gate gate = { dir, phase, true };
	char reason[IPC_REASON_MAX] = "";
	uint8_t *copy = malloc(len + 1);
	enum ipc_verdict v;

	if (len > 0)
		memcpy(copy, bytes, len);
	copy[len] = 0xee;
	v = ipc_decode(&gate, copy, len, ret_msg, reason);
	if ((v == IPC_OK) != (reason[0] == '\0'))
		v = IPC_BROKEN;
	free(copy);
	return v;
}

static enum ipc_verdict
decode(const struct buf *b, const struct msg_row *row)
{
	struct ipc_msg m;

	return decode_as(b->data, b->len, row->dir, first_phase(row), &m);
}

/* The verdict for a well-formed message that is wrong. */
static enum ipc_verdict
wrong(const struct msg_row *row)
{
	return row->kind == MSG_KIND_REQ ? IPC_REFUSED : IPC_BROKEN;
}

static bool
same_params(const struct msg_row *row, const struct ipc_params *p)
{
	const struct msg_field *f = row->fields;

	for (size_t i = 0; i < msg_nfields(row); i++, f++) {
		const void *bytes;
		const char *s;
		size_t len, want = (size_t)(f->min > 0 ? f->min : 1);

		field_covered[row->id][f->key] = true;
		if (!ipc_has(p, f->key))
			return false;
		switch (f->type) {
		case FIELD_STR:
			s = ipc_str(p, f->key);
			if (strlen(s) != want || memcmp(s, filler, want) != 0)
				return false;
			break;
		case FIELD_BIN:
		case FIELD_JSON:
			bytes = ipc_bin(p, f->key, &len);
			if (len != want || memcmp(bytes, filler, len) != 0 ||
			    ((const char *)bytes)[len] != '\0')
				return false;
			break;
		case FIELD_INT:
			if (ipc_int(p, f->key, -7) != f->max)
				return false;
			break;
		case FIELD_BOOL:
			if (!ipc_bool(p, f->key, false))
				return false;
			break;
		}
	}
	return true;
}

static void
test_good(const struct msg_row *row, struct buf *b)
{
	struct ipc_gate gate = { row->dir, first_phase(row), true };
	char reason[IPC_REASON_MAX];
	struct buf again;
	struct ipc_msg m;
	bool good;

	make(b, row, GOOD, SIZE_MAX);
	b->data[b->len] = 0xee;
	buf_init(&again, LIMIT_FRAME_BYTES);
	/* What we encode from the decoded values are the same bytes. */
	uint8_t *copy = malloc(b->len + 1);
	memcpy(copy, b->data, b->len);
	good = ipc_decode(&gate, copy, b->len, &m, reason) == IPC_OK &&
	    m.params.msg == row->id && same_params(row, &m.params) &&
	    m.seq == (row->kind == MSG_KIND_NOTE ? 0 : 77);
	if (row->kind == MSG_KIND_REQ)
		good = good && ipc_encode_request(&again, 77, &m.params, NULL);
	else if (row->kind == MSG_KIND_NOTE)
		good = good && ipc_encode_note(&again, &m.params, NULL);
	else
		good = good && ipc_encode_answer(&again, 77, &m.params, NULL);
	ok(good && again.len == b->len &&
		memcmp(again.data, b->data, b->len) == 0,
	    "%s: decodes, and encodes to the same bytes", row->name);
	free(copy);
	buf_clear(&again);
	make(b, row, LEAST, SIZE_MAX);
	is_int(decode(b, row), IPC_OK, "with required fields only");
	covered[row->id]++;
}

static void
test_cut(const struct msg_row *row, struct buf *b)
{
	enum ipc_phase phase = first_phase(row);
	struct ipc_msg m;
	int accepted = 0;

	make(b, row, GOOD, SIZE_MAX);
	for (size_t cut = 0; cut < b->len; cut++)
		accepted +=
		    decode_as(b->data, cut, row->dir, phase, &m) != IPC_BROKEN;
	is_int(accepted, 0, "cut at every byte: broken");
	buf_add(b, "\xc0", 1);
	is_int(decode(b, row), IPC_BROKEN, "one value too many: broken");
}

static void
test_fields(const struct msg_row *row, struct buf *b)
{
	bool strict = ipc_is_packets(row->dir);
	size_t n = msg_nfields(row);
	int bad = 0;

	make(b, row, UNKNOWN, SIZE_MAX);
	is_int(decode(b, row), strict ? IPC_BROKEN : IPC_OK,
	    strict ? "an unknown field is refused" : "unknown fields pass");
	for (size_t i = 0; i < n; i++) {
		const struct msg_field *f = &row->fields[i];

		make(b, row, MISSING, i);
		bad += decode(b, row) != (f->required ? wrong(row) : IPC_OK);
		make(b, row, TWICE, i);
		bad += decode(b, row) != IPC_BROKEN;
		make(b, row, MISTYPED, i);
		bad += decode(b, row) != wrong(row);
		if (f->type == FIELD_BOOL)
			continue;
		if (f->type == FIELD_STR || f->type == FIELD_INT ||
		    f->min > 0) {
			make(b, row, LOW, i);
			bad += decode(b, row) != wrong(row);
		}
		make(b, row, HIGH, i);
		bad += decode(b, row) != wrong(row);
		if (bad != 0)
			printf("# %s\n", msg_key_name(f->key));
	}
	is_int(bad, 0, "missing, doubled, mistyped, out of range: as due");
}

static void
test_gates(const struct msg_row *row, struct buf *b)
{
	struct ipc_msg m;
	int bad = 0;

	make(b, row, GOOD, SIZE_MAX);
	for (unsigned phase = PEER_HELLO; phase <= PEER_ENDED; phase *= 2)
		bad +=
		    (decode_as(b->data, b->len, row->dir, (enum ipc_phase)phase,
			 &m) == IPC_OK) != ((row->phases & phase) != 0);
	is_int(bad, 0, "permitted in its phases and in no other");
	for (int dir = 0; dir < IPC_DIR__MAX; dir++) {
		if ((enum ipc_dir)dir == row->dir)
			continue;
		bad += decode_as(b->data, b->len, (enum ipc_dir)dir,
			   first_phase(row), &m) == IPC_OK &&
		    msg_find((enum ipc_dir)dir, row->kind, row->name,
			strlen(row->name)) == NULL;
	}
	is_int(bad, 0, "refused when it comes from another side");
}

/* Filled up to its limit with unknown fields, and beyond. */
static void
test_long(const struct msg_row *row, struct buf *b)
{
	size_t pad;

	if (ipc_is_packets(row->dir))
		return;
	make(b, row, UNKNOWN, SIZE_MAX);
	/* The unknown value's last text, as a bin with a header of 5 bytes. */
	for (int over = 0; over < 2; over++) {
		make(b, row, UNKNOWN, SIZE_MAX);
		b->len -= 2;
		pad = row->max_bytes + (size_t)over - b->len - 5;
		if (pad <= UINT16_MAX)
			pad += 2;
		mp_put_bin(b, filler, pad);
		is_int(decode(b, row), over ? wrong(row) : IPC_OK,
		    over ? "one byte above its limit" : "as long as allowed");
	}
}

static void
test_garbage(void)
{
	static const char *const rows[] = { "\x90", "\x93\x00\x01\x80",
		"\x94\x03\x01\xa1x\x80", "\x94\x00\xff\xa1x\x80",
		"\x94\x00\x01\x05\x80", "\x94\xc2\x01\xa1x\x80",
		"\x94\x00\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\xa1x\x80",
		"\x93\x02\xc0\x80", "\x94\x01\x01\xc0\xc0",
		"\x94\x01\x01\xc4\x01x\xc4\x01x", "\x94\x01\x01\xa1x\xc0",
		"\x94\x01\x01\xc0\xa1x", "\x80", "\xc0",
		"\x95\x00\x01\xa1x\x80\xc0" };
	struct ipc_msg m;
	int bad = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int dir = 0; dir < IPC_DIR__MAX; dir++)
			for (unsigned ph = 1; ph <= PEER_ENDED; ph *= 2)
				bad += decode_as(rows[i], strlen(rows[i]),
					   (enum ipc_dir)dir,
					   (enum ipc_phase)ph, &m) == IPC_OK;
	is_int(bad, 0, "malformed envelopes are never accepted");
	is_int(decode_as("\x94\0\5\xa4nope\x80", 9, IPC_IN, PEER_READY, &m),
	    IPC_REFUSED, "a client's unknown method can be answered");
	ok(m.seq == 5 && m.params.msg == MSG__MAX, "by its number");
	is_int(decode_as("\x94\0\5\xa4nope\x80", 9, IPC_IN, PEER_HELLO, &m),
	    IPC_BROKEN, "but not before hello");
	is_int(decode_as("\x93\2\xa4nope\x80", 8, IPC_OUT, PEER_READY, &m),
	    IPC_IGNORED, "a newer server's notification is skipped");
	is_int(decode_as("\x93\2\xa4nope\x80", 8, IPC_UP, PEER_RUN, &m),
	    IPC_BROKEN, "a worker's is not");
	is_int(decode_as("\x94\0\5\xa7run.get\x90", 12, IPC_IN, PEER_READY, &m),
	    IPC_REFUSED, "params that are no map");
	is_int(decode_as(
		   "\x94\0\5\xa7run.get\x81\1\1", 14, IPC_IN, PEER_READY, &m),
	    IPC_BROKEN, "a key that is no text");
	is_int(decode_as("\x94\0\5\xa7run.get\x82\xa1x\1\xa1x\1", 18, IPC_IN,
		   PEER_READY, &m),
	    IPC_BROKEN, "an unknown key that comes twice");
}

static void
test_responses(void)
{
	struct ipc_gate gate = { IPC_OUT, PEER_READY, false };
	char reason[IPC_REASON_MAX];
	struct ipc_msg m;
	struct buf b;

	buf_init(&b, LIMIT_FRAME_BYTES);
	ipc_encode_result(&b, 9, "{\"a\":1}", 7);
	buf_reserve(&b, 1);
	ok(ipc_decode(&gate, b.data, b.len, &m, reason) == IPC_OK &&
		m.form == IPC_RESPONSE && m.seq == 9 && m.error == NULL &&
		m.result_len == 7 && strcmp(m.result, "{\"a\":1}") == 0,
	    "a result");
	buf_reset(&b);
	ipc_encode_error(&b, UINT32_MAX, "[]", 2);
	ok(ipc_decode(&gate, b.data, b.len, &m, reason) == IPC_OK &&
		m.seq == UINT32_MAX && m.result == NULL &&
		strcmp(m.error, "[]") == 0,
	    "an error");
	buf_reset(&b);
	ok(!ipc_encode_result(&b, 9, filler, sizeof(filler)) && b.len == 0,
	    "a document that does not fit a frame");
	buf_clear(&b);
}

static void
test_encode_refuses(void)
{
	char reason[IPC_REASON_MAX] = "";
	struct ipc_params p;
	struct buf b;

	buf_init(&b, LIMIT_FRAME_BYTES);
	ipc_params_init(&p, MSG_S_ITEM_END);
	ipc_set_int(&p, F_INDEX, 1);
	ok(!ipc_encode_note(&b, &p, reason) && b.len == 0,
	    "a missing field is not sent");
	is_str(reason, "item.end: missing field: digest", "and named");
	ipc_set_bin(&p, F_DIGEST, "1234567", 7);
	ipc_set_bool(&p, F_SUCCESS, true);
	ipc_set_bin(&p, F_RECORD, "{}", 2);
	ipc_set_int(&p, F_DONE, 1);
	ok(!ipc_encode_note(&b, &p, reason), "nor a value out of range");
	is_str(reason, "item.end: value out of range: digest", "named, too");
	ipc_set_bin(&p, F_DIGEST, "12345678", 8);
	ok(ipc_encode_note(&b, &p, NULL), "a good one is");
	buf_clear(&b);
	buf_init(&b, 16);
	ok(!ipc_encode_note(&b, &p, reason) && b.len == 0,
	    "nor what the buffer cannot hold");
	buf_clear(&b);
}

/* Seeded damage: a verdict for everything, and no accepted nonsense. */
static void
test_mutations(struct buf *b)
{
	int verdicts[4] = { 0 };
	uint32_t seed = 7;
	struct ipc_msg m;

	for (int i = 0; i < 10000; i++) {
		const struct msg_row *row =
		    msg_row((enum msg_id)(i % MSG__MAX));

		make(b, row, GOOD, SIZE_MAX);
		for (int n = 0; n <= i % 3; n++) {
			seed = seed * 1664525 + 1013904223;
			b->data[(seed >> 8) % b->len] = (uint8_t)(seed >> 4);
		}
		verdicts[decode_as(
		    b->data, b->len, row->dir, first_phase(row), &m)]++;
	}
	ok(verdicts[IPC_OK] > 100 && verdicts[IPC_BROKEN] > 1000,
	    "10,000 mutations: %d read, %d refused, %d ignored, %d broken",
	    verdicts[0], verdicts[1], verdicts[2], verdicts[3]);
}

int
main(void)
{
	int rows = 0, fields = 0, want = 0;
	struct buf b;

	memset(filler, 'x', sizeof(filler));
	buf_init(&b, 2 * LIMIT_FRAME_BYTES);
	for (int i = 0; i < MSG__MAX; i++) {
		const struct msg_row *row = msg_row((enum msg_id)i);

		test_good(row, &b);
		test_cut(row, &b);
		test_fields(row, &b);
		test_gates(row, &b);
		test_long(row, &b);
		rows += covered[i];
		want += (int)msg_nfields(row);
		for (int k = 0; k < F__MAX; k++)
			fields += field_covered[i][k];
		ok(row->help[0] != '\0' &&
			msg_find(row->dir, row->kind, row->name,
			    strlen(row->name)) == row,
		    "%s: explained, and found by its name", row->name);
	}
	is_int(rows, MSG__MAX, "every message of the table was tried");
	is_int(fields, want, "every field of the table was tried");
	test_garbage();
	test_responses();
	test_encode_refuses();
	test_mutations(&b);
	buf_clear(&b);
	return done_testing();
}
