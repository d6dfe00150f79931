/*
 * doctor: looks at the machine and at the service, running or not, and says
 * what to do. Runs as the caller: as root it looks at what a system service
 * needs, as anybody else at what a service of that user needs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "config.h"
#include "ctl/doctor.h"
#include "ctl/side.h"
#include "ctl/text.h"
#include "json/writer.h"

#define CALL_MS      10000
#define NAME_COLUMNS 12
#define LEFT_COLUMNS (6 + NAME_COLUMNS + 1)
#define LEAST_WIDTH  30

static const char *const level_names[DOCTOR__MAX] = { "ok", "warn", "FAIL" };
static const char *const level_colors[DOCTOR__MAX] = { "\033[32m", "\033[33m",
	"\033[1;31m" };

void
doctor_say(struct doctor *d, enum doctor_level level, const char *name,
    const char *advice, const char *fmt, ...)
{
	struct doctor_row *r;
	va_list ap;

	if (d->nrows == DOCTOR_ROWS_MAX)
		return;
	r = &d->rows[d->nrows++];
	r->level = level;
	strlcpy(r->name, name, sizeof(r->name));
	strlcpy(r->advice, level == DOCTOR_OK || advice == NULL ? "" : advice,
	    sizeof(r->advice));
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
}

/* The service. */

static void
say_draining(struct doctor *d)
{
	bool draining = false;

	json_get_bool(json_obj_get(d->profile.root, "draining"), &draining);
	if (draining)
		doctor_say(d, DOCTOR_WARN, "service",
		    "browsertaskctl resume lets runs start again",
		    "it is drained: submitted runs wait");
}

static void
ask_profile(struct doctor *d)
{
	struct ctl *ctl = d->ctl;
	struct client_answer *bytes = &d->profile.bytes;
	struct ipc_params p;
	int64_t pid = 0;

	ipc_params_init(&p, MSG_PROFILE_GET);
	if (client_call(ctl->client, &p, CALL_MS, bytes) != CLIENT_OK ||
	    !json_parse((const uint8_t *)bytes->json, bytes->len, NULL,
		JSON_BORROW, &d->profile.doc, NULL)) {
		doctor_say(d, DOCTOR_FAIL, "service",
		    "look at its log: journalctl -u browsertaskd, or where its "
		    "standard error goes",
		    "%s answers hello but not profile.get",
		    client_path(ctl->client));
		return;
	}
	d->running = true;
	d->profile.root = json_root(d->profile.doc);
	json_get_int64(json_obj_get(d->profile.root, "pid"), &pid);
	d->pid = (long)pid;
	json_str_copy(json_obj_get(d->profile.root, "stateDir"), d->state_dir,
	    sizeof(d->state_dir));
}

void
doctor_service(struct doctor *d)
{
	char reason[CLIENT_REASON_MAX];
	struct ctl *ctl = d->ctl;
	enum client_status status;
	const char *version;

	status = client_connect(
	    "browsertaskctl", ctl->opt[OPT_SOCKET], &ctl->client, reason);
	if (status == CLIENT_NO_SERVICE &&
	    strstr(reason, strerror(EACCES)) != NULL) {
		doctor_say(d, DOCTOR_WARN, "service",
		    "ask as root or as the socket's owner, or be in the group "
		    "of the setting clientGroup",
		    "does not let this user in (%s)", reason);
		return;
	}
	if (status == CLIENT_NO_SERVICE) {
		doctor_say(d, DOCTOR_WARN, "service",
		    d->system ? "systemctl start browsertaskd, or start "
				"browsertaskd by hand"
			      : "start browsertaskd, or name its socket with "
				"--socket or $BROWSERTASK_SOCKET",
		    "does not answer (%s)", reason);
		return;
	}
	if (status == CLIENT_TIMEOUT || status == CLIENT_LOST) {
		doctor_say(d, DOCTOR_FAIL, "service",
		    "it restarts a part that hangs by itself; if this lasts, "
		    "look at its log and restart it",
		    "takes the connection, but does not answer (%s)", reason);
		return;
	}
	if (status != CLIENT_OK) {
		doctor_say(d, DOCTOR_FAIL, "service",
		    "install browsertaskctl and browsertaskd of one version",
		    "does not take this client (%s)", reason);
		return;
	}
	ask_profile(d);
	version = client_hello(ctl->client)->version;
	if (strcmp(version, PACKAGE_VERSION) != 0)
		doctor_say(d, DOCTOR_WARN, "service",
		    "restart browsertaskd after an upgrade",
		    "runs version %s, this is %s", version, PACKAGE_VERSION);
	else if (d->running)
		doctor_say(d, DOCTOR_OK, "service", NULL,
		    "version %s answers at %s", version,
		    client_path(ctl->client));
	if (d->running)
		say_draining(d);
}

/* Telling. */

