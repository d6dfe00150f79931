/*
 * Commands about the service: status, profile, drain, resume, version.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "ctl/ctl.h"
#include "ctl/text.h"
#include "json/writer.h"
#include "model/run.h"

#define CALL_MS 30000

static enum ctl_exit
ask(struct ctl *ctl, enum msg_id msg, struct ctl_answer *ret_answer)
{
	struct ipc_params p;

	ipc_params_init(&p, msg);
	return ctl_call(ctl, &p, CALL_MS, ret_answer);
}

static int64_t
number(struct json_val of, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(of, key), &n);
	return n;
}

static bool
truth(struct json_val of, const char *key)
{
	bool b = false;

	json_get_bool(json_obj_get(of, key), &b);
	return b;
}

/* status */

static void
show_state(const struct ctl *ctl, struct json_val profile)
{
	bool drained = truth(profile, "draining");
	char since[64];

	text_time(number(profile, "drainedAt"), since, sizeof(since));
	printf("browsertaskd %s  %s%s%s%s%s\n",
	    client_hello(ctl->client)->version,
	    !ctl->color   ? ""
		: drained ? "\033[33m"
			  : "\033[32m",
	    drained ? "draining" : "serving", ctl->color ? "\033[0m" : "",
	    drained ? " since " : "", drained ? since : "");
	show_text("socket", "%s, trust %s%s", client_path(ctl->client),
	    client_hello(ctl->client)->trust,
	    client_hello(ctl->client)->admin ? ", administrator" : "");
}

static void
show_runs(struct json_val profile)
{
	struct json_val runs = json_obj_get(profile, "runs");
	const char *gap = "";

	show_text("load",
	    "%" PRId64 " active of %" PRId64 ", %" PRId64
	    " waiting of %" PRId64,
	    number(profile, "activeRuns"), number(profile, "maxConcurrentRuns"),
	    number(profile, "queuedRuns"), number(profile, "maxQueuedRuns"));
	printf("%-10s ", "runs");
	for (int i = 0; i < RUN__MAX; i++) {
		const char *name = run_status_name((enum run_status)i);

		if (json_is_missing(json_obj_get(runs, name)))
			continue;
		printf("%s%" PRId64 " %s", gap, number(runs, name),
		    strcmp(name, "partial_success") == 0 ? "partial" : name);
		gap = ", ";
	}
	putchar('\n');
}

static void
show_browser(struct json_val profile)
{
	struct json_val browser = json_obj_get(profile, "browser");
	char *product = text_of(json_obj_get(browser, "product"));
	int64_t warm = number(profile, "warmCells");
	char waiting[48] = "";

	if (warm > 0)
		snprintf(waiting, sizeof(waiting),
		    ", %" PRId64 " ready for the next run", warm);

	if (product == NULL || product[0] == '\0')
		show_text("browser", "not seen yet: no run had one");
	else
		show_text("browser", "%s, sandbox %s%s", product,
		    truth(browser, "confined") ? "on" : "OFF", waiting);
	free(product);
}

static void
show_status(const struct ctl *ctl, struct json_val profile)
{
	char up[64], disk[64], store[64];

	text_duration(number(profile, "uptimeMs"), up, sizeof(up));
	text_bytes(number(profile, "freeBytes"), disk, sizeof(disk));
	text_bytes(number(profile, "storeBytes"), store, sizeof(store));
	show_state(ctl, profile);
	show_text("up",
	    "%s, pid %" PRId64 " (supervisord %" PRId64
	    "), start number %" PRId64,
	    up, number(profile, "launcherPid"), number(profile, "pid"),
	    number(profile, "epoch"));
	show_runs(profile);
	show_browser(profile);
	show_line("clients", json_obj_get(profile, "clients"));
	if (json_is_missing(json_obj_get(profile, "storeBytes")))
		show_text("disk", "%s free", disk);
	else
		show_text("disk", "%s free, store %s", disk, store);
	if (truth(profile, "draining"))
		ctl_hint("browsertaskctl resume lets runs start again");
}

enum ctl_exit
cmd_status(struct ctl *ctl)
{
	struct ctl_answer a;
	enum ctl_exit rc = ask(ctl, MSG_PROFILE_GET, &a);

	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		show_status(ctl, a.root);
	ctl_answer_free(&a);
	return rc;
}

/* profile */

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

static void show_members(struct json_val object, int depth);

