/*
 * The connection of a process that checks, copies or makes a store. Blocking:
 * there is nothing else to do. Frames are those of the control protocol.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "supervisord/inspect_wire.h"

#define FRAME_HEAD 4
/* So little may lie there unread: whoever does not read is noticed soon. */
#define UNREAD_BYTES 32768

struct wire {
	int fd;
	bool closed;
	bool reads;     /* and shows that it lives */
	struct buf out; /* a frame */
	struct buf in;  /* a message */
};

/* For signal handlers, which may touch nothing else. */
struct said {
	int fd, status;
	size_t len;
	uint8_t bytes[4096];
};

static struct said last, life;

static void
head_put(uint8_t head[FRAME_HEAD], size_t len)
{
	for (int i = 0; i < FRAME_HEAD; i++)
		head[i] = (uint8_t)(len >> (8 * (FRAME_HEAD - 1 - i)));
}

struct wire *
wire_new(int fd)
{
	int flags = fcntl(fd, F_GETFL), type = 0;
	socklen_t len = sizeof(type);
	struct wire *w;

	if (flags == -1 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    type != SOCK_STREAM || (w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->fd = fd;
	buf_init(&w->out, LIMIT_FRAME_BYTES + FRAME_HEAD);
	buf_init(&w->in, LIMIT_FRAME_BYTES);
	return w;
}

void
wire_free(struct wire **wire)
{
	struct wire *w = *wire;

	if (w == NULL)
		return;
	last.fd = life.fd = -1;
	fd_close(&w->fd);
	buf_clear(&w->out);
	buf_clear(&w->in);
	free(w);
	*wire = NULL;
}

/* Head and note; false when the note is not a good one. */
static bool
frame_make(struct buf *b, const struct ipc_params *p)
{
	static const uint8_t none[FRAME_HEAD];

	buf_reset(b);
	if (!buf_add(b, none, sizeof(none)) || !ipc_encode_note(b, p, NULL))
		return false;
	head_put(b->data, b->len - FRAME_HEAD);
	return true;
}

/* The frame that was made, if it is short enough. */
static bool
said_keep(struct said *s, const struct wire *w, int status)
{
	if (w->out.len > sizeof(s->bytes))
		return false;
	memcpy(s->bytes, w->out.data, w->out.len);
	s->len = w->out.len;
	s->status = status;
	s->fd = w->fd;
	return true;
}

/* Nobody hears what it finds, and as long as it is there it holds pages. */
static _Noreturn void
give_up(int error)
{
	if (error == EAGAIN)
		log_warn("the other end has taken nothing for too long: gives"
			 " up, so that the store can use its pages again");
	_exit(life.status);
}

/* Between two messages: such a frame is written whole or not at all. */
static void
on_tick(int sig)
{
	int sys = errno;

	(void)sig;
	if (life.fd != -1 && write(life.fd, life.bytes, life.len) == -1)
		give_up(errno);
	errno = sys;
}

static void
ticks_hold(bool hold)
{
	sigset_t ticks;

	sigemptyset(&ticks);
	sigaddset(&ticks, SIGALRM);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &ticks, NULL);
}

bool
wire_show_life(struct wire *w, int patience_s, int status)
{
	const struct timeval patience = { .tv_sec = patience_s };
	const struct itimerval every = { { .tv_sec = WIRE_LIFE_S },
		{ .tv_sec = WIRE_LIFE_S } };
	struct sigaction action = { .sa_handler = on_tick,
		.sa_flags = SA_RESTART };
	int bytes = UNREAD_BYTES;
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_PROGRESS);
	ipc_set_str(&p, F_TEXT, "reading");
	ipc_set_int(&p, F_DONE, 0);
	ipc_set_int(&p, F_TOTAL, 1);
	w->reads = frame_make(&w->out, &p) && said_keep(&life, w, status);
	return w->reads &&
	    setsockopt(w->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) ==
	    0 &&
	    setsockopt(w->fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		sizeof(patience)) == 0 &&
	    sigaction(SIGALRM, &action, NULL) == 0 &&
	    setitimer(ITIMER_REAL, &every, NULL) == 0;
}

bool
wire_send(struct wire *w, const struct ipc_params *p)
{
	int error = 0;

	if (w->closed)
		return false;
	if (w->reads)
		ticks_hold(true);
	w->closed = !frame_make(&w->out, p) ||
	    (error = fd_write_all(w->fd, w->out.data, w->out.len)) != 0;
	if (w->closed && w->reads)
		give_up(error);
	if (w->reads && p->msg == MSG_STORE_PROGRESS)
		said_keep(&life, w, life.status);
	if (w->reads)
		ticks_hold(false);
	return !w->closed;
}

static bool
read_all(int fd, uint8_t *p, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = read(fd, p, len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

bool
wire_receive(struct wire *w, struct ipc_params *ret)
{
	const struct ipc_gate gate = { .dir = IPC_OUT, .phase = PEER_READY };
	char reason[IPC_REASON_MAX];
	uint8_t head[FRAME_HEAD], *room;
	struct ipc_msg msg;
	size_t len = 0;

	if (!read_all(w->fd, head, sizeof(head)))
		return false;
	for (int i = 0; i < FRAME_HEAD; i++)
		len = len << 8 | head[i];
	if (len == 0 || len >= LIMIT_FRAME_BYTES)
		return false;
	buf_reset(&w->in);
	/* The decoder ends texts in place. */
	room = buf_reserve(&w->in, len + 1);
	if (room == NULL || !read_all(w->fd, room, len) ||
	    ipc_decode(&gate, room, len, &msg, reason) != IPC_OK ||
	    msg.form != IPC_NOTE)
		return false;
	*ret = msg.params;
	return true;
}

static void
on_damage(int sig)
{
	(void)sig;
	if (last.fd != -1 && write(last.fd, last.bytes, last.len) == -1)
		_exit(last.status);
	_exit(last.status);
}

void
wire_last_words(struct wire *w, const void *json, size_t len, int status)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE,
		SIGILL };
	struct sigaction action = { .sa_handler = on_damage };
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_DONE);
	ipc_set_bin(&p, F_RECORD, json, len);
	if (!frame_make(&w->out, &p) || !said_keep(&last, w, status))
		return;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}
