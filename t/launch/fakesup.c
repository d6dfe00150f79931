/*
 * fakesup: stands in for supervisord in tests of the launcher. Takes lines
 * from one client of the admin socket at a time and says what happens:
 *
 *   spawn ID WORKER_SLOT BROWSER_SLOT FLAGS SESSION [PROFILE]
 *   worker ID (the next one) | killworker ID | forget PROFILE
 *   known PROFILE | purge
 *   kill ID | check ID | tell ID TEXT (a packet for the worker) | garbage
 *   secret RUN LENGTH TEXT (so long with x behind it) | give ID RUN | drop RUN
 *   unsealed RUN (something that is no sealed memfd)
 *   limits MEMORY PROFILE CPU_MS PROCESSES (of the cells to come)
 *   who | exit STATUS | deaf (ignores SIGTERM)
 *   adopted ID | name ID NAME
 *
 *   ready ID KIND | sandbox ID RENDERERS SECCOMP DEPTH NNP
 *   browser_exited ID STATUS | worker_ready ID | worker_exited ID STATUS
 *   reaped ID STATUS CAUSE ERRNO STAGE
 *   limit ID WHICH LIMIT VALUE (USAGE is not told)
 *   worker ID TEXT | log ID TEXT | me PID UID GID GROUPS FDS
 *   adopt ID NAME HAS_WORKER BROWSER FLAGS RENDERERS MEMORY [PROFILE]
 *   kept RUN | adopt_end COUNT | restart
 *
 * What it is offered at its start it has killed before it serves; with
 * BROWSERTASK_TEST_ASKS in the environment the client decides. While the file is there
 * that BROWSERTASK_TEST_ENDS names it ends at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launch/launch.h"

enum {
	FD_LAUNCH = 3,
	FD_CLIENT,
	FD_ADMIN,
	FD_NEXT
};

#define CELLS 64

static struct {
	uint32_t id;
	int ipc;
	int log;
} cells[CELLS];
static int ncells;
static struct launch_limits limits = { UINT64_C(2) << 30, 256 << 20, 0, 2048,
	0 }; /* of the cells to come */
static FILE *out;

static void
send_msg_fd(const struct launch_msg *m, const int *fd)
{
	if (launch_send(FD_LAUNCH, LAUNCH_FROM_SUPERVISORD, m, fd) != 0)
		exit(1);
}

static void
send_msg(const struct launch_msg *m)
{
	send_msg_fd(m, NULL);
}

static void
secret_init(struct launch_msg *m, enum launch_type type, const char *run)
{
	launch_msg_init(m, type, 0);
	if (!ulid_parse(run, &m->u.secret.run))
		exit(2);
}

static void
do_secret(const char *args)
{
	char run[64], text[64], bytes[65536];
	struct launch_msg m;
	unsigned int len;
	int fd = memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (sscanf(args, "%63s %u %63s", run, &len, text) != 3 ||
	    len > sizeof(bytes) || len < strlen(text))
		exit(2);
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, text, strlen(text));
	if (fd == -1 || fd_write_all(fd, bytes, len) != 0 ||
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == -1)
		exit(2);
	secret_init(&m, LAUNCH_SECRET, run);
	send_msg_fd(&m, &fd);
	close(fd);
}

static void
do_unsealed(const char *run)
{
	struct launch_msg m;
	int fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	secret_init(&m, LAUNCH_SECRET, run);
	send_msg_fd(&m, &fd);
	close(fd);
}

static void
do_give(const char *args)
{
	char run[64];
	unsigned int id;
	struct launch_msg m;

	if (sscanf(args, "%u %63s", &id, run) != 2)
		exit(2);
	secret_init(&m, LAUNCH_SECRET_GIVE, run);
	m.cell_id = id;
	send_msg(&m);
}

static void
do_drop(const char *run)
{
	struct launch_msg m;

	secret_init(&m, LAUNCH_SECRET_DROP, run);
	send_msg(&m);
}

static void
do_spawn(const char *args)
{
	char session[64], profile[64] = "";
	unsigned int id, worker, browser, flags;
	struct launch_msg m;

	if (sscanf(args, "%u %u %u %u %63s %63s", &id, &worker, &browser,
		&flags, session, profile) < 5)
		exit(2);
	launch_msg_init(&m, LAUNCH_SPAWN, id);
	m.u.spawn.worker_slot = (uint16_t)worker;
	m.u.spawn.browser_slot = (uint16_t)browser;
	m.u.spawn.flags = flags;
	if (!ulid_parse(session, &m.u.spawn.session))
		exit(2);
	strlcpy(m.u.spawn.profile, profile, sizeof(m.u.spawn.profile));
	m.u.spawn.limits = limits;
	send_msg(&m);
}

