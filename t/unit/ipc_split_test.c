/*
 * Every message of the client and the worker protocol through a connection:
 * client frames split at every place and ended at every place, worker packets
 * cut at every place and in two. A new row of the table is covered by being
 * there.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "ipc/chan.h"
#include "t/fuzz/ipc_sample.h"
#include "t/unit/size.h"
#include "t/unit/tap.h"

struct seen {
	int msgs, refused, closed;
	enum msg_id last;
	uint32_t seq;
	char reason[200];
};

static struct event_base *base;
static long cuts;

static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	struct seen *s = ctx;

	s->msgs++;
	s->last = m->params.msg;
	s->seq = m->seq;
}

static void
on_refused(
    struct chan *c, const struct ipc_msg *m, const char *reason, void *ctx)
{
	((struct seen *)ctx)->refused++;
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	struct seen *s = ctx;

	s->closed++;
	strlcpy(s->reason, reason, sizeof(s->reason));
}

static const struct chan_ops ops = { on_msg, on_refused, on_closed, NULL,
	NULL };

static void
turn(void)
{
	for (int i = 0; i < 4; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

/* A receiver in the phase that permits the message; *ret_fd is the peer. */
static struct chan *
receiver(const struct msg_row *row, struct seen *s, int *ret_fd)
{
	bool packets = ipc_is_packets(row->dir);
	struct chan *c;
	int sv[2];

	memset(s, 0, sizeof(*s));
	if (socketpair(
		AF_UNIX, packets ? SOCK_SEQPACKET : SOCK_STREAM, 0, sv) == -1)
		exit(1);
	*ret_fd = sv[1];
	c = chan_new(base, sv[0], row->dir, &ops, s);
	chan_set_phase(c, ipc_sample_phase(row));
	chan_set_admin(c, true);
	return c;
}

/* The message twice, each behind its length. */
static size_t
two_frames(const struct buf *msg, uint8_t *out)
{
	size_t n = 0;

	for (int i = 0; i < 2; i++) {
		out[n++] = (uint8_t)(msg->len >> 24);
		out[n++] = (uint8_t)(msg->len >> 16);
		out[n++] = (uint8_t)(msg->len >> 8);
		out[n++] = (uint8_t)msg->len;
		memcpy(out + n, msg->data, msg->len);
		n += msg->len;
	}
	return n;
}

static void
test_stream(const struct msg_row *row, const struct buf *msg)
{
	uint8_t *two = malloc(2 * msg->len + 8);
	size_t len = two_frames(msg, two);
	int fd, bad = 0;
	struct chan *c;
	struct seen s;

	c = receiver(row, &s, &fd);
	for (size_t cut = 0; cut <= len; cut++, cuts++) {
		s.msgs = 0;
		fd_write_all(fd, two, cut);
		turn();
		bad += s.msgs != (cut >= len / 2) + (cut == len);
		fd_write_all(fd, two + cut, len - cut);
		turn();
		bad += s.msgs != 2 || s.last != row->id || s.refused != 0 ||
		    s.seq != (row->kind == MSG_KIND_NOTE ? 0 : SAMPLE_SEQ);
	}
	is_int(bad + s.closed, 0, "split at every place");
	chan_free(&c);
	close(fd);
	bad = 0;
	for (size_t cut = 1; cut < len / 2; cut++, cuts++) {
		c = receiver(row, &s, &fd);
		fd_write_all(fd, two, cut);
		close(fd);
		turn();
		bad += s.msgs + s.refused != 0 || s.closed != 1 ||
		    strcmp(s.reason, "closed by the peer within a message") !=
			0;
		chan_free(&c);
	}
	is_int(bad, 0, "ended at every place");
	free(two);
}

static void
test_packets(const struct msg_row *row, const struct buf *msg)
{
	int fd, bad = 0;
	struct chan *c;
	struct seen s;

	c = receiver(row, &s, &fd);
	fd_send_msg(fd, msg->data, msg->len, NULL, 0);
	fd_send_msg(fd, msg->data, msg->len, NULL, 0);
	turn();
	ok(s.msgs == 2 && s.last == row->id && s.closed == 0, "two packets");
	chan_free(&c);
	close(fd);
	for (size_t cut = 1; cut < msg->len; cut++, cuts++) {
		c = receiver(row, &s, &fd);
		fd_send_msg(fd, msg->data, cut, NULL, 0);
		fd_send_msg(fd, msg->data + cut, msg->len - cut, NULL, 0);
		turn();
		bad += s.msgs + s.refused != 0 || s.closed != 1;
		chan_free(&c);
		close(fd);
	}
	is_int(bad, 0, "a packet in two, at every place, ends the connection");
}

int
main(void)
{
	struct buf msg;

	base = event_base_new();
	signal(SIGPIPE, SIG_IGN);
	buf_init(&msg, LIMIT_FRAME_BYTES);
	for (int i = 0; i < MSG__MAX; i++) {
		const struct msg_row *row = msg_row((enum msg_id)i);

		for (int all = 0; all < 2; all++) {
			buf_reset(&msg);
			ipc_sample(row, all, &msg);
			printf("# %s, %zu bytes\n", row->name, msg.len);
			if (row->dir == IPC_IN || row->dir == IPC_OUT)
				test_stream(row, &msg);
			else
				test_packets(row, &msg);
		}
	}
	figure("%d messages, cut or split at %ld places", MSG__MAX, cuts);
	buf_clear(&msg);
	event_base_free(base);
	return done_testing();
}
