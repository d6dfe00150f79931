/*
 * programs: finds and opens the programs of the instance. Runs in the
 * launcher at its start: what is executed later is what was there then, and
 * no directory needs to be reachable for the uid that executes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "config.h"
#include "launcher/programs.h"

/*
 * Opens a program that the uids of the block may execute; -1 and errno
 * otherwise.
 */
static int
open_program(const char *path, bool system)
{
	struct stat st;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & (system ? S_IXOTH : 0111)) == 0) {
		close(fd);
		errno = EACCES;
		return -1;
	}
	return fd;
}

/* DIR/NAME, or DIR/NAME/NAME as in a build tree. */
static int
open_own(const struct options *o, const char *name, int *ret_fd)
{
	char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s/%s/%s", o->libexec_dir, name, name);
	*ret_fd = open_program(path, o->system);
	if (*ret_fd != -1)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", o->libexec_dir, name);
	*ret_fd = open_program(path, o->system);
	if (*ret_fd != -1)
		return 0;
	log_err("cannot use program %s: %s; name the directory of the "
		"programs with -P",
	    path, strerror(errno));
	return EXIT_NO_PROGRAM;
}

/*
 * Compartments have /usr, but for most of /usr/local; any other place of a
 * browser has to be put in.
 */
static void
note_browser_dir(struct programs *p, const char *path)
{
	char real[PATH_MAX];
	char *slash;

	p->browser_dir[0] = '\0';
	if (realpath(path, real) == NULL ||
	    (strncmp(real, "/usr/", 5) == 0 &&
		strncmp(real, "/usr/local/", 11) != 0))
		return;
	slash = strrchr(real, '/');
	slash[slash == real ? 1 : 0] = '\0';
	strlcpy(p->browser_dir, real, sizeof(p->browser_dir));
}

/*
 * Whether somebody's home, or all that lies around it, is in a directory; -1:
 * not known, errno says why.
 */
static int
holds_home(const char *dir)
{
	size_t len = strlen(dir);
	const struct passwd *p;
	bool found = false;
	FILE *in;

	if (strchr(dir + 1, '/') == NULL)
		return 1;
	in = fopen("/etc/passwd", "re");
	if (in == NULL)
		return -1;
	/* cppcheck-suppress fgetpwentCalled; the launcher has one thread */
	while (!found && (p = fgetpwent(in)) != NULL)
		found = strncmp(p->pw_dir, dir, len) == 0 &&
		    (p->pw_dir[len] == '\0' || p->pw_dir[len] == '/');
	fclose(in);
	return found;
}

/* It is shown to the browser. */
static bool
may_show_dir(const char *browser, const char *dir)
{
	int homes = dir[0] == '\0' ? 0 : holds_home(dir);

	if (homes == -1)
		log_err("cannot use browser %s: /etc/passwd cannot be read: %s",
		    browser, strerror(errno));
	else if (homes == 1)
		log_err("cannot use browser %s: whatever takes it over could "
			"read all of %s; give it a directory of its own",
		    browser, dir);
	return homes == 0;
}

static int
open_given_browser(struct programs *p, const struct options *o)
{
	const char *slash = strrchr(o->browser, '/');
	const char *name = slash == NULL ? o->browser : slash + 1;
	int fd = open_program(o->browser, o->system);

	if (fd == -1) {
		log_err(
		    "cannot use browser %s: %s", o->browser, strerror(errno));
		return EXIT_NO_PROGRAM;
	}
	note_browser_dir(p, o->browser);
	if (!may_show_dir(o->browser, p->browser_dir)) {
		close(fd);
		return EXIT_NO_PROGRAM;
	}
	if (strstr(name, "headless-shell") != NULL ||
	    strstr(name, "headless_shell") != NULL)
		p->shell = fd;
	else
		p->chrome = fd;
	return 0;
}

int
programs_open(struct programs *p, const struct options *o)
{
	int code;

	p->supervisord = p->egressd = p->cell = p->workerd = p->shell =
	    p->chrome = -1;
	code = open_own(o, "supervisord", &p->supervisord);
	if (code == 0)
		code = open_own(o, "egressd", &p->egressd);
	if (code == 0)
		code = open_own(o, "cell", &p->cell);
	if (code == 0)
		code = open_own(o, "workerd", &p->workerd);
	if (code != 0)
		return code;
	if (o->browser[0] != '\0')
		return open_given_browser(p, o);
	p->shell =
	    open_program(CHROMIUM_DIR "/chromium-headless-shell", o->system);
	p->chrome = open_program(CHROMIUM_DIR "/chromium", o->system);
	note_browser_dir(p,
	    p->shell != -1 ? CHROMIUM_DIR "/chromium-headless-shell"
			   : CHROMIUM_DIR "/chromium");
	if (p->shell != -1 || p->chrome != -1)
		return 0;
	log_err("no browser in %s: install the package "
		"chromium-headless-shell (or chromium), or name a program "
		"with -B",
	    CHROMIUM_DIR);
	return EXIT_NO_PROGRAM;
}

int
programs_browser(const struct programs *p, uint32_t spawn_flags,
    enum launch_browser *ret_kind)
{
	bool full = (spawn_flags & SPAWN_FULL_CHROMIUM) != 0;

	if (p->shell == -1 || (full && p->chrome != -1)) {
		*ret_kind = LAUNCH_BROWSER_FULL;
		return p->chrome;
	}
	*ret_kind = LAUNCH_BROWSER_SHELL;
	return p->shell;
}