static void
do_limits(const char *args)
{
	unsigned long long memory, profile, cpu;
	unsigned int processes;

	if (sscanf(args, "%llu %llu %llu %u", &memory, &profile, &cpu,
		&processes) != 4)
		exit(2);
	limits = (struct launch_limits){ memory, profile, cpu, processes, 0 };
}

static void
do_simple(enum launch_type type, const char *args)
{
	struct launch_msg m;

	launch_msg_init(&m, type, (uint32_t)strtoul(args, NULL, 10));
	send_msg(&m);
}

static void
do_profile(enum launch_type type, const char *name)
{
	struct launch_msg m;

	launch_msg_init(&m, type, 0);
	strlcpy(m.u.profile.name, name, sizeof(m.u.profile.name));
	send_msg(&m);
}

static void
do_name(const char *args)
{
	char *name;
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_NAME, (uint32_t)strtoul(args, &name, 10));
	strlcpy(m.u.worker.name, name + 1, sizeof(m.u.worker.name));
	send_msg(&m);
}

static void
do_tell(const char *args)
{
	char *text;
	uint32_t id = (uint32_t)strtoul(args, &text, 10);

	for (int i = 0; i < ncells; i++)
		if (cells[i].id == id &&
		    send(cells[i].ipc, text + 1, strlen(text + 1),
			MSG_NOSIGNAL) == -1)
			fprintf(out, "worker %u gone\n", (unsigned int)id);
}

static void
do_who(void)
{
	gid_t groups[8];

	fprintf(out, "me %d %d %d %d ", getpid(), getuid(), getgid(),
	    getgroups(8, groups));
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			fprintf(out, "%d,", fd);
	fprintf(out, "\n");
}

static void
do_deaf(void)
{
	signal(SIGTERM, SIG_IGN);
	fprintf(out, "deaf\n");
}

static void
obey(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "spawn ", 6) == 0)
		do_spawn(line + 6);
	else if (strncmp(line, "kill ", 5) == 0)
		do_simple(LAUNCH_KILL, line + 5);
	else if (strncmp(line, "check ", 6) == 0)
		do_simple(LAUNCH_CHECK, line + 6);
	else if (strncmp(line, "worker ", 7) == 0)
		do_simple(LAUNCH_WORKER, line + 7);
	else if (strncmp(line, "killworker ", 11) == 0)
		do_simple(LAUNCH_KILL_WORKER, line + 11);
	else if (strncmp(line, "forget ", 7) == 0)
		do_profile(LAUNCH_FORGET, line + 7);
	else if (strncmp(line, "known ", 6) == 0)
		do_profile(LAUNCH_KNOWN, line + 6);
	else if (strcmp(line, "purge") == 0)
		do_simple(LAUNCH_PURGE, "0");
	else if (strncmp(line, "limits ", 7) == 0)
		do_limits(line + 7);
	else if (strncmp(line, "tell ", 5) == 0)
		do_tell(line + 5);
	else if (strncmp(line, "secret ", 7) == 0)
		do_secret(line + 7);
	else if (strncmp(line, "unsealed ", 9) == 0)
		do_unsealed(line + 9);
	else if (strncmp(line, "give ", 5) == 0)
		do_give(line + 5);
	else if (strncmp(line, "drop ", 5) == 0)
		do_drop(line + 5);
	else if (strncmp(line, "adopted ", 8) == 0)
		do_simple(LAUNCH_ADOPTED, line + 8);
	else if (strncmp(line, "name ", 5) == 0)
		do_name(line + 5);
	else if (strcmp(line, "garbage") == 0)
		send(FD_LAUNCH, line, 7, 0);
	else if (strcmp(line, "who") == 0)
		do_who();
	else if (strcmp(line, "deaf") == 0)
		do_deaf();
	else if (strncmp(line, "exit ", 5) == 0)
		_exit((int)strtol(line + 5, NULL, 10));
	else
		exit(2);
}

static void
cell_add(uint32_t id, const int fds[LAUNCH_MAX_FDS])
{
	if (ncells == CELLS)
		exit(3);
	cells[ncells].id = id;
	cells[ncells].ipc = fds[LAUNCH_FD_IPC];
	cells[ncells].log = fds[LAUNCH_FD_LOG];
	ncells++;
}

