/*
 * inspect: starts supervisord's program once more, to look at the store or to
 * copy it while the service goes on. Runs in the launcher. The process has the
 * uid of supervisord and one descriptor, the connection of the client who
 * asked; what it writes goes there and nowhere else. It lives in the PID
 * namespace of supervisord, as LMDB wants of all who share a database.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launcher/clone.h"
#include "launcher/inspect.h"
#include "launcher/uidblock.h"

#define EXIT_NO_EXEC 127

struct inspect {
	struct event_base *base;
	const struct spawn_env *env;
	void (*ended)(void *arg, int status);
	void *arg;
	pid_t pid; /* 0: there is none */
	int pidfd;
	struct event *on_pidfd;
};

static const char *const modes[LAUNCH_INSPECT__MAX] = {
	[LAUNCH_INSPECT_CHECK] = "check",
	[LAUNCH_INSPECT_BACKUP] = "backup",
};

static void
forget(struct inspect *in)
{
	if (in->on_pidfd != NULL)
		event_free(in->on_pidfd);
	in->on_pidfd = NULL;
	fd_close(&in->pidfd);
	in->pid = 0;
}

static void
on_end(evutil_socket_t fd, short what, void *arg)
{
	struct inspect *in = arg;
	int status;

	if (waitpid(in->pid, &status, WNOHANG) != in->pid)
		return;
	if (WIFSIGNALED(status))
		log_err("the process that read the store was ended by signal "
			"%d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	forget(in);
	in->ended(in->arg, status);
}

static bool
follow(struct inspect *in)
{
	in->on_pidfd =
	    event_new(in->base, in->pidfd, EV_READ | EV_PERSIST, on_end, in);
	return in->on_pidfd != NULL && event_add(in->on_pidfd, NULL) == 0;
}

/* From clone to exec; returns only on failure. */
static int
child_become(const struct inspect *in, enum launch_inspection what, int client)
{
	bool waived = spawn_waives(in->env, PROTECTION_CALL_FILTERS);
	const char *argv[] = { "supervisord", "-I", modes[what], "-s",
		in->env->dirs->state, waived ? "-w" : NULL, NULL };
	uid_t uid = in->env->uid_base + UID_SUPERVISORD;
	char *env[SPAWN_ENVIRONMENT_MAX];
	int fds[4], program, error;

	fds[0] = fds[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fds[0] == -1)
		return errno;
	fds[2] = STDERR_FILENO;
	fds[3] = client;
	if (in->env->system &&
	    (setgroups(0, NULL) == -1 || setresgid(uid, uid, uid) == -1 ||
		setresuid(uid, uid, uid) == -1))
		return errno;
	error = clone_die_with_parent(in->env->self_pidfd);
	if (error != 0)
		return error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	error = clone_set_fds(fds, 4, in->env->programs->supervisord, &program);
	if (error != 0)
		return error;
	spawn_environment(env);
	return clone_become(program, argv, env);
}

void
inspect_start(struct inspect *in, enum launch_inspection what, int client)
{
	int error;

	if (in->pid != 0) {
		log_warn("the store is being read already");
		return;
	}
	error = clone_process(0, -1, &in->pid, &in->pidfd);
	if (error == 0 && in->pid == 0) {
		error = child_become(in, what, client);
		log_err("cannot read the store: %s", strerror(error));
		_exit(EXIT_NO_EXEC);
	}
	if (error == 0) {
		if (follow(in))
			return;
		inspect_stop(in);
		error = ENOMEM;
	}
	log_err(
	    "cannot start a process to read the store: %s", strerror(error));
	in->ended(in->arg, 0);
}

void
inspect_stop(struct inspect *in)
{
	if (in->pid == 0)
		return;
	pidfd_send_signal(in->pidfd, SIGKILL, NULL, 0);
	while (waitpid(in->pid, NULL, 0) == -1 && errno == EINTR)
		;
	forget(in);
}

bool
inspect_runs(const struct inspect *in)
{
	return in->pid != 0;
}

void
inspect_carry(const struct inspect *in, struct carry *to)
{
	to->inspect = in->pid;
	to->inspect_pidfd = in->pidfd;
}

int
inspect_resume(struct inspect *in, const struct carry *from)
{
	if (from->inspect == 0)
		return 0;
	in->pid = from->inspect;
	in->pidfd = from->inspect_pidfd;
	return follow(in) ? 0 : ENOMEM;
}

struct inspect *
inspect_new(struct event_base *base, const struct spawn_env *env,
    void (*ended)(void *arg, int status), void *arg)
{
	struct inspect *in = calloc(1, sizeof(*in));

	if (in == NULL)
		return NULL;
	in->base = base;
	in->env = env;
	in->ended = ended;
	in->arg = arg;
	in->pidfd = -1;
	return in;
}

void
inspect_free(struct inspect **inspect)
{
	struct inspect *in = *inspect;

	*inspect = NULL;
	if (in == NULL)
		return;
	inspect_stop(in);
	free(in);
}
