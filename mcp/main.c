/*
 * browsertask-mcp: what AI agents' programs start to use the service by the
 * Model Context Protocol, over standard input and output. Runs as the user;
 * keeps nothing, owns no run, and writes nothing but protocol lines to standard
 * output.
 *
 * Starting it costs nothing and does nothing: clients start one only to see
 * what it can do. The first request that needs the service looks for it.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/timers.h"
#include "config.h"
#include "ipc/msg.h"
#include "json/writer.h"
#include "mcp/adapter.h"
#include "mcp/call.h"
#include "mcp/lines.h"
#include "mcp/link.h"
#include "mcp/method.h"
#include "mcp/out.h"
#include "mcp/question.h"
#include "mcp/subs.h"
#include "model/domains.h"

#define READ_BYTES 8192 /* how many short lines are answered at once */
#define END_MS     1500 /* for calls on their way when input ends */
#define HOLD_BYTES (8u << 20)
#define FREE_BYTES (1u << 20)
#define TIMERS     512
#define WAIT_S_MAX 600
/* Most clients give up a call after 60 s. */
#define WAIT_MS 45000

enum {
	OPT_SERVICE = 256,
	OPT_TRUST,
	OPT_CANCEL,
	OPT_PUBLIC_ONLY,
	OPT_CLIENT,
	OPT_DOMAINS,
	OPT_WAIT
};

struct program {
	struct adapter adapter;
	struct link_config config;
	struct lines lines;
	struct event *readable, *grace, *sigterm, *sigint, *sighup;
	char socket[512];
	bool held, ended;
};

static const char usage_text[] =
    "usage: browsertask-mcp [-hV] [-n] [-r rundir] [-s socket]\n"
    "                       [--allow-domains list] [--cancel-ends-run]\n"
    "                       [--client label] [--public-only]\n"
    "                       [--service program]\n"
    "                       [--trust local|remote] [--wait seconds]\n"
    "                       [-- arg...]\n"
    "\n"
    "Gives AI agents the browser tasks of browsertaskd, by the Model Context\n"
    "Protocol over standard input and output. Clients start it; see\n"
    "browsertaskctl mcp-config for what to put into their settings.\n"
    "\n"
    "  -n                 never start a service\n"
    "  -r rundir          the service whose sockets are in this directory\n"
    "  -s socket          the service at this socket; none is started\n"
    "  --allow-domains list\n"
    "                     keep all runs to these hosts, commas between\n"
    "  --cancel-ends-run  a call that its client cancels cancels its run\n"
    "  --client label     use the sessions of this label, not those of the\n"
    "                     client's name and directory\n"
    "  --public-only      keep all runs from loopback and private addresses\n"
    "  --service program  browsertaskd, when one has to be started\n"
    "  --trust remote     be trusted no more than a client from the network\n"
    "  --wait seconds     wait so long for a run of mode auto (45)\n"
    "  -- arg...          arguments of a service that has to be started\n"
    "  -V                 print the version\n"
    "  -h                 print this text\n";

static struct program program;

/* Nothing more is read until the client has read what it was sent. */
static void
program_hold(struct program *p, bool hold)
{
	if (p->held == hold)
		return;
	p->held = hold;
	link_hold(p->adapter.link, hold);
	if (p->ended)
		return;
	if (hold)
		event_del(p->readable);
	else
		event_add(p->readable, NULL);
}

static void
program_settle(struct program *p)
{
	const struct adapter *a = &p->adapter;

	if (p->ended && a->ncalls == 0 && a->nquestions == 0 &&
	    a->nopening == 0 && out_queued(a->out) == 0)
		event_base_loopbreak(p->adapter.base);
}

static void
on_change(void *ctx)
{
	struct program *p = ctx;
	size_t queued = out_queued(p->adapter.out);

	if (queued >= HOLD_BYTES)
		program_hold(p, true);
	else if (queued <= FREE_BYTES)
		program_hold(p, false);
	program_settle(p);
}

static void
on_broken(void *ctx)
{
	struct program *p = ctx;

	event_base_loopbreak(p->adapter.base);
}

static void
on_settled(struct adapter *a)
{
	program_settle(&program);
}