/* A further worker of a cell that is known. */
static void
cell_again(uint32_t id, int ipc)
{
	for (int i = 0; i < ncells; i++)
		if (cells[i].id == id) {
			fd_close(&cells[i].ipc);
			cells[i].ipc = ipc;
			return;
		}
	exit(5);
}

static void
offered(uint32_t id, const struct launch_adopt *a, const int *fds)
{
	const struct launch_spawn *s = &a->spawn;

	cell_add(id, fds);
	fprintf(out, "adopt %u %s %u %u %u %u %llu %s\n", (unsigned int)id,
	    s->name[0] == '\0' ? "-" : s->name, a->has_worker, a->browser,
	    s->flags, a->sandbox.renderers, (unsigned long long)a->usage.memory,
	    s->profile);
}

static void
tell_kept(const struct launch_kept *k)
{
	char text[ULID_CHARS + 1];

	for (uint32_t i = 0; i < k->count; i++) {
		ulid_format(&k->runs[i], text);
		fprintf(out, "kept %s\n", text);
	}
}

/* It is alive, whatever it is told to do. */
static void
answer(void)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_PONG, 0);
	send_msg(&m);
}

static void
from_launcher(void)
{
	int fds[LAUNCH_MAX_FDS];
	struct launch_msg m;
	unsigned int id;

	if (launch_recv(FD_LAUNCH, LAUNCH_TO_SUPERVISORD, &m, fds) != 0)
		exit(4);
	id = m.cell_id;
	switch (m.type) {
	case LAUNCH_PING:
		answer();
		break;
	case LAUNCH_READY:
		cell_add(id, fds);
		fprintf(out, "ready %u %u\n", id, m.u.ready.browser);
		break;
	case LAUNCH_SANDBOX:
		fprintf(out, "sandbox %u %d %d %d %d\n", id,
		    m.u.sandbox.renderers, m.u.sandbox.seccomp_mode,
		    m.u.sandbox.ns_depth, m.u.sandbox.no_new_privs);
		break;
	case LAUNCH_BROWSER_EXITED:
		fprintf(out, "browser_exited %u %d\n", id, m.u.exited.status);
		break;
	case LAUNCH_WORKER_READY:
		cell_again(id, fds[LAUNCH_FD_IPC]);
		fprintf(out, "worker_ready %u\n", id);
		break;
	case LAUNCH_WORKER_EXITED:
		fprintf(out, "worker_exited %u %d\n", id, m.u.exited.status);
		break;
	case LAUNCH_LIMIT:
		fprintf(out, "limit %u %u %llu %llu\n", id, m.u.breach.which,
		    (unsigned long long)m.u.breach.limit,
		    (unsigned long long)m.u.breach.value);
		break;
	case LAUNCH_ADOPT:
		offered(id, &m.u.adopt, fds);
		break;
	case LAUNCH_ADOPT_END:
		fprintf(out, "adopt_end %u\n", m.u.adopt_end.count);
		break;
	case LAUNCH_SECRET_KEPT:
		tell_kept(&m.u.kept);
		break;
	case LAUNCH_RESTART:
		fprintf(out, "restart\n");
		break;
	case LAUNCH_USAGE:
	case LAUNCH_EGRESS_DOWN:
	case LAUNCH_PROTECTION:
	case LAUNCH_SETTING:
		break;
	case LAUNCH_EGRESS:
		fd_close(&fds[0]);
		break;
	default:
		fprintf(out, "reaped %u %d %s %d %s\n", id, m.u.reaped.status,
		    launch_cause_name(m.u.reaped.cause), m.u.reaped.error,
		    m.u.reaped.stage);
		break;
	}
}

/* Passes on what came; an ended source is closed. */
static void
relay(const char *what, uint32_t id, int *fd)
{
	char text[60000];
	ssize_t n = read(*fd, text, sizeof(text) - 1);

	if (n <= 0) {
		fd_close(fd);
		return;
	}
	text[n] = '\0';
	for (char *line = text, *next; line != NULL && *line != '\0';
	     line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		fprintf(out, "%s %u %s\n", what, (unsigned int)id, line);
	}
}

