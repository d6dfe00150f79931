/*
 * Both transports of a chan: framing at every split, queue limits, holding,
 * ends of all kinds, and freeing from within callbacks.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "ipc/chan.h"
#include "ipc/mp.h"
#include "t/unit/tap.h"

struct seen {
	int msgs, refused, closed, drained;
	enum msg_id last;
	uint32_t seq;
	char text[64];    /* a text field of the last message */
	char reason[200]; /* of on_refused or on_closed */
	size_t doc_len;
	struct chan *free_in_msg;
	struct chan *free_in_closed;
	bool hold_each;
	size_t grown, most; /* what is not complete may hold; 0: anything */
	uint32_t partial;
	bool answer_each; /* with so much that a socket does not hold many */
};

static struct event_base *base;

static void
turn(void)
{
	for (int i = 0; i < 6; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	struct seen *s = ctx;
	size_t len;

	s->msgs++;
	s->last = m->params.msg;
	s->seq = m->seq;
	if (s->answer_each) {
		static char document[20000] = "[";

		memset(document + 1, ' ', sizeof(document) - 2);
		document[sizeof(document) - 1] = ']';
		chan_result(c, m->seq, document, sizeof(document));
	}
	if (s->free_in_msg != NULL)
		chan_free(&s->free_in_msg);
	else if (s->hold_each)
		chan_hold_reading(c, true);
	if (m->params.msg == MSG_RUN_GET)
		snprintf(s->text, sizeof(s->text), "%s",
		    ipc_str(&m->params, F_RUN_ID));
	if (m->params.msg == MSG_S_STEP_START)
		snprintf(s->text, sizeof(s->text), "%s",
		    ipc_str(&m->params, F_NAME));
	if (m->params.msg == MSG_RUN_SUBMIT) {
		ipc_bin(&m->params, F_INPUTS, &len);
		s->doc_len = len;
	}
	if (m->result != NULL)
		s->doc_len = m->result_len;
}

static void
on_refused(
    struct chan *c, const struct ipc_msg *m, const char *reason, void *ctx)
{
	struct seen *s = ctx;

	s->refused++;
	s->seq = m->seq;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	struct seen *s = ctx;

	s->closed++;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	if (s->free_in_closed != NULL)
		chan_free(&s->free_in_closed);
}

static void
on_drained(struct chan *c, void *ctx)
{
	((struct seen *)ctx)->drained++;
}

static bool
on_growth(struct chan *c, size_t bytes, void *ctx)
{
	struct seen *s = ctx;

	s->grown = bytes;
	if (s->most == 0 || bytes <= s->most)
		return true;
	if (!chan_partial_seq(c, &s->partial))
		s->partial = 0;
	return false;
}

static const struct chan_ops ops = { on_msg, on_refused, on_closed, on_drained,
	on_growth };

/* A chan and the bare other end of its socket. */
static struct chan *
half(enum ipc_dir dir, struct seen *s, int *ret_fd)
{
	bool packets = ipc_is_packets(dir);
	int sv[2];

	memset(s, 0, sizeof(*s));
	if (socketpair(
		AF_UNIX, packets ? SOCK_SEQPACKET : SOCK_STREAM, 0, sv) == -1)
		exit(1);
	*ret_fd = sv[1];
	return chan_new(base, sv[0], dir, &ops, s);
}

static size_t
frame_run_get(uint8_t *out, const char *run_id)
{
	struct ipc_params p;
	struct buf b;
	size_t len;

	ipc_params_init(&p, MSG_RUN_GET);
	ipc_set_str(&p, F_RUN_ID, run_id);
	buf_init(&b, 4096);
	ipc_encode_request(&b, 7, &p, NULL);
	len = b.len;
	out[0] = out[1] = 0;
	out[2] = (uint8_t)(len >> 8);
	out[3] = (uint8_t)len;
	memcpy(out + 4, b.data, len);
	buf_clear(&b);
	return len + 4;
}

static void
test_split(void)
{
	uint8_t two[512];
	size_t one = frame_run_get(two, "run_a"), len;
	struct chan *c;
	struct seen s;
	int fd, bad = 0;

	len = one + frame_run_get(two + one, "run_b");
	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, PEER_READY);
	for (size_t cut = 0; cut <= len; cut++) {
		s.msgs = 0;
		fd_write_all(fd, two, cut);
		turn();
		if (s.msgs != (cut >= one) + (cut == len))
			bad++;
		fd_write_all(fd, two + cut, len - cut);
		turn();
		if (s.msgs != 2 || strcmp(s.text, "run_b") != 0 || s.seq != 7)
			bad++;
	}
	is_int(bad, 0, "frames arrive whole, however they are split");
	s.msgs = 0;
	for (size_t i = 0; i < len; i++) {
		fd_write_all(fd, two + i, 1);
		turn();
	}
	is_int(s.msgs, 2, "and byte by byte");
	is_int(s.closed, 0, "the connection is open all the while");
	fd_write_all(fd, two, one - 1);
	close(fd);
	turn();
	is_str(s.reason, "closed by the peer within a message",
	    "an end within a frame");
	chan_free(&c);
	ok(c == NULL, "freeing sets the pointer to NULL");
	chan_free(&c);
}

