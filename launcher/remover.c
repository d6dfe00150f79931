/*
 * remover: a process that removes the profiles that were dropped. A profile has
 * hundreds of files, and a slow disk takes its time for each; the launcher's
 * loop does not wait for that. Started by the launcher, with its rights and one
 * descriptor, that of the directory of profiles. It ends with the launcher:
 * what it leaves is removed after the next start of supervisord.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/child.h"
#include "launcher/clone.h"
#include "launcher/profiles.h"
#include "launcher/remover.h"

#define KEPT_FD   3
#define NICE      10
#define AGAIN_S   1
#define PROC_NAME "profile-remover"

struct remover {
	const struct spawn_env *env;
	void (*ended)(void *arg);
	void *arg;
	struct child child;
	struct event *on_again;
	bool again; /* something was dropped since it started */
};

/* From clone to its end; returns only on failure. */
static int
become(void *arg, int link)
{
	const struct remover *r = arg;
	int error = clone_die_with_parent(r->env->self_pidfd);

	if (error != 0)
		return error;
	/* A lock held here would outlive the launcher. */
	if (dup2(r->env->dirs->kept_fd, KEPT_FD) == -1 ||
	    close_range(KEPT_FD + 1, ~0U, 0) == -1)
		return errno;
	prctl(PR_SET_NAME, PROC_NAME);
	setpriority(PRIO_PROCESS, 0, NICE);
	error = profiles_remove_dropped(KEPT_FD);
	if (error != 0)
		log_err("a profile cannot be removed: %s", strerror(error));
	_exit(error == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* It says nothing. */
static void
on_link(void *arg)
{
	struct remover *r = arg;

	child_unlink(&r->child);
}

static void
start(struct remover *r)
{
	static const struct timeval later = { .tv_sec = AGAIN_S };

	r->again = child_start(&r->child) != 0;
	if (r->again)
		event_add(r->on_again, &later);
}

static void
on_ended(void *arg, int status)
{
	struct remover *r = arg;

	child_forget(&r->child);
	if (r->again)
		start(r);
	else
		r->ended(r->arg);
}

static const struct child_ops ops = { become, on_link, on_ended };

static void
on_again(evutil_socket_t fd, short what, void *arg)
{
	remover_run(arg);
}

void
remover_run(struct remover *r)
{
	if (r->child.pid != 0)
		r->again = true;
	else
		start(r);
}

bool
remover_runs(const struct remover *r)
{
	return r->child.pid != 0;
}

void
remover_stop(struct remover *r)
{
	event_del(r->on_again);
	child_end(&r->child);
}

struct remover *
remover_new(struct event_base *base, const struct spawn_env *env,
    void (*ended)(void *arg), void *arg)
{
	struct remover *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->env = env;
	r->ended = ended;
	r->arg = arg;
	child_init(&r->child, base, PROC_NAME, &ops, r);
	r->on_again = evtimer_new(base, on_again, r);
	if (r->on_again == NULL)
		remover_free(&r);
	return r;
}

void
remover_free(struct remover **remover)
{
	struct remover *r = *remover;

	*remover = NULL;
	if (r == NULL)
		return;
	if (r->on_again != NULL) {
		remover_stop(r);
		event_free(r->on_again);
	}
	free(r);
}
