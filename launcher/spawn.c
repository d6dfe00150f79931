/*
 * spawn: from a SPAWN to a running cell: profile, sockets, pipes, clone, and
 * in the child everything up to exec. Runs in the launcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdio.h"
#include "launcher/profiles.h"
#include "launcher/clone.h"
#include "launcher/compartment.h"
#include "launcher/spawn.h"
#include "launcher/uidblock.h"

/* Descriptors of the cell, in the order of their numbers there. */
enum {
	IN,
	OUT,
	LOG,
	LAUNCHER,
	WORKER_CDP_IN,
	WORKER_CDP_OUT,
	BROWSER_CDP_IN,
	BROWSER_CDP_OUT,
	WORKER_IPC,
	WORKER_PROGRAM,
	BROWSER_PROGRAM,
	CELL_FDS
};

/* Everything that is open while a cell is being made. */
struct spawn_fds {
	int null;
	int link[2]; /* launcher's end, cell's end */
	int ipc[2];  /* supervisord's end, worker's end */
	int log[2];
	int command[2]; /* worker to browser */
	int reply[2];   /* browser to worker */
};

static void
fds_init(struct spawn_fds *f)
{
	memset(f, -1, sizeof(*f));
}

static void
fds_close(struct spawn_fds *f)
{
	int *each = (int *)f;

	for (size_t i = 0; i < sizeof(*f) / sizeof(int); i++)
		fd_close(&each[i]);
}

static int
fds_open(struct spawn_fds *f, bool browser)
{
	const int packets = SOCK_SEQPACKET | SOCK_CLOEXEC;

	f->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (f->null == -1 || socketpair(AF_UNIX, packets, 0, f->link) == -1 ||
	    socketpair(AF_UNIX, packets, 0, f->ipc) == -1 ||
	    pipe2(f->log, O_CLOEXEC) == -1)
		return errno;
	if (browser &&
	    (pipe2(f->command, O_CLOEXEC) == -1 ||
		pipe2(f->reply, O_CLOEXEC) == -1))
		return errno;
	return fd_set_nonblock(f->link[0]);
}

/* Without a browser its places are filled with /dev/null. */
static void
fds_arrange(const struct spawn_fds *f, const struct spawn_env *env, int browser,
    int ret_fds[CELL_FDS])
{
	bool with = browser != -1;

	ret_fds[IN] = ret_fds[OUT] = f->null;
	ret_fds[LOG] = f->log[1];
	ret_fds[LAUNCHER] = f->link[1];
	ret_fds[WORKER_CDP_IN] = with ? f->reply[0] : f->null;
	ret_fds[WORKER_CDP_OUT] = with ? f->command[1] : f->null;
	ret_fds[BROWSER_CDP_IN] = with ? f->command[0] : f->null;
	ret_fds[BROWSER_CDP_OUT] = with ? f->reply[1] : f->null;
	ret_fds[WORKER_IPC] = f->ipc[1];
	ret_fds[WORKER_PROGRAM] = env->programs->workerd;
	ret_fds[BROWSER_PROGRAM] = with ? browser : f->null;
}

bool
spawn_waives(const struct spawn_env *env, enum protection p)
{
	return (env->waived & UINT32_C(1) << p) != 0;
}

static uid_t
spawn_uid(const struct spawn_env *env, unsigned int offset)
{
	return env->system ? env->uid_base + offset : geteuid();
}

static void
start_fill(const struct spawn_env *env, const struct launch_spawn *spawn,
    const struct spawned *cell, struct launch_msg *m)
{
	struct launch_start *s = &m->u.start;

	launch_msg_init(m, LAUNCH_START, 0);
	s->session = spawn->session;
	s->flags = spawn->flags;
	s->browser = cell->browser;
	s->change_ids = env->system;
	s->cell_uid = spawn_uid(env, UID_CELL);
	s->worker_uid = spawn_uid(env, UID_WORKER + spawn->worker_slot);
	s->browser_uid = spawn_uid(env, UID_BROWSER + spawn->browser_slot);
	s->limits = spawn->limits;
	s->grouped = cell->group.dir != -1;
	s->waived = env->waived;
	s->in_memory = spawn->profile[0] == '\0';
	if (cell->browser != LAUNCH_BROWSER_NONE)
		strlcpy(s->profile_dir, COMPARTMENT_PROFILE,
		    sizeof(s->profile_dir));
}