static void
stream_ends(const char *name, enum ipc_phase phase, const void *bytes,
    size_t len, const char *reason)
{
	struct chan *c;
	struct seen s;
	int fd;

	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, phase);
	s.free_in_closed = c;
	fd_write_all(fd, bytes, len);
	turn();
	is_int(s.closed, 1, name);
	is_str(s.reason, reason, "with a readable reason");
	is_int(s.msgs, 0, "and no message");
	ok(write(fd, "x", 1) == -1 && errno == EPIPE, "the socket is closed");
	close(fd);
}

static void
test_stream_garbage(void)
{
	static const uint8_t ext[] = { 0, 0, 0, 3, 0xd4, 1, 2 };
	static const uint8_t bomb[] = { 0, 0, 0, 5, 0xdd, 4, 0, 0, 0 };
	uint8_t get[256];
	size_t len = frame_run_get(get, "run_a");

	stream_ends(
	    "an empty frame", PEER_READY, "\0\0\0\0", 4, "an empty frame");
	stream_ends("a huge frame", PEER_READY, "\377\0\0\0", 4,
	    "the frame is too long");
	stream_ends("a frame above the limit by one", PEER_READY,
	    "\000\200\000\001", 4, "the frame is too long");
	stream_ends("8 KiB before hello", PEER_HELLO, "\0\0\040\0", 4,
	    "the frame is too long");
	stream_ends("text of another protocol", PEER_READY,
	    "GET / HTTP/1.1\r\n\r\n", 18, "the frame is too long");
	stream_ends("an ext type", PEER_READY, ext, sizeof(ext),
	    "the message contains an ext type");
	stream_ends("a claim of 67 million entries", PEER_READY, bomb,
	    sizeof(bomb), "the message ends within a value");
	stream_ends("a request before hello", PEER_HELLO, get, len,
	    "run.get is not permitted now");
}

static void
test_growth(void)
{
	static uint8_t part[200000] = { 0, 16, 0, 0, 0x94, 0, 5, 0xa4 };
	static const uint8_t odd[] = { 0, 16, 0, 0, 0x93, 0, 5, 0xa4 };
	struct chan *c;
	struct seen s;
	int fd;

	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, PEER_READY);
	fd_write_all(fd, part, sizeof(part));
	turn();
	ok(s.grown >= sizeof(part) && s.grown < 3 * sizeof(part),
	    "the owner is told what a part of a frame holds (%zu)", s.grown);
	s.most = 300000;
	for (int i = 0; i < 8 && s.closed == 0; i++) {
		(void)!write(fd, part, sizeof(part) / 8);
		turn();
	}
	is_int(s.partial, 5, "the number of its request is known");
	is_str(s.reason, "finished", "too much ends the connection");
	chan_free(&c);
	close(fd);
	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, PEER_READY);
	s.most = 8;
	fd_write_all(fd, odd, sizeof(odd));
	turn();
	ok(s.closed == 1 && s.partial == 0, "not of what is no request");
	chan_free(&c);
	close(fd);
}

static void
test_refused(void)
{
	static const uint8_t unknown[] = { 0, 0, 0, 9, 0x94, 0, 5, 0xa4, 'n',
		'o', 'p', 'e', 0x80 };
	uint8_t get[256];
	size_t len = frame_run_get(get, "run_a");
	struct chan *c;
	struct seen s;
	int fd;

	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, PEER_READY);
	fd_write_all(fd, unknown, sizeof(unknown));
	fd_write_all(fd, get, len);
	turn();
	is_int(s.refused, 1, "an unknown method is refused");
	is_str(s.reason, "unknown method nope", "in readable words");
	is_int(s.msgs, 1, "and the connection goes on");
	chan_free(&c);
	close(fd);
}

/* Two chans that talk: the supervisor's and the other one. */
struct pair {
	struct chan *a, *b;
	struct seen sa, sb;
};

