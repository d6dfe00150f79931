/*
 * Commands about one run: show, cancel; and what others need of runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/text.h"

#define CALL_MS 30000

enum ctl_exit
run_get(struct ctl *ctl, const char *run_id, struct ctl_answer *ret_answer)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_RUN_GET);
	ipc_set_str(&p, F_RUN_ID, run_id);
	return ctl_call(ctl, &p, CALL_MS, ret_answer);
}

enum ctl_exit
run_id_of(struct ctl *ctl, const char *arg, char ret_id[IPC_ID_MAX + 1])
{
	struct ctl_answer a;
	struct json_val run;
	struct ipc_params p;
	enum ctl_exit rc;

	if (strcmp(arg, "last") != 0) {
		if (arg[0] == '\0' || strlen(arg) > IPC_ID_MAX) {
			ctl_error("%s is no run id", arg);
			return CTL_USAGE;
		}
		snprintf(ret_id, IPC_ID_MAX + 1, "%s", arg);
		return CTL_OK;
	}
	ipc_params_init(&p, MSG_RUN_LIST);
	ipc_set_int(&p, F_LIMIT, 1);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	run = json_arr_get(json_obj_get(a.root, "runs"), 0);
	if (!json_str_copy(
		json_obj_get(run, "runId"), ret_id, IPC_ID_MAX + 1)) {
		ctl_error("there is no run yet");
		ctl_hint("browsertaskctl submit TEMPLATE starts one");
		rc = CTL_REFUSED;
	}
	ctl_answer_free(&a);
	return rc;
}

static void
show_time(const char *name, struct json_val v)
{
	int64_t ms;
	char text[64];

	if (!json_get_int64(v, &ms))
		return;
	text_time(ms, text, sizeof(text));
	show_text(name, "%s", text);
}

static void
show_took(const char *name, struct json_val v)
{
	int64_t ms;
	char text[64];

	if (!json_get_int64(v, &ms))
		return;
	text_duration(ms, text, sizeof(text));
	show_text(name, "%s", text);
}

static void
show_error(struct json_val error)
{
	if (!json_is_object(error))
		return;
	show_line("error", json_obj_get(error, "errorCode"));
	show_line("", json_obj_get(error, "message"));
	show_line(
	    "cause", json_obj_get(json_obj_get(error, "details"), "cause"));
	show_line("advice", json_obj_get(error, "recoverHint"));
}

static void
show_run(struct json_val run)
{
	struct json_val progress = json_obj_get(run, "progress");
	struct json_val metrics = json_obj_get(run, "metrics");
	struct json_iter it;
	int64_t done = 0, total = 0;

	show_line("run", json_obj_get(run, "runId"));
	show_line("template", json_obj_get(run, "templateId"));
	show_line("version", json_obj_get(run, "templateVersion"));
	show_line("status", json_obj_get(run, "status"));
	show_line("phase", json_obj_get(run, "phase"));
	show_line("queued as", json_obj_get(run, "queuePosition"));
	if (json_get_int64(json_obj_get(progress, "doneSteps"), &done) &&
	    json_get_int64(json_obj_get(progress, "totalSteps"), &total) &&
	    total > 0)
		show_text("done", "%" PRId64 " of %" PRId64, done, total);
	show_line("attempt", json_obj_get(run, "attempt"));
	show_line("mode", json_obj_get(run, "mode"));
	show_line("session", json_obj_get(run, "sessionId"));
	show_line("trace", json_obj_get(run, "traceId"));
	show_time("created", json_obj_get(run, "createdAt"));
	show_time("started", json_obj_get(run, "startedAt"));
	show_time("ended", json_obj_get(run, "endedAt"));
	show_took("waited", json_obj_get(metrics, "queueMs"));
	show_took("took", json_obj_get(metrics, "elapsedMs"));
	show_error(json_obj_get(run, "error"));
	for (it = json_iter(json_obj_get(run, "warnings"));
	     json_iter_next(&it);)
		show_line("warning", it.val);
	for (it = json_iter(json_obj_get(run, "artifactIds"));
	     json_iter_next(&it);)
		show_line("artifact", it.val);
}

enum ctl_exit
cmd_show(struct ctl *ctl)
{
	char id[IPC_ID_MAX + 1];
	struct ctl_answer a;
	enum ctl_exit rc = run_id_of(ctl, ctl->args[0], id);

	if (rc == CTL_OK)
		rc = run_get(ctl, id, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		show_run(a.root);
	ctl_answer_free(&a);
	return CTL_OK;
}

enum ctl_exit
cmd_cancel(struct ctl *ctl)
{
	char id[IPC_ID_MAX + 1];
	struct ctl_answer a;
	struct ipc_params p;
	bool success = false;
	char *reason;
	enum ctl_exit rc = run_id_of(ctl, ctl->args[0], id);

	if (rc != CTL_OK)
		return rc;
	ipc_params_init(&p, MSG_RUN_CANCEL);
	ipc_set_str(&p, F_RUN_ID, id);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	json_get_bool(json_obj_get(a.root, "success"), &success);
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	if (!success) {
		reason = text_of(json_obj_get(a.root, "reason"));
		ctl_error("%s was not canceled: %s", id,
		    reason == NULL ? "" : reason);
		ctl_hint("browsertaskctl show %s tells how it ended", id);
		free(reason);
		rc = CTL_REFUSED;
	} else if (ctl->opt[OPT_JSON] == NULL)
		printf("%s canceled\n", id);
	ctl_answer_free(&a);
	return rc;
}
