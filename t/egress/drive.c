/*
 * drive: stands in for the launcher and supervisord in tests of egressd, which
 * it starts. Takes lines from standard input and says what happens:
 *
 *   listen ID [PORT] | gone ID | setting NAME VALUE | link | unlink
 *   bind ID RUN TRUST CONNECTIONS BYTES ALLOWED FORBIDDEN [KEPT]
 *                          (lists with commas, "-" is an empty one)
 *   names_of ID RUN HOSTS
 *   unbind ID RUN | stop | kill
 *   names RESOLV_CONF HOSTS (files, of which it gets copies)
 *
 *   pid PID | listening ID PORT | linked
 *   bound ID RUN ok | bound ID RUN WHY
 *   unbound ID RUN CONNECTIONS IN OUT REFUSED
 *   report ID RUN HOST PORT ADDRESS OUTCOME RULE   ("-" for what is not there)
 *   closed (egressd's end of the link) | ended STATUS
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "ipc/chan.h"
#include "launch/launch.h"

static struct event_base *base;
static struct event *on_line;
static struct chan *chan;
static int launch_sock;
static pid_t pid;
static char input[1 << 18];
static size_t input_len;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void
tell(const struct launch_msg *m, const int *fd)
{
	if (launch_send(launch_sock, LAUNCH_TO_EGRESSD, m, fd) != 0)
		say("# egressd does not listen");
}

static const char *
text(const struct ipc_params *p, enum msg_key key)
{
	const char *s = ipc_str(p, key);

	return s == NULL ? "-" : s;
}

static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	const struct ipc_params *p = &m->params;
	unsigned int id = (unsigned int)ipc_int(p, F_CELL_ID, 0);

	switch (p->msg) {
	case MSG_E_BOUND:
		say("bound %u %s %s", id, text(p, F_RUN_ID),
		    ipc_bool(p, F_SUCCESS, false) ? "ok" : text(p, F_MESSAGE));
		return;
	case MSG_E_UNBOUND:
		say("unbound %u %s %lld %lld %lld %lld", id, text(p, F_RUN_ID),
		    (long long)ipc_int(p, F_CONNECTIONS, -1),
		    (long long)ipc_int(p, F_BYTES_IN, -1),
		    (long long)ipc_int(p, F_BYTES_OUT, -1),
		    (long long)ipc_int(p, F_REFUSED, -1));
		return;
	default:
		say("report %u %s %s %lld %s %s %s", id, text(p, F_RUN_ID),
		    text(p, F_HOST), (long long)ipc_int(p, F_PORT, -1),
		    text(p, F_ADDRESS), text(p, F_OUTCOME), text(p, F_RULE));
		return;
	}
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	say("closed");
	chan_free(&chan);
}

static void
do_link(void)
{
	static const struct chan_ops ops = { .on_msg = on_msg,
		.on_closed = on_closed };
	struct launch_msg m;
	int pair[2];

	chan_free(&chan);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, pair) == -1)
		err(2, "socketpair");
	launch_msg_init(&m, LAUNCH_EGRESS_LINK, 0);
	tell(&m, &pair[0]);
	close(pair[0]);
	chan = chan_new(base, pair[1], IPC_FROM_EGRESSD, &ops, NULL);
	if (chan == NULL)
		err(2, "chan");
	chan_set_phase(chan, PEER_READY);
	say("linked");
}

static void
do_listen(const char *args)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	unsigned int id = 0, port = 0;
	struct launch_msg m;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	sscanf(args, "%u %u", &id, &port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((uint16_t)port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd == -1 || bind(fd, (struct sockaddr *)&a, len) == -1 ||
	    listen(fd, 1024) == -1 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) == -1)
		err(2, "listener");
	launch_msg_init(&m, LAUNCH_EGRESS_LISTENER, id);
	tell(&m, &fd);
	close(fd);
	say("listening %u %u", id, (unsigned int)ntohs(a.sin_port));
}

static int
copy_of(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("names", MFD_CLOEXEC);
	char bytes[4096];
	ssize_t n;

	if (from == -1 || to == -1)
		err(2, "%s", path);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			err(2, "copy");
	close(from);
	return to;
}

static void
do_names(const char *args)
{
	struct launch_msg m;
	char conf[256], hosts[256];
	int fds[2];

	if (sscanf(args, "%255s %255s", conf, hosts) != 2)
		errx(2, "names");
	fds[0] = copy_of(conf);
	fds[1] = copy_of(hosts);
	launch_msg_init(&m, LAUNCH_EGRESS_NAMES, 0);
	tell(&m, fds);
	close(fds[0]);
	close(fds[1]);
}

static void
do_gone(const char *args)
{
	struct launch_msg m;

	launch_msg_init(
	    &m, LAUNCH_EGRESS_GONE, (uint32_t)strtoul(args, NULL, 10));
	tell(&m, NULL);
}

static void
do_setting(const char *args)
{
	struct launch_msg m;
	const char *value = strchr(args, ' ');

	launch_msg_init(&m, LAUNCH_SETTING, 0);
	memcpy(m.u.setting.name, args, (size_t)(value - args));
	strlcpy(m.u.setting.value, value + 1, sizeof(m.u.setting.value));
	tell(&m, NULL);
}

/* "a,b" as lines, "-" as nothing. */
static const char *
lines(char *list)
{
	if (strcmp(list, "-") == 0)
		return "";
	for (char *c = list; *c != '\0'; c++)
		if (*c == ',')
			*c = '\n';
	return list;
}

