/* Unit tests of common/: ids, buffers, base64, clocks, descriptor passing,
 * held log lines. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/distance.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/ulid.h"
#include "t/unit/tap.h"

static void
test_ulid(void)
{
	struct ulid a = ulid_new(1469918176385), b, c;
	char text[ULID_CHARS + 1], prev[ULID_CHARS + 1];
	bool rising = true;

	ulid_format(&a, text);
	ok(strncmp(text, "01ARYZ6S41", 10) == 0, "time part as in the spec");
	ok(ulid_parse(text, &b) && memcmp(&a, &b, sizeof(a)) == 0,
	    "parse gives back what format wrote");
	is_int(ulid_time_ms(&a), 1469918176385, "time comes back");
	for (int i = 0; i < 10000; i++) {
		memcpy(prev, text, sizeof(prev));
		c = ulid_new(1469918176385 - i);
		ulid_format(&c, text);
		rising = rising && strcmp(prev, text) < 0;
	}
	ok(rising, "10,000 ids rise though the clock runs backwards");
	ok(!ulid_parse("8ZZZZZZZZZZZZZZZZZZZZZZZZZ", &b), "overflow refused");
	ok(!ulid_parse("01ARYZ6S41", &b), "short text refused");
	ok(!ulid_parse("01ARYZ6S41TSV4RRFFQ69G5FAI", &b), "letter I refused");
}

static void
test_buf(void)
{
	struct buf b;
	uint8_t *bytes;
	size_t len;

	buf_init(&b, 10);
	ok(buf_addf(&b, "%s-%d", "ab", 42) && b.len == 5, "formatted append");
	ok(buf_add_str(&b, "12345"), "fills up to its limit");
	ok(!buf_add_str(&b, "x") && b.failed && b.len == 10,
	    "an append beyond the limit changes nothing and is remembered");
	b.failed = false;
	bytes = buf_take(&b, &len);
	ok(bytes != NULL && len == 10 &&
		strcmp((char *)bytes, "ab-4212345") == 0,
	    "taken bytes are NUL-terminated");
	free(bytes);
	ok(b.data == NULL && b.max == 10, "an emptied buffer keeps its limit");
	buf_init_secret(&b, 1 << 20);
	for (int i = 0; i < 10000; i++)
		buf_addf(&b, "%d,", i);
	ok(b.len == 48890 && memcmp(b.data + b.len - 5, "9999,", 5) == 0,
	    "a secret buffer grows");
	buf_reset(&b);
	ok(b.len == 0 && b.data[0] == 0 && b.data[48889] == 0,
	    "its bytes are wiped when they are forgotten");
	buf_clear(&b);
	ok(b.secret && b.data == NULL, "and it stays secret");
}

static void
test_base64(void)
{
	static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" },
		{ "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" } };
	static const char *const bad[] = { "Zg=", "Zg",
		"Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zg==Zg==", "Zm-v" };
	struct buf b;

	buf_init(&b, 1000);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		buf_reset(&b);
		base64_encode(
		    &b, (const uint8_t *)pairs[i][0], strlen(pairs[i][0]));
		ok(b.len == strlen(pairs[i][1]) &&
			memcmp(b.data, pairs[i][1], b.len) == 0,
		    "encodes \"%s\"", pairs[i][0]);
		buf_reset(&b);
		ok(base64_decode(&b, pairs[i][1], strlen(pairs[i][1])) &&
			b.len == strlen(pairs[i][0]) &&
			memcmp(b.data, pairs[i][0], b.len) == 0,
		    "decodes \"%s\"", pairs[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!base64_decode(&b, bad[i], strlen(bad[i])),
		    "refuses bad input %zu", i);
	buf_clear(&b);
}

static void
test_clock(void)
{
	int64_t a = clock_stamp_ms(), b, began;

	ok(a > 1700000000000, "a stamp is Unix milliseconds");
	clock_set_floor(a + 100000);
	began = clock_mono_ms();
	b = clock_stamp_ms();
	ok(b >= a + 100000 && b <= a + 101000, "never below the floor");
	clock_set_floor(a);
	ok(clock_stamp_ms() >= b, "one that is lower changes nothing");
	while (clock_mono_ms() < began + 50)
		;
	ok(clock_stamp_ms() >= b + 40, "above it time goes on");
}

static void
test_distance(void)
{
	static const struct {
		const char *a, *b;
		size_t want;
	} rows[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "maxRuns", "maxruns", 0 },
		{ "maxRuns", "maxRun", 1 },
		{ "maxRun", "mxRuns", 2 },
		{ "kitten", "sitting", 3 },
		{ "ab", "ba", 2 },
	};
	char longer[DISTANCE_MAX_BYTES + 1];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t na = strlen(rows[i].a), nb = strlen(rows[i].b);

		is_int(name_distance(rows[i].a, na, rows[i].b, nb),
		    rows[i].want, rows[i].b);
		is_int(name_distance(rows[i].b, nb, rows[i].a, na),
		    rows[i].want, "and the other way round");
	}
	memset(longer, 'x', sizeof(longer));
	is_int(name_distance(
		   longer, DISTANCE_MAX_BYTES, longer + 1, DISTANCE_MAX_BYTES),
	    0, "as long as may be");
	ok(name_distance(longer, sizeof(longer), "x", 1) == SIZE_MAX &&
		name_distance("x", 1, longer, sizeof(longer)) == SIZE_MAX,
	    "too long");
}

static void
test_fd_passing(void)
{
	int sv[2], p[2], got[2] = { -1, -1 }, n = 2;
	struct rlimit limit, none;
	char bytes[8];
	size_t len;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv) == -1 || pipe(p) == -1)
		return (void)ok(false, "socketpair and pipe");
	is_int(fd_send_msg(sv[0], "hi", 2, p, 2), 0, "two descriptors sent");
	is_int(fd_recv_msg(sv[1], bytes, sizeof(bytes), &len, got, &n), 0,
	    "packet received");
	ok(len == 2 && n == 2, "bytes and descriptors arrive together");
	ok((fcntl(got[0], F_GETFD) & FD_CLOEXEC) != 0, "close-on-exec");
	fd_close(&got[0]);
	fd_close(&got[1]);
	fd_send_msg(sv[0], "hi", 2, p, 2);
	n = 0;
	is_int(fd_recv_msg(sv[1], bytes, sizeof(bytes), &len, got, &n),
	    EMSGSIZE, "descriptors nobody asked for are refused");
	fd_send_msg(sv[0], "0123456789", 10, NULL, 0);
	n = 0;
	is_int(fd_recv_msg(sv[1], bytes, sizeof(bytes), &len, got, &n),
	    EMSGSIZE, "a packet that does not fit is refused");
	fd_send_msg(sv[0], "hi", 2, p, 2);
	n = 2;
	len = 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	is_int(fd_recv_msg(sv[1], bytes, sizeof(bytes), &len, got, &n), EMFILE,
	    "no descriptor is free");
	setrlimit(RLIMIT_NOFILE, &limit);
	ok(len == 2 && n == 0, "the packet is there without them");
	close(sv[0]);
	n = 0;
	is_int(fd_recv_msg(sv[1], bytes, sizeof(bytes), &len, got, &n), 0,
	    "end of file is no error");
	is_int(len, 0, "end of file is length 0");
	close(sv[1]);
	close(p[0]);
	close(p[1]);
}

/* Ours are 0 to 2 and two more, at the lowest numbers that are free. */
static void
test_inherited(void)
{
	char why[FDIO_WHY_BYTES] = "";
	int p[2];

	if (pipe(p) == -1)
		return (void)ok(false, "pipe");
	closefrom(p[1] + 1); /* what was leaked to this test */
	fd_set_cloexec(p[0], 0);
	ok(fd_check_inherited(p[0], p[1], why), "those that should be open%s",
	    why);
	ok((fcntl(p[0], F_GETFD) & FD_CLOEXEC) != 0, "are not passed on");
	ok(!fd_check_inherited(p[0], p[1] - 1, why) &&
		strstr(why, "should not be") != NULL,
	    "one that should not: %s", why);
	close(p[1]);
	ok(!fd_check_inherited(p[0], p[1], why) &&
		strstr(why, "is not open") != NULL,
	    "one that is not: %s", why);
	close(p[0]);
}

