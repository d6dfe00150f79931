/*
 * protect: looks at the start what the kernel, and whoever started the service,
 * allow to keep runs apart with. Runs in the launcher; tries things in
 * processes that end at once, and changes nothing.
 */
#include <linux/sched.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "confine/confine.h"
#include "launcher/options.h"
#include "launcher/protect.h"

/* The first Landlock that knows signals and abstract sockets. */
#define LANDLOCK_SCOPES 6

static const struct {
	enum protection which;
	uint64_t flag;
} namespaces[] = {
	{ PROTECTION_PID_NAMESPACE, CLONE_NEWPID },
	{ PROTECTION_MOUNT_NAMESPACE, CLONE_NEWNS },
	{ PROTECTION_NETWORK_NAMESPACE, CLONE_NEWNET },
	{ PROTECTION_IPC_NAMESPACE, CLONE_NEWIPC },
	{ PROTECTION_UTS_NAMESPACE, CLONE_NEWUTS },
};

void
protect_init(struct protect *p, const char *waive)
{
	memset(p, 0, sizeof(*p));
	for (int i = 0; i < PROTECTION__MAX; i++) {
		p->rows[i].state = PROTECTION_ON;
		p->rows[i].waived =
		    protection_is_waived(waive, (enum protection)i);
	}
}

void
protect_note(struct protect *p, enum protection which,
    enum protection_state state, const char *fmt, ...)
{
	va_list ap;

	p->rows[which].state = state;
	va_start(ap, fmt);
	vsnprintf(
	    p->rows[which].reason, sizeof(p->rows[which].reason), fmt, ap);
	va_end(ap);
}

/* Which one the kernel refuses; false: each by itself is made. */
static bool
find_namespace(struct protect *p, const struct spawn_env *env)
{
	bool found = false;
	int error;

	error = env->system ? 0 : spawn_probe_namespace(env, CLONE_NEWUSER);
	if (error != 0) {
		protect_note(p, PROTECTION_USER_NAMESPACE, PROTECTION_OFF,
		    "cannot make namespaces: %s", strerror(error));
		return true;
	}
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]);
	     i++) {
		error = spawn_probe_namespace(env, namespaces[i].flag);
		if (error == 0)
			continue;
		found = true;
		protect_note(p, namespaces[i].which, PROTECTION_OFF,
		    "cannot make namespaces: %s", strerror(error));
	}
	return found;
}

static void
waive(const struct protect *p, struct spawn_env *env)
{
	for (int i = 0; i < PROTECTION__MAX; i++)
		if (p->rows[i].waived && p->rows[i].state == PROTECTION_OFF)
			env->waived |= UINT32_C(1) << i;
}

static void
probe_compartment(struct protect *p, struct spawn_env *env)
{
	struct spawn_probe seen;

	spawn_probe(env, &seen);
	if (seen.error != 0 && !seen.cloned && find_namespace(p, env)) {
		waive(p, env);
		/* How far it comes without what is waived. */
		spawn_probe(env, &seen);
		if (seen.error != 0 && !seen.cloned)
			return;
	}
	if (seen.error != 0)
		protect_note(p,
		    seen.cloned ? PROTECTION_MINIMAL_ROOT
				: PROTECTION_PID_NAMESPACE,
		    PROTECTION_OFF, "cannot %s: %s", seen.stage,
		    strerror(seen.error));
	else if (seen.sandbox_error != 0)
		protect_note(p, PROTECTION_BROWSER_SANDBOX, PROTECTION_OFF,
		    "an ordinary user cannot make user namespaces: %s",
		    strerror(seen.sandbox_error));
}

static void
probe_landlock(struct protect *p)
{
	int version = confine_paths_version();

	if (version == 0)
		protect_note(p, PROTECTION_LANDLOCK, PROTECTION_OFF,
		    "this kernel has none, or is too old for it");
	else if (version < LANDLOCK_SCOPES)
		protect_note(p, PROTECTION_LANDLOCK, PROTECTION_WEAKER,
		    "version %d knows nothing of signals and abstract sockets",
		    version);
	else
		protect_note(p, PROTECTION_LANDLOCK, PROTECTION_ON,
		    "version %d", version);
}

void
protect_probe(struct protect *p, struct spawn_env *env)
{
	if (env->system)
		protect_note(p, PROTECTION_USER_NAMESPACE, PROTECTION_ON,
		    "not needed: root makes compartments");
	else
		protect_note(p, PROTECTION_OWN_UIDS, PROTECTION_WEAKER,
		    "all have the uid of the user who started it");
	probe_compartment(p, env);
	probe_landlock(p);
	if (confine_absence() != NULL) {
		protect_note(p, PROTECTION_CALL_FILTERS, PROTECTION_WEAKER,
		    "this build has none: %s", confine_absence());
		protect_note(p, PROTECTION_LANDLOCK, PROTECTION_WEAKER,
		    "for browsers only: %s", confine_absence());
	}
	waive(p, env);
}

/* The kinds of what is off, in the words of the log. */
static int
admit_row(enum protection which, const struct protect_row *r)
{
	const char *name = protection_name(which);

	if (r->waived) {
		log_warn("goes on without %s (%s), as the setting waive says",
		    name, r->reason);
		return 0;
	}
	if (protection_need(which) == PROTECTION_WANTED) {
		log_warn("%s is off: %s; to mend it: %s", name, r->reason,
		    protection_fix(which));
		return 0;
	}
	log_err(
	    "%s: %s; to mend it: %s", name, r->reason, protection_fix(which));
	if (protection_need(which) == PROTECTION_REQUIRED)
		log_err("%s is required; to do without: waive = \"%s\" in the "
			"configuration file",
		    name, name);
	return EXIT_SYSTEM;
}

int
protect_admit(const struct protect *p)
{
	int code = 0, error;

	for (int i = 0; i < PROTECTION__MAX; i++) {
		if (p->rows[i].state != PROTECTION_OFF)
			continue;
		error = admit_row((enum protection)i, &p->rows[i]);
		if (error != 0)
			code = error;
	}
	return code;
}

void
protect_tell(const struct protect *p, struct supervise *to)
{
	struct launch_msg m;

	for (int i = 0; i < PROTECTION__MAX; i++) {
		launch_msg_init(&m, LAUNCH_PROTECTION, 0);
		m.u.protection.which = (uint32_t)i;
		m.u.protection.state = p->rows[i].state;
		m.u.protection.waived = p->rows[i].waived;
		strlcpy(m.u.protection.reason, p->rows[i].reason,
		    sizeof(m.u.protection.reason));
		supervise_send(to, &m, NULL);
	}
}