static void
print_row(const struct ctl *ctl, const struct doctor_row *r)
{
	size_t columns = (size_t)ctl->columns;
	char *clean;
	struct buf b;

	if (columns > 0 && columns < LEFT_COLUMNS + LEAST_WIDTH)
		columns = LEFT_COLUMNS + LEAST_WIDTH;
	printf("%s%-5s%s %-*s ", ctl->color ? level_colors[r->level] : "",
	    level_names[r->level], ctl->color ? "\033[0m" : "", NAME_COLUMNS,
	    r->name);
	buf_init(&b, 4 * DOCTOR_TEXT_SIZE);
	text_clean(&b, r->text, strlen(r->text), false);
	buf_add(&b, "", 1);
	clean = (char *)b.data;
	text_wrap(stdout, clean == NULL ? "" : clean, columns, LEFT_COLUMNS,
	    LEFT_COLUMNS);
	buf_clear(&b);
	if (r->advice[0] == '\0')
		return;
	printf("%*s%s ", LEFT_COLUMNS - 3, "",
	    ctl->unicode ? "\xe2\x86\x92 " : "->");
	text_wrap(stdout, r->advice, columns, LEFT_COLUMNS, LEFT_COLUMNS);
}

static void
print_rows(const struct doctor *d, const size_t *counts)
{
	for (size_t i = 0; i < d->nrows; i++)
		print_row(d->ctl, &d->rows[i]);
	if (counts[DOCTOR_FAIL] > 0)
		printf("\n%zu to mend before runs can be executed safely, %zu "
		       "to look at\n",
		    counts[DOCTOR_FAIL], counts[DOCTOR_WARN]);
	else if (counts[DOCTOR_WARN] > 0)
		printf("\nnothing stands against running; %zu to look at\n",
		    counts[DOCTOR_WARN]);
	else
		printf("\nall is well\n");
}

static void
print_json(const struct doctor *d, bool good)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, 1u << 20);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_bool(&w, "ok", good);
	json_write_key(&w, "checks");
	json_write_begin_array(&w);
	for (size_t i = 0; i < d->nrows; i++) {
		const struct doctor_row *r = &d->rows[i];

		json_write_begin_object(&w);
		json_put_str(&w, "name", r->name);
		json_put_str(&w, "level",
		    r->level == DOCTOR_FAIL ? "fail" : level_names[r->level]);
		json_put_str(&w, "text", r->text);
		json_put_str(
		    &w, "advice", r->advice[0] == '\0' ? NULL : r->advice);
		json_write_end_object(&w);
	}
	json_write_end_array(&w);
	json_write_end_object(&w);
	ctl_print_written(&w, &b);
	buf_clear(&b);
}

/* Where a service of this user would have its directories. */
static void
default_dirs(struct doctor *d)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char own[64];
	struct stat st;

	snprintf(own, sizeof(own), "/run/user/%u", (unsigned)geteuid());
	if (run == NULL || run[0] != '/')
		run =
		    stat(own, &st) == 0 && st.st_uid == geteuid() ? own : NULL;
	if (!side_state_dir(d->ctl, d->state_dir))
		d->state_dir[0] = '\0';
	if (d->system)
		strlcpy(
		    d->run_dir, RUNSTATEDIR "/browsertask", sizeof(d->run_dir));
	else if (run != NULL)
		snprintf(d->run_dir, sizeof(d->run_dir), "%s/browsertask", run);
	else
		snprintf(d->run_dir, sizeof(d->run_dir), "/tmp/browsertask-%u",
		    (unsigned)geteuid());
	/* Somebody else's is left alone. */
	if (!d->system && run == NULL && lstat(d->run_dir, &st) == 0 &&
	    st.st_uid != geteuid() && d->state_dir[0] != '\0') {
		strlcpy(d->run_dir, d->state_dir, sizeof(d->run_dir));
		strlcat(d->run_dir, "-run", sizeof(d->run_dir));
	}
}

/* A service that runs says by its socket where it is. */
static void
take_dirs(struct doctor *d)
{
	const char *path, *slash;

	if (!d->running)
		return;
	path = client_path(d->ctl->client);
	slash = strrchr(path, '/');
	if (slash != NULL && slash > path)
		snprintf(d->run_dir, sizeof(d->run_dir), "%.*s",
		    (int)(slash - path), path);
}

enum ctl_exit
cmd_doctor(struct ctl *ctl)
{
	static void (*const checks[])(struct doctor *) = { doctor_protections,
		doctor_programs, doctor_config, doctor_shares, doctor_browser,
		doctor_kernel, doctor_namespaces, doctor_uids, doctor_dirs,
		doctor_audit, doctor_disk, doctor_limits, doctor_memory,
		doctor_cgroup };
	struct doctor *d = calloc(1, sizeof(*d));
	size_t counts[DOCTOR__MAX] = { 0 };
	bool good;

	if (d == NULL) {
		ctl_error("no memory");
		return CTL_FAILED;
	}
	d->ctl = ctl;
	d->system = geteuid() == 0;
	settings_default(&d->settings);
	default_dirs(d);
	doctor_service(d);
	take_dirs(d);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		checks[i](d);
	for (size_t i = 0; i < d->nrows; i++)
		counts[d->rows[i].level]++;
	good = counts[DOCTOR_FAIL] == 0;
	if (ctl->opt[OPT_JSON] != NULL)
		print_json(d, good);
	else
		print_rows(d, counts);
	ctl_answer_free(&d->profile);
	free(d);
	return good ? CTL_OK : CTL_FAILED;
}