void
spawn_environment(char *ret_env[SPAWN_ENVIRONMENT_MAX])
{
	static char path[] = "PATH=/usr/bin:/bin", lang[] = "LANG=C.UTF-8";
	static const char *const kept[] = { "TZ", "ASAN_OPTIONS",
		"UBSAN_OPTIONS", "LSAN_OPTIONS" };
	static char text[sizeof(kept) / sizeof(kept[0])][256];
	const char *value;
	size_t n = 0;

	ret_env[n++] = path;
	ret_env[n++] = lang;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		value = getenv(kept[i]);
		if (value == NULL ||
		    snprintf(text[i], sizeof(text[i]), "%s=%s", kept[i],
			value) >= (int)sizeof(text[i]))
			continue;
		ret_env[n++] = text[i];
	}
	ret_env[n] = NULL;
}

/* The launcher has it before it hears of anything else. */
static int
child_give_listener(const struct compartment *inside, int link)
{
	struct launch_msg m;
	int fd, error;

	error = compartment_listen(inside, &fd);
	if (error != 0 || fd == -1)
		return error;
	launch_msg_init(&m, LAUNCH_LISTENER, 0);
	error = launch_send(link, LAUNCH_FROM_CELL, &m, &fd);
	close(fd);
	return error;
}

/* What the browser's program is called, while that can still be asked. */
static void
child_note_browser(int fd, char ret_path[PATH_MAX])
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, ret_path, PATH_MAX - 1);
	ret_path[n == -1 ? 0 : n] = '\0';
}

/*
 * The same file by its path in the new root, where it is read-only: else a
 * browser of the user's own could write to its program by /proc/self/exe. One
 * that was replaced or removed since the start is executed as it was.
 */
static void
child_find_browser(const char *path, int *fd)
{
	struct stat was, is;
	int inside = open(path, O_PATH | O_CLOEXEC);

	if (inside == -1)
		return;
	if (fstat(*fd, &was) == 0 && fstat(inside, &is) == 0 &&
	    was.st_dev == is.st_dev && was.st_ino == is.st_ino)
		*fd = inside;
	else
		close(inside);
}

/* From clone to exec; returns only on failure. */
static int
child_become_cell(const struct spawn_env *env, const struct launch_spawn *spawn,
    const struct compartment *inside, int fds[CELL_FDS], const char **ret_stage)
{
	static const char *const argv[] = { "cell", NULL };
	char *environment[SPAWN_ENVIRONMENT_MAX], browser[PATH_MAX];
	int program, error;

	*ret_stage = "die with the launcher";
	error = clone_die_with_parent(env->self_pidfd);
	if (error != 0)
		return error;
	/* Here, since it takes its time: the launcher does not wait for it. */
	*ret_stage = "give the profile";
	if (env->system && inside->profile[0] != '\0')
		error = profile_give(
		    env->dirs, spawn->profile, inside->profile_uid);
	if (error != 0)
		return error;
	child_note_browser(fds[BROWSER_PROGRAM], browser);
	error = compartment_enter(inside, ret_stage);
	if (error != 0)
		return error;
	if (inside->browser)
		child_find_browser(browser, &fds[BROWSER_PROGRAM]);
	*ret_stage = "hand over the listener";
	error = child_give_listener(inside, fds[LAUNCHER]);
	if (error != 0)
		return error;
	*ret_stage = "set descriptors";
	error = clone_set_fds(fds, CELL_FDS, env->programs->cell, &program);
	if (error != 0)
		return error;
	*ret_stage = "execute cell";
	spawn_environment(environment);
	return clone_become(program, argv, environment);
}

