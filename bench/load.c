/*
 * load: clients of the service, for bench/service: each has one request under
 * way and sends the next when it is answered. It knows the protocol from
 * ipc/ and nothing else of the service.
 *
 * usage: load SOCKET CLIENTS SECONDS METHOD TEMPLATE
 *
 * METHOD: submit (a run of TEMPLATE each time), list (the 20 newest of its
 * runs), get (one of the newest 100, in turn). Prints requests per second, p50,
 * p99 and the greatest time in milliseconds.
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <time.h>

#include "ipc/msg.h"
#include "json/tape.h"

#define CLIENTS_MAX 256
#define TIMES_MAX   4000000
#define RUNS_MAX    100
#define FRAME_HEAD  4
#define IN_BYTES    (1u << 20)

struct peer {
	int fd;
	uint32_t seq;
	double sent;
	uint8_t *in;
	size_t len;
};

static struct {
	struct peer peers[CLIENTS_MAX];
	int clients;
	const char *method, *template;
	char runs[RUNS_MAX][64];
	unsigned nruns, turn;
	float *times;
	size_t ntimes;
} load;

static double
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void
peer_send(struct peer *p, const struct ipc_params *params)
{
	static const uint8_t none[FRAME_HEAD];
	char why[IPC_REASON_MAX];
	struct buf b;
	size_t len;

	buf_init(&b, LIMIT_FRAME_BYTES);
	buf_add(&b, none, FRAME_HEAD);
	if (!ipc_encode_request(&b, ++p->seq, params, why))
		errx(1, "request: %s", why);
	len = b.len - FRAME_HEAD;
	for (int i = 0; i < FRAME_HEAD; i++)
		b.data[i] = (uint8_t)(len >> (24 - 8 * i));
	p->sent = now_ms();
	if (send(p->fd, b.data, b.len, 0) != (ssize_t)b.len)
		err(1, "send");
	buf_clear(&b);
}

/* The next message, or NULL: more bytes are needed. */
static uint8_t *
peer_frame(struct peer *p, size_t *ret_len)
{
	size_t len = 0;

	if (p->len < FRAME_HEAD)
		return NULL;
	for (int i = 0; i < FRAME_HEAD; i++)
		len = len << 8 | p->in[i];
	if (p->len < FRAME_HEAD + len)
		return NULL;
	*ret_len = len;
	return p->in + FRAME_HEAD;
}

static void
peer_read(struct peer *p)
{
	ssize_t n = recv(p->fd, p->in + p->len, IN_BYTES - p->len, 0);

	if (n <= 0)
		errx(1, "the service closed a connection");
	p->len += (size_t)n;
}

/* Waits for one answer and gives it out; IN_BYTES hold one at a time. */
static void
peer_answer(struct peer *p, struct ipc_msg *ret)
{
	struct ipc_gate gate = { .dir = IPC_OUT,
		.phase = p->seq == 1 ? PEER_HELLO : PEER_READY };
	char why[IPC_REASON_MAX];
	uint8_t *at;
	size_t len;

	while ((at = peer_frame(p, &len)) == NULL)
		peer_read(p);
	if (ipc_decode(&gate, at, len, ret, why) != IPC_OK)
		errx(1, "answer: %s", why);
	if (ret->error != NULL)
		errx(1, "refused: %s", ret->error);
	p->len = 0;
}

static void
ask(struct peer *p)
{
	struct ipc_params params;
	char options[] = "{\"mode\":\"async\"}";

	if (load.method[0] == 's') {
		static const char inputs[] =
		    "{\"do\":[\"hold\"],\"note\":"
		    "\"https://example.org/a/page/as/long/as/most\"}";

		ipc_params_init(&params, MSG_RUN_SUBMIT);
		ipc_set_str(&params, F_TEMPLATE_ID, load.template);
		ipc_set_bin(&params, F_INPUTS, inputs, strlen(inputs));
		ipc_set_bin(&params, F_OPTIONS, options, strlen(options));
	} else if (load.method[0] == 'l') {
		ipc_params_init(&params, MSG_RUN_LIST);
		ipc_set_str(&params, F_TEMPLATE_ID, load.template);
		ipc_set_int(&params, F_LIMIT, 20);
	} else {
		ipc_params_init(&params, MSG_RUN_GET);
		ipc_set_str(
		    &params, F_RUN_ID, load.runs[load.turn++ % load.nruns]);
	}
	peer_send(p, &params);
}

