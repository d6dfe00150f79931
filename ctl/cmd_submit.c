/*
 * submit and wait: a run from the command line to its result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "ctl/text.h"
#include "json/writer.h"
#include "model/run.h"

#define CALL_MS 30000

/* Whether any argument is a plain word, whose type the schema decides. */
static bool
want_schema(const struct ctl *ctl)
{
	for (int i = 1; i < ctl->nargs; i++)
		if (strchr(ctl->args[i], '=') != NULL &&
		    strstr(ctl->args[i], ":=") == NULL)
			return true;
	return false;
}

static struct json_val
schema_of(struct json_val templates, const char *id)
{
	struct json_iter it = json_iter(templates);

	while (json_iter_next(&it))
		if (json_str_eq(json_obj_get(it.val, "id"), id))
			return json_obj_get(it.val, "inputs");
	return json_obj_get(templates, "none");
}

static enum ctl_exit
build_inputs(struct ctl *ctl, struct buf *b)
{
	struct ctl_answer a = { 0 };
	struct ipc_params p;
	enum ctl_exit rc = CTL_OK;

	if (want_schema(ctl)) {
		ipc_params_init(&p, MSG_TEMPLATE_LIST);
		rc = ctl_call(ctl, &p, CALL_MS, &a);
	}
	if (rc == CTL_OK &&
	    !inputs_build(ctl->args + 1, ctl->nargs - 1,
		schema_of(json_obj_get(a.root, "templates"), ctl->args[0]), b))
		rc = CTL_USAGE;
	ctl_answer_free(&a);
	return rc;
}

/* A list with commas or blanks between becomes an array. */
static void
put_hosts(struct json_writer *w, const char *name, const char *list)
{
	static const char between[] = ", \n";

	if (list == NULL)
		return;
	json_write_key(w, name);
	json_write_begin_array(w);
	while (*(list += strspn(list, between)) != '\0') {
		json_write_strn(w, list, strcspn(list, between));
		list += strcspn(list, between);
	}
	json_write_end_array(w);
}

static bool
build_options(struct ctl *ctl, struct buf *b)
{
	const char *mode = ctl->opt[OPT_MODE];
	const char *priority = ctl->opt[OPT_PRIORITY];
	struct json_writer w;
	enum run_priority rank;
	enum run_mode known;
	int64_t ms = 0;

	if (mode != NULL && !run_mode_by_name(mode, &known)) {
		ctl_error("%s is none of sync, async and auto", mode);
		return false;
	}
	if (priority != NULL && !run_priority_by_name(priority, &rank)) {
		ctl_error(
		    "%s is none of low, normal, high and critical", priority);
		return false;
	}
	if (ctl->opt[OPT_TIMEOUT] != NULL &&
	    (!ctl_duration(ctl->opt[OPT_TIMEOUT], &ms) || ms < 1 ||
		ms > LIMIT_TIMEOUT_MS)) {
		ctl_error("%s is no time up to 10m", ctl->opt[OPT_TIMEOUT]);
		return false;
	}
	json_writer_init(&w, b);
	json_write_begin_object(&w);
	/* Waiting is this program's own business: see --wait. */
	json_put_str(&w, "mode", mode != NULL ? mode : "async");
	if (ms > 0)
		json_put_int64(&w, "timeoutMs", ms);
	if (ctl->opt[OPT_KEY] != NULL)
		json_put_str(&w, "idempotencyKey", ctl->opt[OPT_KEY]);
	if (priority != NULL)
		json_put_str(&w, "priority", priority);
	put_hosts(&w, "allowedDomains", ctl->opt[OPT_ALLOW]);
	put_hosts(&w, "forbiddenDomains", ctl->opt[OPT_FORBID]);
	json_write_end_object(&w);
	return json_writer_finish(&w);
}

static void
tell_duplicate(struct json_val answer)
{
	bool same = false, mismatch = false;

	json_get_bool(json_obj_get(answer, "deduplicated"), &same);
	json_get_bool(json_obj_get(answer, "paramsMismatch"), &mismatch);
	if (same)
		ctl_error("the key was used before: this is the run it made%s",
		    mismatch ? ", with other inputs" : "");
}

static enum ctl_exit
tell_submitted(struct ctl *ctl, struct json_val answer)
{
	char id[IPC_ID_MAX + 1] = "";
	char *status = text_of(json_obj_get(answer, "status"));
	enum run_status known = RUN_QUEUED;
	enum ctl_exit rc = CTL_OK;

	json_str_copy(json_obj_get(answer, "runId"), id, sizeof(id));
	tell_duplicate(answer);
	if (status != NULL)
		run_status_by_name(status, &known);
	if (ctl->opt[OPT_WAIT] != NULL)
		rc = watch_run(ctl, id);
	else if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(answer);
	else if (run_status_terminal(known) && ctl->out_tty)
		rc = result_show(ctl, answer);
	else {
		printf("%s\n", id);
		if (ctl->out_tty)
			ctl_hint(
			    "browsertaskctl wait %s shows how it goes", id);
	}
	if (run_status_terminal(known) && ctl->opt[OPT_WAIT] == NULL)
		rc = ctl_exit_of(answer);
	free(status);
	return rc;
}

enum ctl_exit
cmd_submit(struct ctl *ctl)
{
	struct buf inputs, options;
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	buf_init(&inputs, LIMIT_INPUT_BYTES);
	buf_init(&options, LIMIT_OPTIONS_BYTES);
	rc = build_inputs(ctl, &inputs);
	if (rc == CTL_OK && !build_options(ctl, &options))
		rc = CTL_USAGE;
	if (rc != CTL_OK)
		goto out;
	ipc_params_init(&p, MSG_RUN_SUBMIT);
	ipc_set_str(&p, F_TEMPLATE_ID, ctl->args[0]);
	ipc_set_bin(&p, F_INPUTS, inputs.data, inputs.len);
	ipc_set_bin(&p, F_OPTIONS, options.data, options.len);
	if (ctl->opt[OPT_SESSION] != NULL)
		ipc_set_str(&p, F_SESSION_ID, ctl->opt[OPT_SESSION]);
	if (ctl->opt[OPT_TEMPLATE_VERSION] != NULL)
		ipc_set_str(
		    &p, F_TEMPLATE_VERSION, ctl->opt[OPT_TEMPLATE_VERSION]);
	/* In mode sync the answer comes when the run has ended. */
	rc = ctl_call(ctl, &p, CLIENT_WHILE_ALIVE, &a);
	if (rc == CTL_OK) {
		rc = tell_submitted(ctl, a.root);
		ctl_answer_free(&a);
	}
out:
	buf_clear(&inputs);
	buf_clear(&options);
	return rc;
}

enum ctl_exit
cmd_wait(struct ctl *ctl)
{
	char id[IPC_ID_MAX + 1];
	enum ctl_exit rc = run_id_of(ctl, ctl->args[0], id);

	return rc == CTL_OK ? watch_run(ctl, id) : rc;
}
