/*
 * demosite: a small web site on a loopback address, for the demo, the tests
 * and the benchmark: real-looking pages, pages that misbehave, 100 generated
 * articles, and a log of what was fetched. One process that reads its page
 * directory and nothing else. It is no general web server and must never be
 * reachable from outside.
 *
 * usage: demosite [-p port] [-d pages] [-a address] [--delay-ms n]
 *     [--ready-fd n] [--exit-on-eof]
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "common/fdio.h"
#include "common/log.h"
#include "site/accesslog.h"
#include "site/corpus.h"
#include "site/pend.h"
#include "site/serve.h"

#define HEADERS_MAX_BYTES 16384
#define BODY_MAX_BYTES    (1 << 20)
#define IDLE_TIMEOUT_S    60
#define DELAY_MAX_MS      600000
#define SINGLE_WRITE      262144

struct options {
	const char *address;
	const char *pages;
	int port;
	int delay_ms;
	int ready_fd;
	bool exit_on_eof;
};

static void
usage(void)
{
	fprintf(stderr,
	    "usage: demosite [-p port] [-d pages] [-a address] "
	    "[--delay-ms n]\n\t[--ready-fd n] [--exit-on-eof]\n");
	exit(2);
}

static int
number_or_usage(const char *what, const char *text, int max)
{
	const char *error;
	int n = (int)strtonum(text, 0, max, &error);

	if (error != NULL) {
		fprintf(stderr, "demosite: %s is %s: %s\n", what, error, text);
		usage();
	}
	return n;
}

static void
options_parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "pages", required_argument, NULL, 'd' },
		{ "address", required_argument, NULL, 'a' },
		{ "delay-ms", required_argument, NULL, 'w' },
		{ "ready-fd", required_argument, NULL, 'r' },
		{ "exit-on-eof", no_argument, NULL, 'e' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "p:d:a:", longs, NULL)) != -1) {
		if (c == 'p')
			o->port = number_or_usage("port", optarg, 65535);
		else if (c == 'd')
			o->pages = optarg;
		else if (c == 'a')
			o->address = optarg;
		else if (c == 'w')
			o->delay_ms =
			    number_or_usage("delay", optarg, DELAY_MAX_MS);
		else if (c == 'r')
			o->ready_fd = number_or_usage("fd", optarg, 1 << 20);
		else if (c == 'e')
			o->exit_on_eof = true;
		else
			usage();
	}
	if (optind != argc)
		usage();
}

/* Binds to the address, numeric IPv4 only, and prints where. */
static struct evconnlistener *
listen_open(struct event_base *base, const struct options *o)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct evconnlistener *listener;
	socklen_t len = sizeof(sin);
	int one = 1;

	sin.sin_port = htons((uint16_t)o->port);
	if (inet_pton(AF_INET, o->address, &sin.sin_addr) != 1)
		fatal("not an IPv4 address: %s", o->address);
	listener = evconnlistener_new_bind(base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
	    1024, (struct sockaddr *)&sin, (int)len);
	if (listener == NULL)
		fatal("cannot listen on %s port %d: %s", o->address, o->port,
		    strerror(errno));
	/* Inherited by the connections: a last small segment must not wait. */
	setsockopt(evconnlistener_get_fd(listener), IPPROTO_TCP, TCP_NODELAY,
	    &one, sizeof(one));
	if (getsockname(evconnlistener_get_fd(listener),
		(struct sockaddr *)&sin, &len) == -1)
		fatal("getsockname: %s", strerror(errno));
	printf("http://%s:%u/\n", o->address, ntohs(sin.sin_port));
	if (fflush(stdout) != 0)
		fatal("stdout: %s", strerror(errno));
	return listener;
}

static struct bufferevent *
on_connect(struct event_base *base, void *arg)
{
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	if (bev != NULL)
		bufferevent_set_max_single_write(bev, SINGLE_WRITE);
	return bev;
}

static struct evhttp *
http_open(struct event_base *base, struct site *s)
{
	struct evhttp *http = evhttp_new(base);

	if (http == NULL)
		fatal("out of memory");
	evhttp_set_max_headers_size(http, HEADERS_MAX_BYTES);
	evhttp_set_max_body_size(http, BODY_MAX_BYTES);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
	evhttp_set_timeout(http, IDLE_TIMEOUT_S);
	evhttp_set_default_content_type(http, NULL);
	evhttp_set_bevcb(http, on_connect, NULL);
	evhttp_set_gencb(http, serve_request, s);
	return http;
}

static void
on_stop(evutil_socket_t sig, short what, void *arg)
{
	event_base_loopbreak(arg);
}

static void
on_stdin(evutil_socket_t fd, short what, void *arg)
{
	char junk[512];
	ssize_t n = read(fd, junk, sizeof(junk));

	if (n == 0 || (n == -1 && errno != EINTR && errno != EAGAIN))
		event_base_loopbreak(arg);
}

static struct event *
watch(struct event_base *base, int fd, short what, event_callback_fn fn)
{
	struct event *ev = event_new(base, fd, what | EV_PERSIST, fn, base);

	if (ev == NULL)
		fatal("out of memory");
	if (event_add(ev, NULL) != 0)
		fatal("cannot watch %s: it must be a pipe, a socket or a "
		      "terminal",
		    what & EV_SIGNAL ? "a signal" : "standard input");
	return ev;
}

static void
ready_tell(int fd)
{
	if (fd == -1)
		return;
	if (fd_write_all(fd, "\n", 1) != 0)
		fatal("cannot write to --ready-fd %d", fd);
	close(fd);
}

static void
run(struct event_base *base, const struct options *o, struct site *s)
{
	struct evconnlistener *listener;
	struct evhttp *http;
	struct event *evs[3];

	evs[0] = watch(base, SIGTERM, EV_SIGNAL, on_stop);
	evs[1] = watch(base, SIGINT, EV_SIGNAL, on_stop);
	evs[2] = o->exit_on_eof ? watch(base, 0, EV_READ, on_stdin) : NULL;
	http = http_open(base, s);
	listener = listen_open(base, o);
	if (evhttp_bind_listener(http, listener) == NULL)
		fatal("out of memory");
	ready_tell(o->ready_fd);
	event_base_dispatch(base);
	pend_free(&s->pending);
	evhttp_free(http);
	for (int i = 0; i < 3; i++) {
		if (evs[i] != NULL)
			event_free(evs[i]);
	}
}

int
main(int argc, char **argv)
{
	struct options o = {
		.address = "127.0.0.1",
		.pages = SITE_PAGES_DIR,
		.ready_fd = -1,
	};
	struct event_base *base;
	struct site s = { .pages_fd = -1 };

	log_init("demosite", LOGL_INFO);
	options_parse(&o, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	s.delay_ms = o.delay_ms;
	s.pages_fd = open(o.pages, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.pages_fd == -1)
		fatal("cannot open %s: %s", o.pages, strerror(errno));
	base = event_base_new();
	s.log = accesslog_new();
	s.pending = base == NULL ? NULL : pend_new(base);
	if (s.log == NULL || s.pending == NULL)
		fatal("out of memory");
	run(base, &o, &s);
	accesslog_free(&s.log);
	corpus_free();
	event_base_free(base);
	fd_close(&s.pages_fd);
	return 0;
}