static void
pair_open(struct pair *p, enum ipc_dir a, enum ipc_dir b)
{
	bool packets = a == IPC_UP;
	int sv[2];

	memset(p, 0, sizeof(*p));
	if (socketpair(
		AF_UNIX, packets ? SOCK_SEQPACKET : SOCK_STREAM, 0, sv) == -1)
		exit(1);
	p->a = chan_new(base, sv[0], a, &ops, &p->sa);
	p->b = chan_new(base, sv[1], b, &ops, &p->sb);
}

static void
test_hello(void)
{
	struct ipc_params h;
	struct pair p;
	uint32_t seq = 0;

	pair_open(&p, IPC_IN, IPC_OUT);
	is_int(chan_peer(p.a)->uid, getuid(), "the peer's uid");
	is_int(chan_peer(p.a)->gid, getgid(), "the peer's gid");
	is_int(chan_peer(p.a)->pid, getpid(), "the peer's pid");
	ipc_params_init(&h, MSG_HELLO);
	ipc_set_int(&h, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&h, F_CLIENT, "test");
	is_int(chan_request(p.b, &h, &seq), CHAN_OK, "hello is queued");
	turn();
	ok(p.sa.msgs == 1 && p.sa.last == MSG_HELLO && p.sa.seq == seq,
	    "hello arrives");
	ipc_params_init(&h, MSG_HELLO_ANSWER);
	ipc_set_int(&h, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&h, F_VERSION, "0.1.0");
	ipc_set_str(&h, F_TRUST, "local");
	is_int(chan_answer(p.a, seq, &h), CHAN_INVALID,
	    "an answer without a required field is not sent");
	is_str(chan_invalid_reason(p.a), "hello: missing field: admin",
	    "and says which");
	ipc_set_bool(&h, F_ADMIN, false);
	is_int(chan_answer(p.a, seq, &h), CHAN_OK, "answer");
	turn();
	ok(p.sb.msgs == 1 && p.sb.last == MSG_HELLO_ANSWER && p.sb.seq == seq,
	    "the answer arrives");
	is_int(chan_result(p.a, 9, "{}", 2), CHAN_OK, "a result");
	is_int(chan_error(p.a, 10, "{}", 2), CHAN_OK, "an error");
	turn();
	is_int(p.sb.msgs, 3, "both arrive");
	chan_finish(p.a);
	is_int(chan_result(p.a, 9, "{}", 2), CHAN_CLOSED,
	    "nothing is sent after the finish");
	is_int(p.sa.closed, 0, "finishing does not call back by itself");
	turn();
	is_str(p.sa.reason, "finished", "finished from the loop");
	is_str(p.sb.reason, "closed by the peer", "the other end sees it");
	chan_free(&p.a);
	chan_free(&p.b);
}

static void
test_big_frame(void)
{
	size_t len = LIMIT_FRAME_BYTES - 16;
	char *doc = calloc(1, len + 32);
	struct pair p;

	pair_open(&p, IPC_IN, IPC_OUT);
	chan_set_phase(p.b, PEER_READY);
	is_int(chan_result(p.a, 1, doc, len), CHAN_OK, "a result of 8 MiB");
	is_int(chan_result(p.a, 1, doc, len + 32), CHAN_INVALID,
	    "a longer one does not fit a frame");
	/* The socket itself may have taken some of it. */
	is_int(chan_result(p.a, 2, doc, 1 << 20), CHAN_FULL,
	    "the queue is full with it");
	chan_finish(p.a);
	for (int i = 0; i < 200 && p.sb.closed == 0; i++)
		turn();
	ok(p.sb.msgs == 1 && p.sb.doc_len == len, "arrives whole");
	is_str(p.sa.reason, "finished", "finish waits for the queue");
	chan_free(&p.a);
	chan_free(&p.b);
	free(doc);
}