static void
serve(FILE *in)
{
	struct pollfd p[2 + 2 * CELLS];
	char line[65536];
	int n;

	for (;;) {
		p[0] = (struct pollfd){ FD_LAUNCH, POLLIN, 0 };
		p[1] = (struct pollfd){ fileno(in), POLLIN, 0 };
		n = ncells;
		for (int i = 0; i < n; i++) {
			p[2 + 2 * i] =
			    (struct pollfd){ cells[i].ipc, POLLIN, 0 };
			p[3 + 2 * i] =
			    (struct pollfd){ cells[i].log, POLLIN, 0 };
		}
		if (poll(p, 2 + 2 * (nfds_t)n, -1) == -1)
			exit(1);
		for (int i = 0; i < n; i++) {
			if (p[2 + 2 * i].revents != 0)
				relay("worker", cells[i].id, &cells[i].ipc);
			if (p[3 + 2 * i].revents != 0)
				relay("log", cells[i].id, &cells[i].log);
		}
		if (p[0].revents != 0)
			from_launcher();
		if (p[1].revents != 0) {
			if (fgets(line, sizeof(line), in) == NULL)
				return;
			obey(line);
		}
		fflush(out);
	}
}

/* Has all of a former life killed, and waits for its end. */
static void
refuse_all(void)
{
	int fds[LAUNCH_MAX_FDS], living = 0;
	struct launch_msg m, kill;
	bool all = false;

	while (!all || living > 0) {
		if (launch_recv(FD_LAUNCH, LAUNCH_TO_SUPERVISORD, &m, fds) != 0)
			exit(4);
		if (m.type == LAUNCH_PING)
			answer();
		for (int i = 0; i < LAUNCH_MAX_FDS; i++)
			fd_close(&fds[i]);
		if (m.type == LAUNCH_ADOPT) {
			launch_msg_init(&kill, LAUNCH_KILL, m.cell_id);
			send_msg(&kill);
			living++;
		}
		all = all || m.type == LAUNCH_ADOPT_END;
		living -= m.type == LAUNCH_REAPED;
	}
}

/* Whether the test is told nothing of the next message; false: none came. */
static bool
is_next_untold(void)
{
	struct launch_msg m;

	if (recv(FD_LAUNCH, &m, sizeof(m), MSG_PEEK) != (ssize_t)sizeof(m))
		return false;
	return m.type == LAUNCH_PING || m.type == LAUNCH_PROTECTION ||
	    m.type == LAUNCH_SETTING || m.type == LAUNCH_USAGE ||
	    m.type == LAUNCH_EGRESS || m.type == LAUNCH_EGRESS_DOWN;
}

/*
 * Waits for a connection of the test, and answers the launcher meanwhile; what
 * is to be told stays for the test to see.
 */
static void
await_test(void)
{
	struct pollfd p[2] = { { FD_ADMIN, POLLIN, 0 },
		{ FD_LAUNCH, POLLIN, 0 } };
	nfds_t n = 2;

	for (;;) {
		poll(p, n, -1);
		if (p[0].revents != 0)
			return;
		if (is_next_untold())
			from_launcher();
		else
			n = 1;
	}
}

int
main(int argc, char **argv)
{
	struct launch_msg m;
	FILE *in;
	int fd;

	log_init("fakesup", LOGL_INFO);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 1; i + 1 < argc; i += 2)
		if (strcmp(argv[i], "-o") == 0 &&
		    strcmp(argv[i + 1], "debug=yes") == 0)
			return 9;
	if (getenv("BROWSERTASK_TEST_ENDS") != NULL &&
	    access(getenv("BROWSERTASK_TEST_ENDS"), F_OK) == 0)
		return 1;
	if (fcntl(FD_NEXT, F_GETFD) != -1)
		fatal("descriptor %d is open", FD_NEXT);
	if (listen(FD_ADMIN, 8) == -1 || listen(FD_CLIENT, 8) == -1)
		fatal("listen: %s", strerror(errno));
	if (getenv("BROWSERTASK_TEST_ASKS") == NULL)
		refuse_all();
	launch_msg_init(&m, LAUNCH_SERVING, 0);
	send_msg(&m);
	for (;;) {
		await_test();
		fd = accept(FD_ADMIN, NULL, NULL);
		if (fd == -1)
			continue;
		in = fdopen(fd, "r");
		out = fdopen(dup(fd), "w");
		if (in == NULL || out == NULL)
			return 1;
		setvbuf(in, NULL, _IONBF, 0);
		serve(in);
		fclose(in);
		fclose(out);
	}
}
