/*
 * MessagePack values: the public test suite, limits, truncation, claims that
 * lie, and msgpack-c as the second opinion on mutated bytes.
 */
#include <math.h>
#include <stdlib.h>

#include <msgpack.h>

#include "common/buf.h"
#include "ipc/mp.h"
#include "ipc/scan.h"
#include "json/tape.h"
#include "t/unit/tap.h"

/* Bytes of "c4-01-ff". */
static size_t
unhex(const char *hex, uint8_t *out, size_t size)
{
	size_t n = 0;

	while (*hex != '\0' && n < size) {
		char two[3] = { hex[0], hex[1], '\0' };

		out[n++] = (uint8_t)strtoul(two, NULL, 16);
		hex += hex[2] == '-' ? 3 : 2;
	}
	return n;
}

static bool same_value(struct mp_reader *, struct json_val, const char *type);

static bool
same_map(struct mp_reader *r, struct json_val want)
{
	struct json_iter it = json_iter(want);
	const char *key;
	size_t len;
	uint32_t n;

	if (!mp_get_map(r, &n) || n != json_len(want))
		return false;
	while (json_iter_next(&it))
		if (!mp_get_str(r, &key, &len) ||
		    !json_str_eqn(it.key, key, len) ||
		    !same_value(r, it.val, ""))
			return false;
	return true;
}

static bool
same_array(struct mp_reader *r, struct json_val want)
{
	uint32_t n;

	if (!mp_get_array(r, &n) || n != json_len(want))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!same_value(r, json_arr_get(want, i), ""))
			return false;
	return true;
}

static bool
same_bytes(struct mp_reader *r, struct json_val want)
{
	uint8_t raw[64];
	char hex[256] = "";
	const void *got;
	size_t len;

	json_str_copy(want, hex, sizeof(hex));
	return mp_get_bin(r, &got, &len) &&
	    len == unhex(hex, raw, sizeof(raw)) && memcmp(got, raw, len) == 0;
}

/* Numbers beyond int64_t are given as text. */
static bool
same_bignum(struct mp_reader *r, struct json_val want)
{
	char text[64] = "";
	uint64_t u = 0;
	int64_t i = 0;
	double d = 0;

	json_str_copy(want, text, sizeof(text));
	if (mp_peek(r) == MP_DOUBLE)
		return mp_get_double(r, &d) && d == strtod(text, NULL);
	if (mp_peek(r) == MP_UINT)
		return mp_get_uint(r, &u) && u == strtoull(text, NULL, 10);
	return mp_get_int(r, &i) && i == strtoll(text, NULL, 10);
}

static bool
same_number(struct mp_reader *r, struct json_val want)
{
	struct mp_reader again = *r;
	int64_t i = 0, wi = 0;
	double d = 0, wd = 0;

	json_get_double(want, &wd);
	if (mp_peek(r) == MP_DOUBLE)
		return mp_get_double(r, &d) && d == wd;
	return json_get_int64(want, &wi) && mp_get_int(r, &i) && i == wi &&
	    mp_get_double(&again, &d) && d == wd;
}

static bool
same_value(struct mp_reader *r, struct json_val want, const char *type)
{
	const char *text;
	size_t len;
	bool b, wb;

	if (strcmp(type, "binary") == 0)
		return same_bytes(r, want);
	if (strcmp(type, "bignum") == 0)
		return same_bignum(r, want);
	switch (json_type_of(want)) {
	case JSON_NULL:
		return mp_get_nil(r);
	case JSON_BOOL:
		return mp_get_bool(r, &b) && json_get_bool(want, &wb) &&
		    b == wb;
	case JSON_NUMBER:
		return same_number(r, want);
	case JSON_STRING:
		return mp_get_str(r, &text, &len) &&
		    json_str_eqn(want, text, len);
	case JSON_ARRAY:
		return same_array(r, want);
	case JSON_OBJECT:
		return same_map(r, want);
	default:
		return false;
	}
}