static void
note(const struct ipc_params *p)
{
	if (chan == NULL || chan_note(chan, p) != CHAN_OK)
		say("# not sent");
}

static void
do_bind(const char *args)
{
	static char allowed[30000], forbidden[30000], kept[8200] = "-";
	char run[64], trust[32];
	long long connections, bytes;
	struct ipc_params p;
	unsigned int id;

	strlcpy(kept, "-", sizeof(kept));
	if (sscanf(args, "%u %63s %31s %lld %lld %29999s %29999s %8199s", &id,
		run, trust, &connections, &bytes, allowed, forbidden, kept) < 7)
		errx(2, "bind %s", args);
	ipc_params_init(&p, MSG_E_BIND);
	ipc_set_int(&p, F_CELL_ID, id);
	ipc_set_str(&p, F_RUN_ID, run);
	ipc_set_str(&p, F_TRUST, trust);
	ipc_set_str(&p, F_ALLOWED, lines(allowed));
	ipc_set_str(&p, F_FORBIDDEN, lines(forbidden));
	ipc_set_str(&p, F_KEPT, lines(kept));
	ipc_set_int(&p, F_MAX_CONNECTIONS, connections);
	ipc_set_int(&p, F_MAX_BYTES, bytes);
	note(&p);
}

static void
do_names_of(const char *args)
{
	static char hosts[30000];
	struct ipc_params p;
	unsigned int id;
	char run[64];

	if (sscanf(args, "%u %63s %29999s", &id, run, hosts) != 3)
		errx(2, "names_of %s", args);
	ipc_params_init(&p, MSG_E_NAMES);
	ipc_set_int(&p, F_CELL_ID, id);
	ipc_set_str(&p, F_RUN_ID, run);
	ipc_set_str(&p, F_HOSTS, lines(hosts));
	note(&p);
}

static void
do_unbind(const char *args)
{
	struct ipc_params p;
	unsigned int id;
	char run[64];

	if (sscanf(args, "%u %63s", &id, run) != 2)
		errx(2, "unbind %s", args);
	ipc_params_init(&p, MSG_E_UNBIND);
	ipc_set_int(&p, F_CELL_ID, id);
	ipc_set_str(&p, F_RUN_ID, run);
	note(&p);
}

static void
do_plain(const char *line)
{
	if (strcmp(line, "link") == 0)
		do_link();
	else if (strcmp(line, "unlink") == 0)
		chan_free(&chan);
	else if (strcmp(line, "stop") == 0)
		fd_close(&launch_sock);
	else if (strcmp(line, "kill") == 0)
		kill(pid, SIGKILL);
	else
		errx(2, "what is \"%s\"?", line);
}

static void
do_line(const char *line)
{
	static const struct {
		const char *word;
		void (*run)(const char *args);
	} rows[] = { { "listen ", do_listen }, { "gone ", do_gone },
		{ "names ", do_names }, { "names_of ", do_names_of },
		{ "setting ", do_setting }, { "bind ", do_bind },
		{ "unbind ", do_unbind } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].word);

		if (strncmp(line, rows[i].word, n) == 0) {
			rows[i].run(line + n);
			return;
		}
	}
	do_plain(line);
}

static void
on_input(evutil_socket_t fd, short what, void *arg)
{
	ssize_t n = read(0, input + input_len, sizeof(input) - input_len);
	char *end, *from = input;

	if (n <= 0)
		exit(0);
	input_len += (size_t)n;
	while ((end = memchr(from, '\n', input_len - (size_t)(from - input))) !=
	    NULL) {
		*end = '\0';
		do_line(from);
		from = end + 1;
	}
	input_len -= (size_t)(from - input);
	memmove(input, from, input_len);
}

static void
on_child(evutil_socket_t fd, short what, void *arg)
{
	int status;

	if (waitpid(pid, &status, WNOHANG) == pid)
		say("ended %d", status);
}

static void
start(char **argv)
{
	int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		err(2, "start");
	pid = fork();
	if (pid == -1)
		err(2, "fork");
	if (pid == 0) {
		pair[1] = fcntl(pair[1], F_DUPFD, 10);
		if (dup2(null, 0) == -1 || dup2(null, 1) == -1 ||
		    dup2(pair[1], 3) == -1 || close_range(4, ~0U, 0) == -1)
			err(2, "descriptors");
		execv(argv[0], argv);
		err(2, "%s", argv[0]);
	}
	close(null);
	close(pair[1]);
	launch_sock = pair[0];
	if (fd_set_nonblock(launch_sock) != 0)
		err(2, "nonblock");
	say("pid %d", (int)pid);
}

int
main(int argc, char **argv)
{
	struct event *on_end;

	if (argc < 2)
		errx(2, "usage: drive EGRESSD [ARGUMENT ...]");
	signal(SIGPIPE, SIG_IGN);
	start(argv + 1);
	base = event_base_new();
	on_end = evsignal_new(base, SIGCHLD, on_child, NULL);
	on_line = event_new(base, 0, EV_READ | EV_PERSIST, on_input, NULL);
	if (base == NULL || on_end == NULL || on_line == NULL ||
	    event_add(on_end, NULL) == -1 || event_add(on_line, NULL) == -1)
		err(2, "events");
	event_base_dispatch(base);
	return 0;
}
