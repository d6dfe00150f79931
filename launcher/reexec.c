/*
 * reexec: how a launcher follows another without ending what it holds. Runs in
 * the launcher. The new program is tried in a process of its own first, on the
 * very state it would take over: only one that says it can is executed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/clone.h"
#include "launcher/instance.h"
#include "launcher/notify.h"
#include "launcher/reexec.h"

#define ENV_CARRY    "BROWSERTASKD_CARRY" /* number of the descriptor */
#define ENV_PROBE    "BROWSERTASKD_PROBE"
#define PROBE_MS     10000
#define EXIT_NO_EXEC 127

bool
reexec_before(const struct carry **ret_before, bool *ret_probe)
{
	static struct carry carried;
	const char *text = getenv(ENV_CARRY), *wrong;
	char why[CARRY_WHY_BYTES];
	int fd;

	*ret_before = NULL;
	*ret_probe = text != NULL && getenv(ENV_PROBE) != NULL;
	if (text == NULL)
		return true;
	fd = (int)strtonum(text, STDERR_FILENO + 1, INT_MAX, &wrong);
	unsetenv(ENV_CARRY);
	unsetenv(ENV_PROBE);
	if (*ret_probe)
		log_init("browsertaskd", LOGL_ERR);
	if (wrong != NULL || !carry_read(fd, &carried, why)) {
		log_err("what the running browsertaskd holds cannot be taken "
			"over: %s",
		    wrong != NULL ? wrong : why);
		return false;
	}
	if (*ret_probe)
		CRASH_POINT(probe_read);
	else
		CRASH_POINT(carry_taken);
	fd_close(&fd);
	carry_keep_open(&carried, false);
	*ret_before = &carried;
	return true;
}

/* What it holds while there is no supervisord. */
static void
gather(const struct instance *in, struct carry *c)
{
	carry_init(c);
	strlcpy(c->state, in->dirs.state, sizeof(c->state));
	strlcpy(c->run, in->dirs.run, sizeof(c->run));
	c->state_fd = in->dirs.state_fd;
	c->kept_fd = in->dirs.kept_fd;
	c->lock_fd = in->dirs.lock_fd;
	c->run_lock_fd = in->dirs.run_lock_fd;
	c->owner = in->dirs.owner;
	c->uid_base = in->env.uid_base;
	c->uid_lock_fd = in->uid_lock_fd;
	c->client_fd = in->sockets.client_fd;
	c->admin_fd = in->sockets.admin_fd;
	c->inherited = in->sockets.inherited;
	c->terminal = in->terminal;
	c->groups_dir = in->groups.dir;
	c->groups_changes = in->groups.changes;
	strlcpy(c->groups_why, in->groups_why, sizeof(c->groups_why));
	cells_carry(in->cells, c);
	secrets_carry(in->secrets, c);
	inspect_carry(in->inspect, c);
	/* It serves cells; without any, it can be of the new program, too. */
	if (c->ncells > 0)
		egress_carry(in->egress, c);
}

/* In the environment: this program's own, the next one's for a moment. */
static void
point_at(int carry_fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", carry_fd);
	setenv(ENV_CARRY, text, 1);
	fd_set_cloexec(carry_fd, 0);
}

/* From clone to exec; returns only on failure. */
static int
probe_become(
    const struct instance *in, const struct carry *c, int carry_fd, int program)
{
	int error = clone_die_with_parent(in->env.self_pidfd);

	if (error != 0)
		return error;
	carry_keep_open(c, true);
	point_at(carry_fd);
	setenv(ENV_PROBE, "1", 1);
	return clone_become(
	    program, (const char *const *)(uintptr_t)in->argv, environ);
}

/* Waits for it, which reads and opens what the service would. */
static bool
probe_wait(pid_t pid, int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int status = -1;

	if (poll(&p, 1, PROBE_MS) != 1)
		pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
probe(
    const struct instance *in, const struct carry *c, int carry_fd, int program)
{
	int pidfd, error;
	bool good;
	pid_t pid;

	error = clone_process(0, -1, &pid, &pidfd);
	if (error == 0 && pid == 0) {
		error = probe_become(in, c, carry_fd, program);
		log_err("cannot try %s: %s", in->argv[0], strerror(error));
		_exit(EXIT_NO_EXEC);
	}
	if (error != 0) {
		log_err("cannot try %s: %s", in->argv[0], strerror(error));
		return false;
	}
	good = probe_wait(pid, pidfd);
	close(pidfd);
	return good;
}

/* Returns only on failure, and then all is as before. */
static void
become(struct instance *in, const struct carry *c, int carry_fd, int program)
{
	CRASH_POINT(renew_tried);
	if (c->egressd == 0)
		egress_end(in->egress);
	cells_stop_removing(in->cells);
	notify_hand_on();
	watchdog_hand_on(in->watchdog);
	carry_keep_open(c, true);
	point_at(carry_fd);
	CRASH_POINT(renew_executes);
	execveat(program, "", in->argv, environ, AT_EMPTY_PATH);
	log_err("cannot execute %s: %s", in->argv[0], strerror(errno));
	carry_keep_open(c, false);
	unsetenv(ENV_CARRY);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	if (c->egressd == 0)
		egress_start(in->egress);
}

/*
 * The name it was started by, since that is what is replaced; without a path in
 * it, the file it was started from.
 */
static int
open_program(const struct instance *in)
{
	char path[PATH_MAX];
	ssize_t n;

	if (strchr(in->argv[0], '/') != NULL)
		return open(in->argv[0], O_PATH | O_CLOEXEC);
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n == -1)
		return -1;
	path[n] = '\0';
	return open(path, O_PATH | O_CLOEXEC);
}

void
reexec_try(struct instance *in)
{
	static struct carry carried; /* it is large */
	int program = open_program(in), carry_fd = -1, error;

	gather(in, &carried);
	error = program == -1 ? errno : carry_write(&carried, &carry_fd);
	if (error == 0)
		CRASH_POINT(carry_sealed);
	if (error != 0)
		log_err("%s: %s", in->argv[0], strerror(error));
	else if (probe(in, &carried, carry_fd, program))
		become(in, &carried, carry_fd, program);
	log_err("the program on the disk does not take over: all goes on with "
		"the one that runs, and its settings; mend what is said above, "
		"or stop and start the service");
	fd_close(&carry_fd);
	fd_close(&program);
}