/* Every cut of well-formed bytes is refused, one byte more, too. */
static bool
cuts_refused(const uint8_t *bytes, size_t len)
{
	struct mp_reader r;
	uint8_t copy[512];

	memcpy(copy, bytes, len);
	copy[len] = 0;
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *tight = malloc(cut + 1); /* for the sanitizer */
		bool bad;

		memcpy(tight, bytes, cut);
		mp_reader_init(&r, tight, cut);
		bad = ipc_scan(tight, cut, IPC_DEPTH_MAX) == SCAN_OK ||
		    mp_skip(&r);
		free(tight);
		if (bad)
			return false;
	}
	return ipc_scan(copy, len + 1, IPC_DEPTH_MAX) == SCAN_LONG;
}

static void
one_vector(struct json_val test, const char *type, int *ret_ok, int *ret_ext)
{
	struct json_iter it = json_iter(json_obj_get(test, "msgpack"));
	bool ext = strcmp(type, "ext") == 0 || strcmp(type, "timestamp") == 0;
	uint8_t bytes[512];
	char hex[1600];
	struct mp_reader r;
	size_t len;

	while (json_iter_next(&it)) {
		json_str_copy(it.val, hex, sizeof(hex));
		len = unhex(hex, bytes, sizeof(bytes) - 1);
		mp_reader_init(&r, bytes, len);
		if (ext) {
			*ret_ext += mp_peek(&r) == MP_EXT && mp_skip(&r) &&
			    mp_done(&r) &&
			    ipc_scan(bytes, len, IPC_DEPTH_MAX) == SCAN_EXT;
			continue;
		}
		if (ipc_scan(bytes, len, IPC_DEPTH_MAX) == SCAN_OK &&
		    same_value(&r, json_obj_get(test, type), type) &&
		    mp_done(&r) && cuts_refused(bytes, len))
			(*ret_ok)++;
		else
			printf("# %s %s\n", type, hex);
	}
}

static char *
slurp(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "r");
	struct buf b;
	uint8_t *room;

	if (f == NULL)
		return NULL;
	buf_init(&b, 1 << 20);
	while ((room = buf_reserve(&b, 4096)) != NULL) {
		size_t n = fread(room, 1, 4096, f);

		if (n == 0)
			break;
		b.len += n;
	}
	fclose(f);
	return (char *)buf_take(&b, ret_len);
}

static void
test_vectors(void)
{
	const char *dir = getenv("vectors");
	char path[4096], type[32];
	int good = 0, ext = 0;
	struct json_doc *doc = NULL;
	struct json_iter files, tests, keys;
	size_t len = 0;
	char *text;

	snprintf(path, sizeof(path), "%s/msgpack/dist/msgpack-test-suite.json",
	    dir == NULL ? "." : dir);
	text = slurp(path, &len);
	if (text == NULL) {
		tap_skip("kawanet's msgpack-test-suite", "not there");
		return;
	}
	json_parse((uint8_t *)text, len, NULL, 0, &doc, NULL);
	files = json_iter(json_root(doc));
	while (json_iter_next(&files))
		for (tests = json_iter(files.val); json_iter_next(&tests);) {
			type[0] = '\0';
			keys = json_iter(tests.val);
			/* A bignum's text is exact, its number may not be. */
			while (json_iter_next(&keys))
				if (!json_str_eq(keys.key, "msgpack") &&
				    strcmp(type, "bignum") != 0)
					json_str_copy(
					    keys.key, type, sizeof(type));
			one_vector(tests.val, type, &good, &ext);
		}
	json_doc_free(&doc);
	free(text);
	is_int(good, 203, "every vector of a type we have reads as it should");
	is_int(ext, 30, "every ext is skipped by the reader, not by the scan");
}