static void
queue_overflow(enum ipc_dir a, enum ipc_dir b, const char *name)
{
	char text[3000];
	struct ipc_params m;
	struct pair p;
	int sent = 0, refused = 0;
	bool up = a == IPC_UP;

	pair_open(&p, a, b);
	chan_set_phase(p.a, up ? PEER_RUN : PEER_READY);
	chan_set_phase(p.b, PEER_READY);
	memset(text, 'x', sizeof(text));
	ipc_params_init(&m, up ? MSG_S_WARNING : MSG_EVENT);
	if (up) {
		ipc_set_strn(&m, F_TEXT, text, sizeof(text));
	} else {
		ipc_set_str(&m, F_RUN_ID, "run_a");
		ipc_set_int(&m, F_SEQ, 1);
		ipc_set_bin(&m, F_EVENT, text, sizeof(text));
	}
	struct chan *from = up ? p.b : p.a, *to = up ? p.a : p.b;
	struct seen *sf = up ? &p.sb : &p.sa, *st = up ? &p.sa : &p.sb;

	chan_set_queue_limit(from, 100000);
	/* What the socket itself takes comes on top. */
	for (int i = 0; i < 1000; i++)
		if (chan_note(from, &m) == CHAN_OK)
			sent++;
		else
			refused++;
	ok(refused > 0 && chan_queue_bytes(from) > 100000 - 2 * sizeof(text),
	    "%s: the queue is limited by bytes", name);
	ok(chan_queue_bytes(from) <= 100000, "%s: and holds the limit", name);
	turn();
	for (int i = 0; i < 1000 && st->msgs < sent; i++)
		turn();
	is_int(st->msgs, sent, "what was accepted arrives");
	is_int(sf->drained, 1, "the owner hears once that there is room");
	is_int(chan_queue_bytes(from), 0, "the queue is empty");
	is_int(chan_note(from, &m), CHAN_OK, "and takes more");
	ok(chan_is_open(to) && chan_is_open(from), "%s: still open", name);
	chan_free(&p.a);
	chan_free(&p.b);
}

static void
test_hold(enum ipc_dir dir, const char *name)
{
	uint8_t bytes[512];
	struct ipc_params m;
	struct buf b;
	struct chan *c;
	struct seen s;
	size_t len;
	int fd;

	c = half(dir, &s, &fd);
	chan_set_phase(c, dir == IPC_IN ? PEER_READY : PEER_RUN);
	buf_init(&b, 4096);
	s.hold_each = true;
	for (int i = 0; i < 3; i++)
		if (dir == IPC_IN) {
			len = frame_run_get(bytes, "run_a");
			fd_write_all(fd, bytes, len);
		} else {
			buf_reset(&b);
			ipc_params_init(&m, MSG_S_STEP_START);
			ipc_set_str(&m, F_NAME, "fetch");
			ipc_encode_note(&b, &m, NULL);
			fd_write_all(fd, b.data, b.len);
		}
	turn();
	is_int(s.msgs, 1, name);
	chan_hold_reading(c, false);
	is_int(s.msgs, 1, "releasing delivers from the loop, not at once");
	turn();
	is_int(s.msgs, 2, "the next one after the release");
	s.hold_each = false;
	chan_hold_reading(c, false);
	turn();
	is_int(s.msgs, 3, "and the last");
	buf_clear(&b);
	chan_free(&c);
	close(fd);
}

/* Who asks for much and reads nothing does not keep others waiting. */
static void
test_share(void)
{
	struct seen greedy, other;
	struct chan *a, *b;
	uint8_t one[64], all[30 * 64];
	int fd_a, fd_b, n = 30, before;
	size_t len = frame_run_get(one, "run_a");

	a = half(IPC_IN, &greedy, &fd_a);
	b = half(IPC_IN, &other, &fd_b);
	chan_set_phase(a, PEER_READY);
	chan_set_phase(b, PEER_READY);
	greedy.answer_each = true;
	for (int i = 0; i < n; i++)
		memcpy(all + (size_t)i * len, one, len);
	fd_write_all(fd_a, all, (size_t)n * len);
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	ok(greedy.msgs > 1 && greedy.msgs < n,
	    "%d of %d requests are heard in one turn", greedy.msgs, n);
	before = greedy.msgs;
	fd_write_all(fd_b, one, len);
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	is_int(other.msgs, 1, "another one is heard in the next");
	is_int(greedy.msgs, before + 1, "after which there is one more");
	for (int i = 0; i < n; i++)
		turn();
	is_int(greedy.msgs, n, "until all are heard");
	chan_free(&a);
	chan_free(&b);
	close(fd_a);
	close(fd_b);
}

static void
test_free_in_callback(void)
{
	uint8_t two[512];
	size_t len = frame_run_get(two, "run_a");
	struct ipc_params m;
	struct pair p;
	struct chan *c;
	struct seen s;
	int fd;

	len += frame_run_get(two + len, "run_b");
	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, PEER_READY);
	s.free_in_msg = c;
	fd_write_all(fd, two, len);
	turn();
	ok(s.msgs == 1 && s.closed == 0, "freed in on_msg: no more callbacks");
	is_str(s.text, "run_a", "the message lives until the callback returns");
	close(fd);
	pair_open(&p, IPC_UP, IPC_DOWN);
	chan_set_phase(p.a, PEER_RUN);
	p.sa.free_in_msg = p.a;
	ipc_params_init(&m, MSG_S_STEP_START);
	ipc_set_str(&m, F_NAME, "fetch");
	chan_note(p.b, &m);
	chan_note(p.b, &m);
	p.sb.free_in_closed = p.b;
	turn();
	is_str(p.sa.text, "fetch", "the packet, too");
	is_int(p.sa.msgs, 1, "and nothing follows");
	is_int(p.sb.closed, 1, "the other end is closed");
}