/* Tells the launcher on the link of the cell when it fails. */
static _Noreturn void
spawn_child(const struct spawn_env *env, const struct launch_spawn *spawn,
    const struct compartment *inside, int fds[CELL_FDS])
{
	const char *stage = "keep the link";
	struct launch_msg m;
	int link, error;

	/* A number that the cell's own descriptors do not take. */
	link = fcntl(fds[LAUNCHER], F_DUPFD_CLOEXEC, CELL_FDS);
	if (link != -1) {
		error = child_become_cell(env, spawn, inside, fds, &stage);
		launch_msg_init(&m, LAUNCH_FAILED, 0);
		m.u.failed.error = error;
		strlcpy(m.u.failed.stage, stage, sizeof(m.u.failed.stage));
		launch_send(link, LAUNCH_FROM_CELL, &m, NULL);
	}
	_exit(1);
}

static void
compartment_fill(const struct spawn_env *env,
    const struct launch_limits *limits, struct compartment *c)
{
	memset(c, 0, sizeof(*c));
	c->user_namespace = !env->system;
	c->uid = geteuid();
	c->gid = getegid();
	c->shares_ipc = spawn_waives(env, PROTECTION_IPC_NAMESPACE);
	c->shares_uts = spawn_waives(env, PROTECTION_UTS_NAMESPACE);
	c->own_cgroups = env->own_cgroups;
	c->proc_gid = spawn_uid(env, UID_CELL);
	/* More than that ends the run; a little is left for it to be seen. */
	c->profile_bytes = limits->profile + limits->profile / 8;
	c->memory_bytes = limits->memory;
	c->browser_dir = env->programs->browser_dir;
	c->hidden[0] = env->dirs->state;
	c->hidden[1] = env->dirs->run;
	c->hidden[2] = env->conf;
}

/* A kept profile is brought in, a fresh one made inside. */
static int
compartment_fill_profile(const struct spawn_env *env,
    const struct launch_spawn *spawn, struct compartment *c)
{
	uid_t uid = spawn_uid(env, UID_BROWSER + spawn->browser_slot);
	int error;

	c->fresh_profile = spawn->profile[0] == '\0';
	c->profile_uid = uid;
	c->profile_gid = env->system ? (gid_t)uid : c->gid;
	if (c->fresh_profile)
		return 0;
	error = profile_open(env->dirs, spawn->profile, uid, &c->profile_st);
	return error != 0 ? error
			  : profile_path(env->dirs, spawn->profile, c->profile);
}

/* As the browser's user, what the browser will do. */
static int
probe_sandbox(const struct spawn_env *env)
{
	uid_t uid = spawn_uid(env, UID_BROWSER);

	if (env->system &&
	    (setgroups(0, NULL) == -1 || setresgid(uid, uid, uid) == -1 ||
		setresuid(uid, uid, uid) == -1))
		return errno;
	return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET) == -1
	    ? errno
	    : 0;
}

static _Noreturn void
probe_child(
    const struct spawn_env *env, const struct compartment *inside, int to)
{
	struct spawn_probe p = { .cloned = true };
	const char *stage = "";

	p.error = compartment_enter(inside, &stage);
	strlcpy(p.stage, stage, sizeof(p.stage));
	if (p.error == 0)
		p.sandbox_error = probe_sandbox(env);
	_exit(fd_write_all(to, &p, sizeof(p)));
}