static void
test_round_trip(void)
{
	static const int64_t ints[] = { 0, 1, 127, 128, 255, 256, 65535, 65536,
		UINT32_MAX, INT64_C(4294967296), INT64_MAX, -1, -32, -33, -128,
		-129, -32768, -32769, INT32_MIN, INT64_C(-2147483649),
		INT64_MIN };
	struct mp_reader r;
	struct buf b;
	uint64_t u;
	int64_t i;
	double d;
	int bad = 0;

	buf_init(&b, 1 << 20);
	for (size_t n = 0; n < sizeof(ints) / sizeof(ints[0]); n++) {
		buf_reset(&b);
		mp_put_int(&b, ints[n]);
		mp_reader_init(&r, b.data, b.len);
		if (!mp_get_int(&r, &i) || i != ints[n] || !mp_done(&r))
			bad++;
	}
	is_int(bad, 0, "integers at all borders");
	buf_reset(&b);
	mp_put_uint(&b, UINT64_MAX);
	mp_put_double(&b, -1.5);
	mp_put_uint(&b, UINT64_MAX);
	mp_reader_init(&r, b.data, b.len);
	ok(mp_peek(&r) == MP_UINT && mp_get_uint(&r, &u) && u == UINT64_MAX,
	    "the greatest unsigned");
	ok(mp_get_double(&r, &d) && d == -1.5, "a double");
	i = 7;
	ok(!mp_get_int(&r, &i) && i == 7, "too great for int64_t: untouched");
	ok(r.failed && !mp_done(&r) && mp_peek(&r) == MP_BAD,
	    "a failure sticks");
	buf_reset(&b);
	mp_put_int(&b, -1);
	mp_reader_init(&r, b.data, b.len);
	ok(!mp_get_uint(&r, &u), "a negative is no unsigned");
	mp_reader_init(&r, NULL, 0);
	ok(mp_peek(&r) == MP_END && mp_done(&r), "no bytes: the end");
	buf_clear(&b);
	buf_init(&b, 4);
	ok(!mp_put_cstr(&b, "12345") && b.failed && b.len == 0,
	    "text that does not fit leaves no header behind");
	buf_clear(&b);
}

static void
test_scan_limits(void)
{
	static const struct {
		const char *hex;
		enum scan_result want;
		const char *name;
	} rows[] = {
		{ "", SCAN_CUT, "nothing" },
		{ "c1", SCAN_RESERVED, "the reserved byte" },
		{ "dd-04-00-00-00", SCAN_CUT, "67 million entries" },
		{ "dd-ff-ff-ff-ff-c0", SCAN_CUT, "4 billion entries" },
		{ "df-80-00-00-00-c0", SCAN_CUT, "2 billion pairs" },
		{ "c6-ff-ff-ff-ff-00", SCAN_CUT, "4 GiB of bytes" },
		{ "db-ff-ff-ff-ff-00", SCAN_CUT, "4 GiB of text" },
		{ "92-dd-00-00-00-02-c0-c0", SCAN_CUT, "claims that add up" },
		{ "c0-c0", SCAN_LONG, "two values" },
		{ "a2-c3-28", SCAN_UTF8, "a bad continuation" },
		{ "a3-ed-a0-80", SCAN_UTF8, "a surrogate" },
		{ "a2-c0-80", SCAN_UTF8, "an overlong NUL" },
		{ "a3-e0-80-80", SCAN_UTF8, "an overlong form of 3" },
		{ "a4-f0-80-80-80", SCAN_UTF8, "an overlong form of 4" },
		{ "a4-f4-90-80-80", SCAN_UTF8, "above U+10FFFF" },
		{ "a1-e4", SCAN_UTF8, "a cut character" },
		{ "a4-f4-8f-bf-bf", SCAN_OK, "U+10FFFF" },
		{ "a3-e4-bd-a0", SCAN_OK, "a character of 3 bytes" },
		{ "d4-00-00", SCAN_EXT, "an ext" },
		{ "91-d4", SCAN_CUT, "a cut ext" },
	};
	uint8_t bytes[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = unhex(rows[i].hex, bytes, sizeof(bytes));

		is_int(ipc_scan(bytes, len, IPC_DEPTH_MAX), rows[i].want,
		    rows[i].name);
	}
	for (unsigned deep = 1; deep < 40; deep += 15) {
		memset(bytes, 0x91, deep);
		bytes[deep] = 0xc0;
		ok(ipc_scan(bytes, deep + 1, IPC_DEPTH_MAX) ==
			(deep <= 16 ? SCAN_OK : SCAN_DEPTH),
		    "%u arrays in each other", deep);
	}
	memset(bytes, 0x91, 17);
	bytes[17] = 0xc0;
	is_int(ipc_scan(bytes, 18, IPC_DEPTH_MAX), SCAN_DEPTH, "17 arrays");
	is_int(ipc_scan("\xc0", 1, 0), SCAN_OK, "depth 0 takes a scalar");
	is_int(ipc_scan("\x90", 1, 0), SCAN_DEPTH, "and no array");
	for (int rc = 0; rc < SCAN__MAX; rc++)
		ok(ipc_scan_text((enum scan_result)rc)[0] != '\0',
		    "result %d has words", rc);
}