static void
peer_open(struct peer *p, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct ipc_params hello;
	struct ipc_msg m;

	p->in = malloc(IN_BYTES);
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strlcpy(sun.sun_path, path, sizeof(sun.sun_path));
	if (p->in == NULL || p->fd == -1 ||
	    connect(p->fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		err(1, "%s", path);
	ipc_params_init(&hello, MSG_HELLO);
	ipc_set_int(&hello, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&hello, F_CLIENT, "load");
	peer_send(p, &hello);
	peer_answer(p, &m);
}

/* The runs that get asks for. */
static void
learn_runs(struct peer *p)
{
	struct ipc_params params;
	struct json_iter it;
	struct json_doc *doc;
	struct ipc_msg m;

	ipc_params_init(&params, MSG_RUN_LIST);
	ipc_set_int(&params, F_LIMIT, RUNS_MAX);
	peer_send(p, &params);
	peer_answer(p, &m);
	if (!json_parse(
		(const uint8_t *)m.result, m.result_len, NULL, 0, &doc, NULL))
		errx(1, "list: no JSON");
	it = json_iter(json_obj_get(json_root(doc), "runs"));
	while (load.nruns < RUNS_MAX && json_iter_next(&it))
		json_str_copy(json_obj_get(it.val, "runId"),
		    load.runs[load.nruns++], sizeof(load.runs[0]));
	json_doc_free(&doc);
	if (load.nruns == 0)
		errx(1, "there are no runs");
}

static int
by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static void
run(double seconds)
{
	struct pollfd fds[CLIENTS_MAX];
	double begin = now_ms(), now = begin, end = begin + seconds * 1e3;
	struct ipc_msg m;
	size_t len;

	for (int i = 0; i < load.clients; i++) {
		fds[i] = (struct pollfd){ load.peers[i].fd, POLLIN, 0 };
		ask(&load.peers[i]);
	}
	while (now < end) {
		if (poll(fds, (nfds_t)load.clients, 10000) < 1)
			errx(1, "no answer");
		for (int i = 0; i < load.clients; i++) {
			struct peer *p = &load.peers[i];

			if (fds[i].revents == 0)
				continue;
			peer_read(p);
			if (peer_frame(p, &len) == NULL)
				continue;
			peer_answer(p, &m);
			now = now_ms();
			if (load.ntimes < TIMES_MAX)
				load.times[load.ntimes++] =
				    (float)(now - p->sent);
			ask(p);
		}
	}
	qsort(load.times, load.ntimes, sizeof(float), by_size);
	printf("%.1f /s, p50 %.3f ms, p99 %.3f ms, max %.3f ms\n",
	    (double)load.ntimes * 1e3 / (now - begin),
	    (double)load.times[load.ntimes / 2],
	    (double)load.times[load.ntimes * 99 / 100],
	    (double)load.times[load.ntimes - 1]);
}

static long
number(const char *text, long max)
{
	const char *why;
	long n = (long)strtonum(text, 1, max, &why);

	if (why != NULL)
		errx(2, "%s: %s", text, why);
	return n;
}

int
main(int argc, char *argv[])
{
	double seconds;

	if (argc != 6)
		errx(2, "usage: load SOCKET CLIENTS SECONDS METHOD TEMPLATE");
	load.clients = (int)number(argv[2], CLIENTS_MAX);
	seconds = (double)number(argv[3], 3600);
	load.method = argv[4];
	load.template = argv[5];
	load.times = calloc(TIMES_MAX, sizeof(float));
	if (load.times == NULL)
		err(1, NULL);
	for (int i = 0; i < load.clients; i++)
		peer_open(&load.peers[i], argv[1]);
	if (load.method[0] == 'g')
		learn_runs(&load.peers[0]);
	run(seconds);
	return 0;
}
