/*
 * What doctor looks at in the machine: programs, kernel, namespaces, uids.
 */
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "ctl/doctor.h"
#include "model/protections.h"
#include "ctl/text.h"

bool
doctor_is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_mode & 0111) != 0;
}

void
doctor_programs(struct doctor *d)
{
	static const char *const names[] = { "supervisord", "cell", "workerd" };
	char path[PATH_MAX], missing[128] = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", PKGLIBEXECDIR, names[i]);
		if (doctor_is_program(path))
			continue;
		strlcat(
		    missing, missing[0] == '\0' ? "" : ", ", sizeof(missing));
		strlcat(missing, names[i], sizeof(missing));
	}
	if (!doctor_is_program(doctor_daemon(d))) {
		strlcat(
		    missing, missing[0] == '\0' ? "" : ", ", sizeof(missing));
		strlcat(missing, "browsertaskd", sizeof(missing));
	}
	if (missing[0] == '\0')
		doctor_say(d, DOCTOR_OK, "programs", NULL,
		    "%s, its parts in %s", doctor_daemon(d), PKGLIBEXECDIR);
	else if (!d->running)
		doctor_say(d, DOCTOR_FAIL, "programs",
		    "install the package again (make install), or name their "
		    "directory to browsertaskd with -P",
		    "%s: not in %s or %s", missing, SBINDIR, PKGLIBEXECDIR);
}

void
doctor_kernel(struct doctor *d)
{
	struct utsname u;
	unsigned long major, minor = 0;
	char *rest;
	char line[256];

	if (uname(&u) == -1)
		return;
	major = strtoul(u.release, &rest, 10);
	if (*rest == '.')
		minor = strtoul(rest + 1, NULL, 10);
	if (major < 5 || (major == 5 && minor < 11))
		doctor_say(d, DOCTOR_FAIL, "kernel",
		    "a kernel of 5.11 or later is needed", "Linux %s",
		    u.release);
	else
		doctor_say(d, DOCTOR_OK, "kernel", NULL, "Linux %s", u.release);
	if (!doctor_read(
		"/proc/sys/kernel/seccomp/actions_avail", line, sizeof(line)))
		doctor_say(d, DOCTOR_FAIL, "kernel",
		    "the kernel needs CONFIG_SECCOMP_FILTER",
		    "system calls cannot be filtered");
}

/* Which of the known switches is off, and how it is turned on. */
static void
say_refused(struct doctor *d, const char *what, int error)
{
	static const struct {
		const char *path, *bad, *advice;
	} rows[] = {
		{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
		    "sysctl -w kernel.unprivileged_userns_clone=1, and in "
		    "/etc/sysctl.d to keep it" },
		{ "/proc/sys/user/max_user_namespaces", "0",
		    "sysctl -w user.max_user_namespaces=10000, and in "
		    "/etc/sysctl.d to keep it" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		    "give browsertaskd and chromium an AppArmor profile with "
		    "userns, or sysctl -w "
		    "kernel.apparmor_restrict_unprivileged_userns=0" },
	};
	const char *advice = "in a container, allow it user namespaces (its "
			     "seccomp profile or runtime refuses them)";
	char value[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (doctor_read(rows[i].path, value, sizeof(value)) &&
		    strcmp(value, rows[i].bad) == 0) {
			advice = rows[i].advice;
			break;
		}
	doctor_say(d, DOCTOR_FAIL, what, advice,
	    "an ordinary user cannot make user namespaces: %s",
	    strerror(error));
}

/* Whether the service's kernel has them; else runs are served if waived. */
static bool
has_filters(const struct doctor *d)
{
	struct json_iter it =
	    json_iter(json_obj_get(d->profile.root, "protections"));

	while (json_iter_next(&it))
		if (json_str_eq(json_obj_get(it.val, "name"),
			protection_name(PROTECTION_CALL_FILTERS)))
			return !json_str_eq(json_obj_get(it.val, "state"),
			    protection_state_name(PROTECTION_OFF));
	return true;
}

static int
count(struct json_val browser, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(browser, key), &n);
	return (int)n;
}