/* What standard error has got, in a pipe, since the last look. */
static const char *
log_seen(int fd)
{
	static char text[3 * PIPE_BUF];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void
test_log_hold(void)
{
	int p[2], before = dup(STDERR_FILENO);
	const char *seen;
	char wide[600];
	size_t lines = 0;

	if (pipe2(p, O_NONBLOCK) == -1 || dup2(p[1], STDERR_FILENO) == -1)
		return;
	memset(wide, 'w', sizeof(wide));
	log_init("test", LOGL_INFO);
	log_hold();
	log_info("one");
	log_warn("two\n");
	is_str(log_seen(p[0]), "", "lines are held");
	log_err("three");
	is_str(log_seen(p[0]),
	    "<6>test: one\n<4>test: two\\012\n<3>test: three\n",
	    "until there is an error, in their order");
	for (int i = 0; i < 10; i++)
		log_info("%d %.*s", i, (int)sizeof(wide), wide);
	seen = log_seen(p[0]);
	ok(strlen(seen) > 0, "or too many of them");
	for (; (seen = strchr(seen, '\n')) != NULL; seen++)
		lines++;
	log_release();
	for (seen = log_seen(p[0]); (seen = strchr(seen, '\n')) != NULL; seen++)
		lines++;
	is_int((int)lines, 10, "no line is lost");
	log_info("four");
	is_str(log_seen(p[0]), "<6>test: four\n", "and none held any more");
	dup2(before, STDERR_FILENO);
	close(before);
	close(p[0]);
	close(p[1]);
}

int
main(void)
{
	test_ulid();
	test_buf();
	test_base64();
	test_clock();
	test_distance();
	test_fd_passing();
	test_inherited();
	test_log_hold();
	return done_testing();
}