/* The parent's side: what the child wrote, or that it could not. */
static void
probe_read(int from, pid_t pid, struct spawn_probe *p)
{
	struct spawn_probe told;

	if (read(from, &told, sizeof(told)) == sizeof(told))
		*p = told;
	else
		p->error = EINTR;
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

void
spawn_probe(const struct spawn_env *env, struct spawn_probe *ret_probe)
{
	const struct launch_limits least = { .memory = LAUNCH_MEMORY_LEAST,
		.profile = LAUNCH_PROFILE_LEAST };
	struct spawn_probe p = { .stage = "make namespaces" };
	struct compartment inside;
	int ends[2], pidfd = -1;
	pid_t pid;

	compartment_fill(env, &least, &inside);
	if (pipe2(ends, O_CLOEXEC) == -1) {
		p.error = errno;
		*ret_probe = p;
		return;
	}
	p.error =
	    clone_process(compartment_clone_flags(&inside), -1, &pid, &pidfd);
	if (p.error == 0 && pid == 0)
		probe_child(env, &inside, ends[1]);
	close(ends[1]);
	if (p.error == 0)
		probe_read(ends[0], pid, &p);
	close(ends[0]);
	fd_close(&pidfd);
	*ret_probe = p;
}

int
spawn_probe_namespace(const struct spawn_env *env, uint64_t flag)
{
	int error, pidfd;
	pid_t pid;

	error = clone_process(
	    env->system ? flag : flag | CLONE_NEWUSER, -1, &pid, &pidfd);
	if (error != 0)
		return error;
	if (pid == 0)
		_exit(0);
	close(pidfd);
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	return 0;
}

/* Clones the child and hands it START; on success the cell is out. */
static int
spawn_process(const struct spawn_env *env, const struct launch_spawn *spawn,
    int browser, struct spawn_fds *f, struct spawned *cell,
    const char **ret_stage)
{
	struct compartment inside;
	struct launch_msg start;
	int fds[CELL_FDS], error;

	compartment_fill(env, &spawn->limits, &inside);
	*ret_stage = "open profile";
	inside.browser = browser != -1;
	error =
	    inside.browser ? compartment_fill_profile(env, spawn, &inside) : 0;
	if (error != 0)
		return error;
	*ret_stage = "open descriptors";
	error = fds_open(f, browser != -1);
	if (error != 0)
		return error;
	fds_arrange(f, env, browser, fds);
	start_fill(env, spawn, cell, &start);
	*ret_stage = "send START";
	error = launch_send(f->link[0], LAUNCH_TO_CELL, &start, NULL);
	if (error != 0)
		return error;
	*ret_stage = "make namespaces";
	error = clone_process(compartment_clone_flags(&inside), cell->group.dir,
	    &cell->pid, &cell->pidfd);
	if (error == 0 && cell->pid == 0)
		spawn_child(env, spawn, &inside, fds);
	return error;
}

int
spawn_worker(int sock, int *ret_ipc)
{
	struct launch_msg m;
	int ipc[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ipc) == -1)
		return errno;
	launch_msg_init(&m, LAUNCH_WORKER_START, 0);
	error = launch_send(sock, LAUNCH_TO_CELL, &m, &ipc[1]);
	close(ipc[1]);
	if (error != 0)
		close(ipc[0]);
	else
		*ret_ipc = ipc[0];
	return error;
}

int
spawn_cell(const struct spawn_env *env, uint32_t id,
    const struct launch_spawn *spawn, struct spawned *ret_cell,
    const char **ret_stage)
{
	struct spawned cell = { .pidfd = -1, .group = { .dir = -1 } };
	struct spawn_fds f;
	int browser = -1, error;

	if (spawn->flags & SPAWN_BROWSER)
		browser = programs_browser(
		    env->programs, spawn->flags, &cell.browser);
	fds_init(&f);
	*ret_stage = "make a control group";
	error = cgroup_make(env->groups, id, &spawn->limits, &cell.group);
	if (error == 0)
		error =
		    spawn_process(env, spawn, browser, &f, &cell, ret_stage);
	if (error == 0) {
		cell.sock = f.link[0];
		cell.ipc = f.ipc[0];
		cell.log = f.log[0];
		f.link[0] = f.ipc[0] = f.log[0] = -1;
		*ret_cell = cell;
	} else {
		cgroup_remove(env->groups, &cell.group);
	}
	fds_close(&f);
	return error;
}