/* The browser's own sandbox needs them, whoever started the service. */
static void
check_sandbox(struct doctor *d)
{
	struct json_val browser = json_obj_get(d->profile.root, "browser");
	int error =
	    doctor_unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET, true);
	bool confined = false;

	if (error != 0)
		say_refused(d, "sandbox", error);
	else
		doctor_say(d, DOCTOR_OK, "sandbox", NULL,
		    "user namespaces are allowed: the browser can confine "
		    "its pages");
	if (!d->running ||
	    !json_get_bool(json_obj_get(browser, "confined"), &confined))
		return;
	if (confined)
		doctor_say(d, DOCTOR_OK, "sandbox", NULL,
		    "seen active in the service's last run: renderers %d, "
		    "GPU processes %d, others %d%s",
		    count(browser, "renderers"), count(browser, "gpus"),
		    count(browser, "utilities"),
		    has_filters(d) ? "" : ", but for a filter of system calls");
	else
		doctor_say(d, DOCTOR_FAIL, "sandbox",
		    "runs fail with SANDBOX_MISSING until it is; the log of "
		    "the service says what is missing",
		    "was off in the service's last run");
}

void
doctor_namespaces(struct doctor *d)
{
	int flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
	    CLONE_NEWUTS;
	int error;

	if (d->running)
		doctor_say(d, DOCTOR_OK, "namespaces", NULL,
		    "the service made compartments when it started");
	else {
		error = doctor_unshare(
		    d->system ? flags : flags | CLONE_NEWUSER, false);
		if (error == 0)
			doctor_say(d, DOCTOR_OK, "namespaces", NULL,
			    "PID, mount, network, IPC and UTS namespaces can "
			    "be made");
		else if (!d->system)
			say_refused(d, "namespaces", error);
		else
			doctor_say(d, DOCTOR_FAIL, "namespaces",
			    "root needs CAP_SYS_ADMIN: in a container, give it "
			    "that, or start browsertaskd as an ordinary user",
			    "root cannot make namespaces: %s", strerror(error));
	}
	check_sandbox(d);
}

/* Uids. */

/* Are all of first..last mapped in this user namespace? */
static bool
uids_mapped(unsigned long first, unsigned long last)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned long inside, count;
	char line[128], *rest;
	bool found = false;

	if (f == NULL)
		return true;
	/* Each line: first uid inside, first uid outside, how many. */
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		inside = strtoul(line, &rest, 10);
		strtoul(rest, &rest, 10);
		count = strtoul(rest, NULL, 10);
		found = first >= inside && last - inside < count;
	}
	fclose(f);
	return found;
}

/* An account in the range; NULL when there is none. */
static const char *
account_within(unsigned long first, unsigned long last)
{
	FILE *f = fopen("/etc/passwd", "re");
	static char name[64];
	struct passwd *pw;

	if (f == NULL)
		return NULL;
	name[0] = '\0';
	while (name[0] == '\0' && (pw = fgetpwent(f)) != NULL)
		if (pw->pw_uid >= first && pw->pw_uid <= last)
			strlcpy(name, pw->pw_name, sizeof(name));
	fclose(f);
	return name[0] == '\0' ? NULL : name;
}

void
doctor_uids(struct doctor *d)
{
	unsigned long first = (unsigned long)d->settings.uidBase;
	unsigned long last =
	    first + 64 * (unsigned long)d->settings.uidBlocks - 1;
	const char *account;

	if (!d->system) {
		doctor_say(d, DOCTOR_OK, "uids", NULL,
		    "runs have the uid of the user, %u, in user namespaces",
		    (unsigned)geteuid());
		return;
	}
	account = account_within(first, last);
	if (!uids_mapped(first, last))
		doctor_say(d, DOCTOR_FAIL, "uids",
		    "choose others with the settings uidBase and uidBlocks, or "
		    "map more uids into this container",
		    "%lu to %lu do not exist here (/proc/self/uid_map)", first,
		    last);
	else if (account != NULL)
		doctor_say(d, DOCTOR_FAIL, "uids",
		    "choose others with the settings uidBase and uidBlocks",
		    "the account %s lies within %lu to %lu, which are for runs",
		    account, first, last);
	else
		doctor_say(d, DOCTOR_OK, "uids", NULL,
		    "%lu to %lu, for runs, belong to no account", first, last);
}
