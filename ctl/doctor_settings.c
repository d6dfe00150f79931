/*
 * The settings, for doctor: whether the configuration file can be read, and the
 * values that hold. A service that runs tells them, else browsertaskd -n does.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/doctor.h"

#define CHECK_MS   15000
#define TEXT_BYTES 8192

const char *
doctor_daemon(struct doctor *d)
{
	char path[PATH_MAX], *slash;
	ssize_t n;

	if (d->daemon[0] != '\0')
		return d->daemon;
	strlcpy(d->daemon, SBINDIR "/browsertaskd", sizeof(d->daemon));
	/* That which was installed with this program, wherever that is. */
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2; up++)
		if ((slash = strrchr(path, '/')) != NULL)
			*slash = '\0';
	if (strlcat(path, "/sbin/browsertaskd", sizeof(path)) < sizeof(path) &&
	    doctor_is_program(path))
		strlcpy(d->daemon, path, sizeof(d->daemon));
	return d->daemon;
}

/* Lines "name = value"; anything else is passed over. */
static void
take_lines(struct doctor *d, char *text)
{
	char *line, *equals, *value, *end, *rest = text, why[256];

	while ((line = strsep(&rest, "\n")) != NULL) {
		equals = strstr(line, " = ");
		if (equals == NULL)
			continue;
		*equals = '\0';
		value = equals + 3;
		end = strchr(value, '\0');
		if (*value == '"' && end > value + 1) {
			end[-1] = '\0';
			value++;
		}
		settings_set(&d->settings, line, value, why, sizeof(why));
	}
}

/* The settings of the service that runs. */
static void
take_profile(struct doctor *d)
{
	struct json_val all = json_obj_get(d->profile.root, "settings");
	const struct setting_info *row;
	char value[32], why[256];
	int64_t n;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		if (!json_get_int64(json_obj_get(all, row->name), &n))
			continue;
		if (row->type == SETTING_SWITCH)
			strlcpy(value, n != 0 ? "yes" : "no", sizeof(value));
		else
			snprintf(value, sizeof(value), "%lld", (long long)n);
		settings_set(&d->settings, row->name, value, why, sizeof(why));
	}
}

/* The file is read as the service would read it. */
void
doctor_config(struct doctor *d)
{
	const char *file = d->ctl->opt[OPT_CONFIG];
	const char *const args[] = { "-n", file != NULL ? "-f" : NULL, file,
		NULL };
	const char *path = doctor_daemon(d);
	char text[TEXT_BYTES];
	int status, error;

	if (d->running)
		take_profile(d);
	if (!doctor_is_program(path)) {
		doctor_say(d, DOCTOR_WARN, "settings",
		    "install browsertaskd, or have it check the file with -n",
		    "the file was not checked: there is no %s", path);
		return;
	}
	error = doctor_run(
	    path, args, false, CHECK_MS, text, sizeof(text), &status);
	if (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		doctor_say(d, DOCTOR_OK, "settings", NULL, "%.*s",
		    (int)strcspn(text, "\n"), text);
		if (!d->running)
			take_lines(d, text);
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	doctor_say(d, DOCTOR_FAIL, "settings",
	    "mend that line; browsertaskd -n checks the file", "%s",
	    error != 0 ? strerror(error) : text);
}

/* What the service allows one user, and what this one has of it. */
void
doctor_shares(struct doctor *d)
{
	struct json_val shares = json_obj_get(d->profile.root, "shares");
	const struct setting_info *row, *most_row = NULL;
	int64_t used, limit, most_used = 0, most_limit = 1;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		struct json_val share = json_obj_get(shares, row->name);

		if (!json_get_int64(json_obj_get(share, "used"), &used) ||
		    !json_get_int64(json_obj_get(share, "limit"), &limit) ||
		    limit < 1)
			continue;
		if (most_row != NULL &&
		    (double)used / (double)limit <=
			(double)most_used / (double)most_limit)
			continue;
		most_row = row;
		most_used = used;
		most_limit = limit;
	}
	if (most_row == NULL && json_is_object(shares))
		doctor_say(
		    d, DOCTOR_OK, "user limits", NULL, "none for this user");
	else if (most_row != NULL)
		doctor_say(d,
		    most_used > most_limit / 10 * 9 ? DOCTOR_WARN : DOCTOR_OK,
		    "user limits",
		    "end what is not needed, or have the setting raised",
		    "nearest is %s: %lld of %lld %s", most_row->name,
		    (long long)most_used, (long long)most_limit,
		    most_row->unit);
}