/* Durations, times and sizes are known by the ends of their names. */
static void
show_member(struct json_val key, struct json_val v, int depth)
{
	char name[64], text[64] = "";
	char *plain;
	int64_t n;

	if (!json_str_copy(key, name, sizeof(name)))
		return;
	if (json_is_object(v)) {
		printf("%*s%s\n", 2 * depth, "", name);
		show_members(v, depth + 1);
		return;
	}
	if (json_get_int64(v, &n) && ends_with(name, "Ms"))
		text_duration(n, text, sizeof(text));
	else if (json_get_int64(v, &n) && ends_with(name, "At"))
		text_time(n, text, sizeof(text));
	else if (json_get_int64(v, &n) &&
	    (ends_with(name, "Bytes") || ends_with(name, "Size")))
		text_bytes(n, text, sizeof(text));
	printf("%*s%-*s ", 2 * depth, "", 22 - 2 * depth, name);
	if (json_is_array(v)) {
		const char *gap = "";

		for (struct json_iter it = json_iter(v); json_iter_next(&it);) {
			plain = text_of(it.val);
			printf("%s%s", gap, plain == NULL ? "" : plain);
			free(plain);
			gap = ", ";
		}
		putchar('\n');
		return;
	}
	plain = text[0] != '\0' ? NULL : text_of(v);
	printf("%s\n",
	    plain != NULL && plain[0] != '\0' ? plain
		: text[0] != '\0'             ? text
					      : "-");
	free(plain);
}

static void
show_members(struct json_val object, int depth)
{
	for (struct json_iter it = json_iter(object); json_iter_next(&it);)
		show_member(it.key, it.val, depth);
}

enum ctl_exit
cmd_profile(struct ctl *ctl)
{
	struct ctl_answer a;
	enum ctl_exit rc = ask(ctl, MSG_PROFILE_GET, &a);

	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		show_members(a.root, 0);
	ctl_answer_free(&a);
	return rc;
}

/* drain, resume */

static enum ctl_exit
order(struct ctl *ctl, enum msg_id msg)
{
	struct ctl_answer a;
	enum ctl_exit rc = ask(ctl, msg, &a);
	int64_t active, queued;

	if (rc != CTL_OK)
		return rc;
	active = number(a.root, "activeRuns");
	queued = number(a.root, "queuedRuns");
	if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(a.root);
	} else if (msg == MSG_SERVICE_RESUME) {
		printf("runs are started again, %" PRId64 " waiting\n", queued);
	} else {
		printf("no more runs are started: %" PRId64
		       " still active, %" PRId64 " waiting\n",
		    active, queued);
		if (active > 0)
			ctl_hint("browsertaskctl runs --status running shows "
				 "them; wait RUN waits for one");
		else
			ctl_hint("browsertaskctl resume lets runs start again");
	}
	ctl_answer_free(&a);
	return rc;
}

enum ctl_exit
cmd_drain(struct ctl *ctl)
{
	return order(ctl, MSG_SERVICE_DRAIN);
}

enum ctl_exit
cmd_resume(struct ctl *ctl)
{
	return order(ctl, MSG_SERVICE_RESUME);
}

/* version */

static void
print_versions(const char *service)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, 1024);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "browsertaskctl", PACKAGE_VERSION);
	json_put_str(&w, "browsertaskd", service);
	json_put_int64(&w, "proto", IPC_PROTO_CLIENT);
	json_write_end_object(&w);
	ctl_print_written(&w, &b);
	buf_clear(&b);
}

/* Useful without the service, too. */
enum ctl_exit
cmd_version(struct ctl *ctl)
{
	char reason[CLIENT_REASON_MAX];
	const char *service = NULL;
	enum client_status status;

	status = client_connect(
	    "browsertaskctl", ctl->opt[OPT_SOCKET], &ctl->client, reason);
	if (status == CLIENT_OK)
		service = client_hello(ctl->client)->version;
	if (ctl->opt[OPT_JSON] != NULL) {
		print_versions(service);
		return CTL_OK;
	}
	printf("browsertaskctl %s, protocol %d\n", PACKAGE_VERSION,
	    IPC_PROTO_CLIENT);
	if (service != NULL)
		printf("browsertaskd   %s at %s\n", service,
		    client_path(ctl->client));
	else if (status == CLIENT_NO_SERVICE)
		printf("browsertaskd   does not run\n");
	else
		printf("browsertaskd   %s\n", reason);
	return CTL_OK;
}
