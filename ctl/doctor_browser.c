/*
 * The browser, for doctor: which there is, its version, and whether it opens a
 * page with its sandbox on, as an ordinary user.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "config.h"
#include "ctl/doctor.h"

#define VERSION_MS 15000
#define TRY_MS     30000
#define ANSWER     "<p>it answers</p>"
#define ADDRESS    "data:text/html," ANSWER

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	remove(path);
	return 0;
}

/* A directory of the ordinary user's own; false when there can be none. */
static bool
make_profile(char *path)
{
	if (mkdtemp(path) == NULL)
		return false;
	if (geteuid() != 0 || chown(path, DOCTOR_NOBODY, DOCTOR_NOBODY) == 0)
		return true;
	rmdir(path);
	return false;
}

/* Starts it as a run does, with its sandbox, and has it open a page. */
static void
try_browser(struct doctor *d, const char *path, const char *version)
{
	const char *tmp = getenv("TMPDIR");
	static const char address[] = ADDRESS;
	char profile[256], option[300];
	const char *const args[] = { "--headless", "--disable-gpu",
		"--no-first-run", option, "--dump-dom", address, NULL };
	int64_t began = clock_mono_ms();
	char text[512] = "";
	int status = 0, error;

	snprintf(profile, sizeof(profile), "%.200s/browsertask-doctor-XXXXXX",
	    tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	if (!make_profile(profile)) {
		doctor_say(d, DOCTOR_WARN, "browser",
		    "make room in /tmp, or name another place in $TMPDIR",
		    "%s (%s) was not tried: %s", version, path,
		    strerror(errno));
		return;
	}
	snprintf(option, sizeof(option), "--user-data-dir=%s", profile);
	error =
	    doctor_run(path, args, true, TRY_MS, text, sizeof(text), &status);
	nftw(profile, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	if (strstr(text, ANSWER) != NULL)
		doctor_say(d, DOCTOR_OK, "browser", NULL,
		    "%s (%s) starts and opens a page, in %.1f s", version, path,
		    (double)(clock_mono_ms() - began) / 1000);
	else
		doctor_say(d, DOCTOR_FAIL, "browser",
		    "run it by hand as an ordinary user with --headless "
		    "--dump-dom about:blank and read what it says",
		    "%s (%s) opens no page: %s", version, path,
		    error != 0 ? strerror(error) : "it ends without one");
}

/* "Chromium 120.0.6099.224 built on ...": the first line. */
static void
say_browser(struct doctor *d, const char *path, bool trying)
{
	static const char *const args[] = { "--version", NULL };
	char line[256];
	int status = 0;
	int error = doctor_run(
	    path, args, true, VERSION_MS, line, sizeof(line), &status);

	line[strcspn(line, "\n(")] = '\0';
	for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--)
		line[n - 1] = '\0';
	if (error != 0 || line[0] == '\0')
		doctor_say(d, DOCTOR_FAIL, "browser",
		    "run it by hand with --version; libraries may be missing "
		    "(ldd shows them)",
		    "%s does not tell its version: %s", path,
		    error != 0 ? strerror(error) : "it prints nothing");
	else if (trying)
		try_browser(d, path, line);
	else
		doctor_say(
		    d, DOCTOR_OK, "browser", NULL, "%s (%s)", line, path);
}

void
doctor_browser(struct doctor *d)
{
	static const char *const paths[] = { CHROMIUM_DIR
		"/chromium-headless-shell",
		CHROMIUM_DIR "/chromium" };
	const char *given = d->ctl->opt[OPT_BROWSER];
	size_t found = 0;
	char who[256];

	if (given != NULL) {
		if (doctor_is_program(given))
			say_browser(d, given, true);
		else
			doctor_say(d, DOCTOR_FAIL, "browser",
			    "name the browser's ELF program, not a script",
			    "%s %s", given,
			    access(given, F_OK) == -1 ? "is not there"
						      : "is no program");
		return;
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (doctor_is_program(paths[i])) {
			/* The service takes the first. */
			say_browser(d, paths[i], found == 0);
			found++;
		}
	if (found == 0)
		doctor_say(d, DOCTOR_FAIL, "browser",
		    "install the package chromium-headless-shell (or chromium),"
		    " or name a program with -B",
		    "none in %s", CHROMIUM_DIR);
	else if (!doctor_is_program(paths[0]))
		doctor_say(d, DOCTOR_WARN, "browser",
		    "install the package chromium-headless-shell: runs start "
		    "in a quarter of the time",
		    "only the full Chromium is there");
	if (d->running &&
	    json_str_copy(json_obj_get(json_obj_get(d->profile.root, "browser"),
			      "product"),
		who, sizeof(who)))
		doctor_say(d, DOCTOR_OK, "browser", NULL,
		    "the service's last run had %s", who);
}