static void
test_packet_bad(void)
{
	static const char big[LIMIT_PACKET_BYTES + 1];
	struct ipc_params m;
	struct buf b;
	struct chan *c;
	struct seen s;
	int fd, p[2];

	buf_init(&b, 4096);
	ipc_params_init(&m, MSG_S_STEP_START);
	ipc_set_str(&m, F_NAME, "fetch");
	ipc_encode_note(&b, &m, NULL);
	if (pipe(p) == -1)
		exit(1);
	c = half(IPC_UP, &s, &fd);
	chan_set_phase(c, PEER_RUN);
	fd_send_msg(fd, b.data, b.len, p, 1);
	turn();
	is_str(s.reason, "descriptors where none belong",
	    "a packet with descriptors closes the worker");
	is_int(s.msgs, 0, "its message is not delivered");
	close(p[1]);
	is_int(read(p[0], p, 1), 0, "and no descriptor was kept");
	chan_free(&c);
	close(fd);
	c = half(IPC_UP, &s, &fd);
	chan_set_phase(c, PEER_RUN);
	fd_send_msg(fd, big, sizeof(big), NULL, 0);
	turn();
	is_str(s.reason, "the packet is too long", "an oversized packet");
	chan_free(&c);
	close(fd);
	c = half(IPC_UP, &s, &fd);
	chan_set_phase(c, PEER_RUN);
	fd_send_msg(fd, b.data, b.len - 1, NULL, 0);
	fd_send_msg(fd, b.data, b.len, NULL, 0);
	turn();
	is_str(s.reason, "the message ends within a value", "a cut packet");
	is_int(s.msgs, 0, "ends the worker's connection for good");
	is_int(s.refused, 0, "workers are not told");
	chan_free(&c);
	close(fd);
	buf_clear(&b);
}

/* A worker that exits has sent its last words although it left some unread. */
static void
test_last_words(void)
{
	struct ipc_params m;
	struct buf b;
	struct chan *c;
	struct seen s;
	int fd;

	c = half(IPC_UP, &s, &fd);
	chan_set_phase(c, PEER_RUN);
	ipc_params_init(&m, MSG_W_PING);
	ipc_set_int(&m, F_N, 1);
	chan_note(c, &m);
	turn();
	buf_init(&b, 4096);
	ipc_params_init(&m, MSG_S_STEP_START);
	ipc_set_str(&m, F_NAME, "fetch");
	ipc_encode_note(&b, &m, NULL);
	fd_send_msg(fd, b.data, b.len, NULL, 0);
	fd_send_msg(fd, b.data, b.len, NULL, 0);
	close(fd);
	ipc_params_init(&m, MSG_W_PING);
	ipc_set_int(&m, F_N, 2);
	is_int(chan_note(c, &m), CHAN_OK, "a ping to a peer that just left");
	turn();
	is_int(s.msgs, 2, "its packets are read all the same");
	is_int(s.closed, 1, "then it is closed, once");
	is_str(s.reason, "closed by the peer", "by the peer");
	is_int(chan_note(c, &m), CHAN_CLOSED, "sending says so");
	buf_clear(&b);
	chan_free(&c);
}

static void
test_wrong_socket(void)
{
	struct seen s;
	int sv[2], p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1 || pipe(p) == -1)
		exit(1);
	ok(chan_new(base, sv[0], IPC_UP, &ops, &s) == NULL &&
		errno == EPROTOTYPE,
	    "a stream socket is none for packets");
	ok(write(sv[1], "x", 1) == -1 && errno == EPIPE, "and is closed");
	ok(chan_new(base, p[0], IPC_IN, &ops, &s) == NULL, "nor is a pipe");
	close(sv[1]);
	close(p[1]);
}

int
main(void)
{
	base = event_base_new();
	signal(SIGPIPE, SIG_IGN);
	test_split();
	test_stream_garbage();
	test_growth();
	test_refused();
	test_hello();
	test_big_frame();
	queue_overflow(IPC_IN, IPC_OUT, "stream");
	queue_overflow(IPC_UP, IPC_DOWN, "packets");
	test_hold(IPC_IN, "a held stream");
	test_hold(IPC_UP, "held packets");
	test_share();
	test_free_in_callback();
	test_packet_bad();
	test_last_words();
	test_wrong_socket();
	event_base_free(base);
	return done_testing();
}