static void
on_line(void *ctx, const uint8_t *line, size_t len)
{
	struct program *p = ctx;

	method_line(&p->adapter, line, len);
}

static void
on_long_line(void *ctx, const struct lines_cut *cut)
{
	struct program *p = ctx;

	method_long_line(&p->adapter, cut);
}

/* Answers that are nearly there still come; runs go on in any case. */
static void
program_end(struct program *p)
{
	struct timeval tv = { END_MS / 1000, END_MS % 1000 * 1000 };

	p->ended = true;
	event_del(p->readable);
	event_add(p->grace, &tv);
	lines_end(&p->lines);
	subs_end(&p->adapter);
	program_settle(p);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	static uint8_t bytes[READ_BYTES];
	struct program *p = arg;
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n > 0) {
		lines_feed(&p->lines, bytes, (size_t)n);
		explicit_bzero(bytes, (size_t)n); /* secrets may be in it */
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		program_end(p);
}

static void
on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;

	event_base_loopbreak(p->adapter.base);
}

static _Noreturn void
usage_error(const char *what)
{
	fprintf(stderr, "browsertask-mcp: %s\n%s", what, usage_text);
	exit(64);
}

static void
read_trust(struct program *p, const char *value)
{
	if (strcmp(value, "remote") != 0 && strcmp(value, "local") != 0)
		usage_error("--trust is local or remote");
	p->config.remote = value[0] == 'r';
}

static void
read_label(struct program *p, const char *value)
{
	/* The one of all sessions is not for agents. */
	if (value[0] == '\0' || strcmp(value, "*") == 0 ||
	    strlcpy(p->adapter.label, value, sizeof(p->adapter.label)) >=
		sizeof(p->adapter.label))
		usage_error("--client: a label has 1 to 64 bytes and is not *");
}

/* "a,b" as ["a","b"], of patterns that the service would not refuse. */
static void
read_domains(struct program *p, const char *value)
{
	char *lines = strdup(value), *from, *pattern;
	char why[DOMAINS_WHY_BYTES] = "no memory";
	struct domain_list *list = NULL;
	struct json_writer w;
	struct buf b;
	size_t len;

	if (*value == '\0')
		usage_error("--allow-domains names no host");
	for (from = lines; from != NULL && *from != '\0'; from++)
		if (*from == ',')
			*from = '\n';
	if (lines == NULL ||
	    !domain_list_parse(lines, strlen(lines), &list, why))
		usage_error(why);
	domain_list_free(&list);
	buf_init(&b, LIMIT_KEEP_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_array(&w);
	for (from = lines; (pattern = strsep(&from, "\n")) != NULL;)
		json_write_str(&w, pattern);
	json_write_end_array(&w);
	if (!json_writer_finish(&w))
		usage_error("--allow-domains: the list is too long");
	free(lines);
	free(p->adapter.domains);
	p->adapter.domains = (char *)buf_take(&b, &len);
}

static void
read_wait(struct program *p, const char *value)
{
	const char *wrong = NULL;
	long long n = strtonum(value, 1, WAIT_S_MAX, &wrong);

	if (wrong != NULL)
		usage_error("--wait is a number of seconds from 1 to 600");
	p->adapter.auto_ms = n * 1000;
}

static void
read_arguments(struct program *p, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "service", required_argument, NULL, OPT_SERVICE },
		{ "trust", required_argument, NULL, OPT_TRUST },
		{ "allow-domains", required_argument, NULL, OPT_DOMAINS },
		{ "cancel-ends-run", no_argument, NULL, OPT_CANCEL },
		{ "client", required_argument, NULL, OPT_CLIENT },
		{ "public-only", no_argument, NULL, OPT_PUBLIC_ONLY },
		{ "wait", required_argument, NULL, OPT_WAIT },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct link_config *c = &p->config;
	int opt;

	c->label = p->adapter.label;
	p->adapter.auto_ms = WAIT_MS;
	c->may_start = true;
	c->start.program = SBINDIR "/browsertaskd";
	while ((opt = getopt_long(argc, argv, "hVnr:s:", longs, NULL)) != -1) {
		switch (opt) {
		case 'n':
			c->may_start = false;
			break;
		case 'r':
			c->start.run_dir = optarg;
			break;
		case 's':
			c->socket = optarg;
			break;
		case OPT_SERVICE:
			c->start.program = optarg;
			break;
		case OPT_TRUST:
			read_trust(p, optarg);
			break;
		case OPT_DOMAINS:
			read_domains(p, optarg);
			break;
		case OPT_CLIENT:
			read_label(p, optarg);
			break;
		case OPT_PUBLIC_ONLY:
			p->adapter.public_only = true;
			break;
		case OPT_CANCEL:
			p->adapter.cancel_ends_run = true;
			break;
		case OPT_WAIT:
			read_wait(p, optarg);
			break;
		case 'V':
			puts("browsertask-mcp " PACKAGE_VERSION);
			exit(0);
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			exit(64);
		}
	}
	c->start.args = argv + optind;
}