static uint32_t seed = 20251121;

static uint32_t
rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void
put_random(struct buf *b, unsigned depth)
{
	static const char text[] = "key value \xe4\xbd\xa0";
	uint32_t n = rnd(5), kind = rnd(depth == 0 ? 6 : 8);

	if (kind == 0)
		mp_put_nil(b);
	else if (kind == 1)
		mp_put_bool(b, n > 2);
	else if (kind == 2)
		mp_put_int(b, (int64_t)rnd(1u << 24) * rnd(1u << 24) - 4096);
	else if (kind == 3)
		mp_put_double(b, rnd(1000) / 7.0);
	else if (kind == 4)
		mp_put_str(b, text, sizeof(text) - 1);
	else if (kind == 5)
		mp_put_bin(b, text, n);
	else if (kind == 6)
		mp_put_array(b, n);
	else
		mp_put_map(b, n);
	for (uint32_t i = 0; kind > 5 && i < n * (kind - 5); i++)
		put_random(b, depth - 1);
}

/* What the scan accepts msgpack-c unpacks, and what is cut it does not. */
static void
test_second_opinion(void)
{
	int accepted = 0, wrong = 0;
	struct buf b;

	buf_init(&b, 1 << 16);
	for (int i = 0; i < 10000; i++) {
		size_t off = 0;
		msgpack_unpacked u;
		enum scan_result rc;
		struct mp_reader r;

		buf_reset(&b);
		put_random(&b, 4);
		for (uint32_t n = rnd(4); n > 0; n--)
			b.data[rnd((uint32_t)b.len)] = (uint8_t)rnd(256);
		if (rnd(8) == 0)
			b.len = rnd((uint32_t)b.len + 1);
		rc = ipc_scan(b.data, b.len, IPC_DEPTH_MAX);
		mp_reader_init(&r, b.data, b.len);
		if (rc == SCAN_OK && (!mp_skip(&r) || !mp_done(&r)))
			wrong++;
		if (rc != SCAN_OK)
			continue;
		accepted++;
		msgpack_unpacked_init(&u);
		if (msgpack_unpack_next(&u, (char *)b.data, b.len, &off) !=
			MSGPACK_UNPACK_SUCCESS ||
		    off != b.len)
			wrong++;
		msgpack_unpacked_destroy(&u);
	}
	ok(accepted > 2000 && accepted < 9000, "%d of 10000 accepted",
	    accepted);
	is_int(wrong, 0, "msgpack-c agrees with all of them");
	buf_clear(&b);
}

int
main(void)
{
	test_vectors();
	test_round_trip();
	test_scan_limits();
	test_second_opinion();
	return done_testing();
}
