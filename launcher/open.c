/*
 * open: all that an instance needs and that can be refused, at the start of the
 * launcher, or in the place of a launcher that it follows.
 */
#include <errno.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/instance.h"
#include "launcher/uidblock.h"

static int
instance_probe(struct instance *in)
{
	in->env.self_pidfd = pidfd_open(getpid(), 0);
	if (in->env.self_pidfd == -1) {
		log_err("pidfd_open: %s: a kernel of 5.12 or newer is needed",
		    strerror(errno));
		return EXIT_SYSTEM;
	}
	protect_probe(&in->protect, &in->env);
	return protect_admit(&in->protect);
}

static void
note_groups(struct instance *in)
{
	if (in->groups.dir == -1)
		protect_note(&in->protect, PROTECTION_CONTROL_GROUPS,
		    PROTECTION_WEAKER, "the cell looks in its place: %s",
		    in->groups_why);
}

/* Without, cells look at themselves, which is slower and less exact. */
static void
instance_group(struct instance *in)
{
	in->groups_why[0] = '\0';
	if (cgroups_open(&in->groups, in->groups_why))
		log_info("runs are held to their limits by control groups");
	else
		log_info("the control group of the service is not used: %s",
		    in->groups_why);
	note_groups(in);
}

/* What was opened and locked long ago stays so. */
static void
take_over(struct instance *in, const struct carry *c)
{
	strlcpy(in->dirs.state, c->state, sizeof(in->dirs.state));
	strlcpy(in->dirs.run, c->run, sizeof(in->dirs.run));
	in->dirs.state_fd = c->state_fd;
	in->dirs.kept_fd = c->kept_fd;
	in->dirs.lock_fd = c->lock_fd;
	in->dirs.run_lock_fd = c->run_lock_fd;
	in->dirs.owner = c->owner;
	in->env.uid_base = c->uid_base;
	in->uid_lock_fd = c->uid_lock_fd;
	in->sockets.client_fd = c->client_fd;
	in->sockets.admin_fd = c->admin_fd;
	in->sockets.inherited = c->inherited != 0;
	in->groups.dir = c->groups_dir;
	in->groups.changes = c->groups_changes;
	strlcpy(in->groups_why, c->groups_why, sizeof(in->groups_why));
	note_groups(in);
	in->terminal = c->terminal != 0;
}

/* Directories, sockets and uids, in an order that harms nobody else. */
static int
open_own(struct instance *in)
{
	uid_t base = 0;
	int code;

	code = dirs_open(&in->dirs, &in->options);
	if (code == 0 && in->options.system) {
		code = uidblock_lock(&in->options.settings, in->dirs.owner,
		    &base, &in->uid_lock_fd);
		if (code == 0)
			code = uidblock_sweep(base);
		if (code == 0)
			code = dirs_give(&in->dirs, base + UID_SUPERVISORD);
	}
	if (code == 0)
		code = sockets_open(&in->sockets, &in->dirs, &in->options);
	if (code == 0)
		instance_group(in);
	in->env.uid_base = base;
	return code;
}

int
instance_open(struct instance *in, const struct carry *before)
{
	int code = 0;

	in->uid_lock_fd = -1;
	if (before == NULL)
		code = open_own(in);
	else
		take_over(in, before);
	if (code == 0)
		record_open(&in->dirs.record, in->dirs.state);
	if (code == 0)
		code = programs_open(&in->programs, &in->options);
	if (code != 0)
		return code;
	in->env.dirs = &in->dirs;
	in->env.programs = &in->programs;
	in->env.groups = &in->groups;
	in->env.conf = in->options.conf;
	in->env.system = in->options.system;
	in->env.own_cgroups =
	    spawn_probe_namespace(&in->env, CLONE_NEWCGROUP) == 0;
	return instance_probe(in);
}
