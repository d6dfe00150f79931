/*
 * Commands about the service: status, drain, resume, version.
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
	enum ctl_exit rc = profile_get(ctl, &a);

	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		show_status(ctl, a.root);
	ctl_answer_free(&a);
	return rc;
}

/* drain, resume */

static enum ctl_exit
order(struct ctl *ctl, enum msg_id msg, struct ctl_answer *ret_answer)
{
	struct ipc_params p;

	ipc_params_init(&p, msg);
	return ctl_call(ctl, &p, CALL_MS, ret_answer);
}

static void
tell_drained(const struct ctl *ctl, struct json_val v, bool waits)
{
	int64_t active = number(v, "activeRuns");

	if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(v);
		return;
	}
	printf("no more runs are started: %" PRId64 " still active, %" PRId64
	       " waiting\n",
	    active, number(v, "queuedRuns"));
	fflush(stdout);
	if (active > 0 && !waits)
		ctl_hint("browsertaskctl drain --wait waits until none is; "
			 "browsertaskctl resume lets runs start again");
	else if (active == 0)
		ctl_hint("browsertaskctl resume lets runs start again");
}

/* Waits for each run that is active; *ret_rc is set when one cannot be. */
static bool
wait_active(struct ctl *ctl, enum ctl_exit *ret_rc)
{
	struct json_iter it;
	char id[IPC_ID_MAX + 1];
	struct ctl_answer a;
	struct ipc_params p;
	size_t n = 0;

	ipc_params_init(&p, MSG_RUN_LIST);
	ipc_set_str(&p, F_STATUS, run_status_name(RUN_RUNNING));
	*ret_rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (*ret_rc != CTL_OK)
		return false;
	it = json_iter(json_obj_get(a.root, "runs"));
	while (*ret_rc == CTL_OK && json_iter_next(&it)) {
		if (!json_str_copy(
			json_obj_get(it.val, "runId"), id, sizeof(id)))
			continue;
		*ret_rc = watch_end(ctl, id);
		n++;
	}
	ctl_answer_free(&a);
	/* One that just starts or ends is active and not in that list. */
	if (n == 0)
		watch_pause();
	return *ret_rc == CTL_OK;
}

/* Nothing is started meanwhile: what is active ends, run by run. */
static enum ctl_exit
wait_drained(struct ctl *ctl)
{
	struct ctl_answer a;
	bool drained = true;
	int64_t active, queued;
	enum ctl_exit rc;

	do {
		rc = profile_get(ctl, &a);
		if (rc != CTL_OK)
			return rc;
		drained = truth(a.root, "draining");
		active = number(a.root, "activeRuns");
		queued = number(a.root, "queuedRuns");
		ctl_answer_free(&a);
	} while (drained && active > 0 && wait_active(ctl, &rc));
	if (rc != CTL_OK)
		return rc;
	if (!drained) {
		ctl_error("the service was told to start runs again");
		return CTL_FAILED;
	}
	if (ctl->opt[OPT_JSON] == NULL)
		printf("no run is active, %" PRId64 " waiting\n", queued);
	return CTL_OK;
}

/* To wait, all runs have to be seen: on the administrators' socket they are. */
enum ctl_exit
cmd_drain(struct ctl *ctl)
{
	bool waits = ctl->opt[OPT_WAIT] != NULL;
	enum ctl_exit rc = waits ? ctl_connect_admin(ctl) : CTL_OK;
	struct ctl_answer a;
	int64_t active;

	if (rc == CTL_OK)
		rc = order(ctl, MSG_SERVICE_DRAIN, &a);
	if (rc != CTL_OK)
		return rc;
	active = number(a.root, "activeRuns");
	tell_drained(ctl, a.root, waits);
	ctl_answer_free(&a);
	return waits && active > 0 ? wait_drained(ctl) : CTL_OK;
}

enum ctl_exit
cmd_resume(struct ctl *ctl)
{
	struct ctl_answer a;
	enum ctl_exit rc = order(ctl, MSG_SERVICE_RESUME, &a);

	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		printf("runs are started again, %" PRId64 " waiting\n",
		    number(a.root, "queuedRuns"));
	ctl_answer_free(&a);
	return CTL_OK;
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