/* Which socket, and whether a service may be started behind it. */
static void
choose_service(struct program *p)
{
	const char *given = getenv("BROWSERTASK_SOCKET");
	struct link_config *c = &p->config;
	int n;

	if (c->socket != NULL && c->start.run_dir != NULL)
		usage_error("-r and -s exclude each other");
	if (c->socket != NULL ||
	    (c->start.run_dir == NULL && given != NULL && given[0] != '\0'))
		c->may_start = false;
	if (c->start.run_dir == NULL)
		return;
	n = snprintf(
	    p->socket, sizeof(p->socket), "%s/client.sock", c->start.run_dir);
	if (n < 0 || (size_t)n >= sizeof(p->socket))
		usage_error("-r: the directory's name is too long");
	c->socket = p->socket;
}

/* One that works with files, too, which epoll does not. */
static struct event_base *
make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (config == NULL)
		return NULL;
	event_config_require_features(config, EV_FEATURE_FDS);
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static bool
make_parts(struct program *p)
{
	static const struct out_ops out_ops = { on_change, on_broken };
	struct adapter *a = &p->adapter;

	TAILQ_INIT(&a->calls);
	TAILQ_INIT(&a->questions);
	TAILQ_INIT(&a->subs);
	a->base = make_base();
	if (a->base == NULL || !timers_reserve(a->base, TIMERS))
		return false;
	a->out = out_new(a->base, STDOUT_FILENO, &out_ops, p);
	a->link = link_new(a->base, &p->config);
	a->on_settled = on_settled;
	lines_init(&p->lines, RPC_LINE_BYTES_MAX, on_line, on_long_line, p);
	p->readable = event_new(
	    a->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_readable, p);
	p->grace = evtimer_new(a->base, on_stop, p);
	p->sigterm = evsignal_new(a->base, SIGTERM, on_stop, p);
	p->sigint = evsignal_new(a->base, SIGINT, on_stop, p);
	p->sighup = evsignal_new(a->base, SIGHUP, on_stop, p);
	if (a->out == NULL || a->link == NULL || p->readable == NULL ||
	    p->grace == NULL || p->sigterm == NULL || p->sigint == NULL ||
	    p->sighup == NULL || event_add(p->readable, NULL) == -1)
		return false;
	evsignal_add(p->sigterm, NULL);
	evsignal_add(p->sigint, NULL);
	evsignal_add(p->sighup, NULL);
	return true;
}

static void
free_parts(struct program *p)
{
	p->adapter.on_settled = NULL;
	calls_drop_all(&p->adapter);
	questions_drop_all(&p->adapter);
	subs_drop_all(&p->adapter);
	link_free(&p->adapter.link);
	out_free(&p->adapter.out);
	lines_free(&p->lines);
	event_free(p->readable);
	event_free(p->grace);
	event_free(p->sigterm);
	event_free(p->sigint);
	event_free(p->sighup);
	event_base_free(p->adapter.base);
	free(p->adapter.domains);
}

int
main(int argc, char **argv)
{
	if (fd_open_standard() != 0) {
		perror("browsertask-mcp: /dev/null");
		return 71;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	read_arguments(&program, argc, argv);
	choose_service(&program);
	if (!make_parts(&program)) {
		fputs("browsertask-mcp: no event loop\n", stderr);
		return 71;
	}
	event_base_dispatch(program.adapter.base);
	free_parts(&program);
	return 0;
}
