/*
 * Commands about runs that read or cancel: runs, show, cancel, result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/table.h"
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

static enum table_style
status_style(struct json_val status)
{
	if (json_str_eq(status, "succeeded"))
		return TABLE_GOOD;
	if (json_str_eq(status, "partial_success"))
		return TABLE_WARN;
	if (json_str_eq(status, "failed") || json_str_eq(status, "canceled"))
		return TABLE_BAD;
	return TABLE_PLAIN;
}

static void
add_run(struct table *t, struct json_val run)
{
	struct json_val progress = json_obj_get(run, "progress");
	struct json_val status = json_obj_get(run, "status");
	int64_t done = 0, total = 0, ms = 0;
	char text[64];

	json_get_int64(json_obj_get(progress, "doneSteps"), &done);
	json_get_int64(json_obj_get(progress, "totalSteps"), &total);
	table_add_val(t, json_obj_get(run, "runId"));
	table_add_val(t, json_obj_get(run, "templateId"));
	table_add_val(t, status);
	table_style(t, status_style(status));
	if (total > 0)
		table_addf(t, "%" PRId64 "/%" PRId64, done, total);
	else
		table_add(t, "-");
	json_get_int64(json_obj_get(run, "createdAt"), &ms);
	text_time(ms, text, sizeof(text));
	table_add(t, text);
	ms = 0;
	json_get_int64(
	    json_obj_get(json_obj_get(run, "metrics"), "elapsedMs"), &ms);
	text_duration(ms, text, sizeof(text));
	table_add(t, text);
}

static bool
set_list_params(struct ctl *ctl, struct ipc_params *p)
{
	int64_t limit = -1, offset = -1;

	ipc_params_init(p, MSG_RUN_LIST);
	if (ctl->opt[OPT_STATUS] != NULL)
		ipc_set_str(p, F_STATUS, ctl->opt[OPT_STATUS]);
	if (ctl->opt[OPT_TEMPLATE] != NULL)
		ipc_set_str(p, F_TEMPLATE_ID, ctl->opt[OPT_TEMPLATE]);
	if (ctl->opt[OPT_SESSION] != NULL)
		ipc_set_str(p, F_SESSION_ID, ctl->opt[OPT_SESSION]);
	if (!ctl_number(ctl, OPT_LIMIT, 1, LIMIT_LIST, &limit) ||
	    !ctl_number(ctl, OPT_OFFSET, 0, IPC_INT_MAX, &offset))
		return false;
	if (limit >= 0)
		ipc_set_int(p, F_LIMIT, limit);
	if (offset >= 0)
		ipc_set_int(p, F_OFFSET, offset);
	return true;
}

enum ctl_exit
cmd_runs(struct ctl *ctl)
{
	static const char *const titles[] = { "RUN", "~TEMPLATE", "STATUS",
		">DONE", "CREATED", ">TIME" };
	struct ctl_answer a;
	struct ipc_params p;
	struct json_iter it;
	struct table *t;
	enum ctl_exit rc;
	int64_t total = 0;

	if (!set_list_params(ctl, &p))
		return CTL_USAGE;
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(a.root);
		ctl_answer_free(&a);
		return CTL_OK;
	}
	t = table_new(titles, 6);
	it = json_iter(json_obj_get(a.root, "runs"));
	while (json_iter_next(&it))
		add_run(t, it.val);
	json_get_int64(json_obj_get(a.root, "total"), &total);
	if (table_rows(t) > 0)
		table_print(
		    t, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	if ((int64_t)table_rows(t) < total || total == 0)
		fprintf(stderr,
		    total == 0 ? "no runs\n"
			       : "%zu of %" PRId64
				 " runs; see --limit, --offset\n",
		    table_rows(t), total);
	table_free(&t);
	ctl_answer_free(&a);
	return CTL_OK;
}

static void
show_line(const char *name, struct json_val v)
{
	char *text;

	if (json_is_missing(v) || json_is_null(v))
		return;
	text = text_of(v);
	if (text != NULL && text[0] != '\0')
		printf("%-10s %s\n", name, text);
	free(text);
}

static void
show_time(const char *name, struct json_val v)
{
	int64_t ms;
	char text[64];

	if (!json_get_int64(v, &ms))
		return;
	text_time(ms, text, sizeof(text));
	printf("%-10s %s\n", name, text);
}

static void
show_took(const char *name, struct json_val v)
{
	int64_t ms;
	char text[64];

	if (!json_get_int64(v, &ms))
		return;
	text_duration(ms, text, sizeof(text));
	printf("%-10s %s\n", name, text);
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
		printf(
		    "%-10s %" PRId64 " of %" PRId64 "\n", "done", done, total);
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
		free(reason);
		rc = CTL_REFUSED;
	} else if (ctl->opt[OPT_JSON] == NULL)
		printf("%s canceled\n", id);
	ctl_answer_free(&a);
	return rc;
}
