/*
 * What a run came to: its result for people, or as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "ctl/ctl.h"
#include "ctl/file.h"
#include "ctl/show.h"
#include "ctl/table.h"
#include "ctl/text.h"
#include "json/writer.h"

#define PRETTY_BYTES_MAX (64u << 20)
#define CALL_MS          30000
#define WIDE_COLUMNS     100

static void
add_count(struct table *t, struct json_val v)
{
	int64_t n;

	if (json_get_int64(v, &n))
		table_addf(t, "%" PRId64, n);
	else
		table_add(t, "-");
}

/* The title; of a failed item what went wrong. */
static void
add_title(struct table *t, struct json_val item, bool success)
{
	struct json_val title = json_obj_get(item, "title");
	struct json_val error = json_obj_get(item, "error");

	if (success && json_is_string(title) && json_str_len(title) > 0)
		table_add_val(t, title);
	else if (!success && json_is_string(json_obj_get(error, "message")))
		table_add_val(t, json_obj_get(error, "message"));
	else
		table_add_val(t, json_obj_get(error, "errorCode"));
}

/* Length of "scheme://host" at the start of an address, 0 for others. */
static size_t
origin_len(const char *url)
{
	const char *host = strstr(url, "://");

	return host == NULL
	    ? 0
	    : strcspn(host + 3, "/?#") + 3 + (size_t)(host - url);
}

/* The origin that all items share; "" when they do not, or there is but one. */
static void
common_origin(struct json_val items, char *ret_origin, size_t size)
{
	struct json_iter it;
	size_t len = 0;
	char *url;

	ret_origin[0] = '\0';
	if (json_len(items) < 2)
		return;
	for (it = json_iter(items); json_iter_next(&it);) {
		url = text_of(json_obj_get(it.val, "url"));
		if (len == 0 && url != NULL) {
			len = origin_len(url);
			if (len < size)
				memcpy(ret_origin, url, len);
			ret_origin[len < size ? len : 0] = '\0';
		}
		if (url == NULL || len == 0 || origin_len(url) != len ||
		    strncmp(url, ret_origin, len) != 0)
			ret_origin[0] = '\0';
		free(url);
		if (ret_origin[0] == '\0')
			return;
	}
}

static void
add_url(struct table *t, struct json_val url, const char *origin)
{
	char *text = text_of(url);
	size_t len = strlen(origin);

	if (text != NULL && text[len] != '\0')
		table_add(t, text + len);
	else
		table_add_val(t, url);
	table_style(t, TABLE_DIM);
	free(text);
}

static void
add_item(
    struct table *t, size_t number, struct json_val item, const char *origin)
{
	bool success = false;
	int64_t status = 0, ms;
	char text[32];

	json_get_bool(json_obj_get(item, "success"), &success);
	json_get_int64(json_obj_get(item, "status"), &status);
	table_addf(t, "%zu", number);
	add_title(t, item, success);
	if (!success)
		table_style(t, TABLE_BAD);
	table_add_val(t, json_obj_get(item, "pageType"));
	if (status > 0)
		table_addf(t, "%" PRId64, status);
	else
		table_add(t, "-");
	table_style(t,
	    !success            ? TABLE_BAD
		: status >= 400 ? TABLE_WARN
				: TABLE_GOOD);
	add_count(t, json_obj_get(item, "elementCount"));
	add_count(t, json_obj_get(item, "contentSections"));
	if (json_get_int64(json_obj_get(item, "elapsedMs"), &ms)) {
		text_duration(ms, text, sizeof(text));
		table_add(t, text);
	} else
		table_add(t, "-");
	add_url(t, json_obj_get(item, "url"), origin);
}

static void
print_summary(struct json_val run, struct json_val result)
{
	struct json_val summary = json_obj_get(result, "summary");
	struct json_val metrics = json_obj_get(run, "metrics");
	int64_t total = 0, good = 0, bad = 0, ms = 0;
	char text[64];

	json_get_int64(json_obj_get(summary, "total"), &total);
	json_get_int64(json_obj_get(summary, "succeeded"), &good);
	json_get_int64(json_obj_get(summary, "failed"), &bad);
	json_get_int64(json_obj_get(metrics, "elapsedMs"), &ms);
	text_duration(ms, text, sizeof(text));
	printf("\n%" PRId64 " in all, %" PRId64 " succeeded, %" PRId64
	       " failed, ",
	    total, good, bad);
	if (total > good + bad)
		printf("%" PRId64 " not begun, ", total - good - bad);
	printf("in %s", text);
	if (ms > 0 && good + bad > 0)
		printf(" (%.1f a second)",
		    (double)(good + bad) * 1000 / (double)ms);
	putchar('\n');
	if (json_is_object(json_obj_get(result, "truncated")))
		printf("the table is shortened; the extraction artifact has "
		       "all of them\n");
}

static void
print_items(struct ctl *ctl, struct json_val run, struct json_val result)
{
	static const char *const wide[] = { ">#", "~TITLE", "TYPE", ">STATUS",
		">ELEMENTS", ">SECTIONS", ">TIME", "~URL" };
	static const char *const narrow[] = { ">#", "~TITLE", "TYPE", ">HTTP",
		">ELEM", ">SECT", ">TIME", "~URL" };
	bool scarce = ctl->columns > 0 && ctl->columns < WIDE_COLUMNS;
	struct json_val items = json_obj_get(result, "items");
	struct table *t = table_new(scarce ? narrow : wide, 8);
	char origin[128] = "";
	struct json_iter it;
	size_t number = 0;

	/* Columns are scarce on a terminal only; files get whole addresses. */
	if (ctl->columns > 0)
		common_origin(items, origin, sizeof(origin));
	for (it = json_iter(items); json_iter_next(&it);)
		add_item(t, ++number, it.val, origin);
	table_print(t, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	table_free(&t);
	if (origin[0] != '\0')
		printf("\naddresses are below %s", origin);
	print_summary(run, result);
}

static void
tell_failure(struct json_val run)
{
	struct json_val error = json_obj_get(run, "error");
	char *code = text_of(json_obj_get(error, "errorCode"));
	char *message = text_of(json_obj_get(error, "message"));
	char *hint = text_of(json_obj_get(error, "recoverHint"));
	char *cause =
	    text_of(json_obj_get(json_obj_get(error, "details"), "cause"));

	if (cause != NULL && code != NULL && strcmp(cause, code) == 0)
		cause[0] = '\0';
	ctl_error("the run %s: %s (%s%s%s)",
	    json_str_eq(json_obj_get(run, "status"), "canceled")
		? "was canceled"
		: "failed",
	    message == NULL ? "" : message, code == NULL ? "" : code,
	    cause == NULL || cause[0] == '\0' ? "" : ", ",
	    cause == NULL ? "" : cause);
	if (hint != NULL && hint[0] != '\0')
		ctl_hint("%s", hint);
	free(code);
	free(message);
	free(hint);
	free(cause);
}

/* On a terminal, what else there is to read. */
static void
print_artifacts(struct ctl *ctl, struct json_val run)
{
	char id[IPC_ID_MAX + 1];
	struct ctl_answer a;
	struct json_iter it;

	if (!json_str_copy(json_obj_get(run, "runId"), id, sizeof(id)) ||
	    json_len(json_obj_get(run, "artifactIds")) == 0 ||
	    artifact_list(ctl, id, &a) != CTL_OK)
		return;
	for (it = json_iter(json_obj_get(a.root, "artifacts"));
	     json_iter_next(&it);) {
		char *art = text_of(json_obj_get(it.val, "artifactId"));
		char *kind = text_of(json_obj_get(it.val, "kind"));
		char size[32];
		int64_t n = 0;

		json_get_int64(json_obj_get(it.val, "totalSize"), &n);
		text_bytes(n, size, sizeof(size));
		printf("%-12s %s  %s\n", kind == NULL ? "" : kind,
		    art == NULL ? "" : art, size);
		free(art);
		free(kind);
	}
	ctl_answer_free(&a);
}

static bool
has_items(struct json_val result)
{
	return json_len(json_obj_get(result, "items")) > 0;
}

/* A session that the run has left behind is there to be used. */
static void
tell_session(const struct ctl *ctl, struct json_val result)
{
	char *id = text_of(json_obj_get(result, "sessionId"));

	if (id != NULL && id[0] != '\0' && ctl->err_tty)
		ctl_hint("browsertaskctl submit TEMPLATE --session %s goes on "
			 "in this session",
		    id);
	free(id);
}

/* What a failed or canceled run had finished is in its TaskResult. */
static void
print_finished(struct ctl *ctl, struct json_val run)
{
	char id[IPC_ID_MAX + 1];
	struct json_val result;
	struct ctl_answer a;
	struct ipc_params p;

	if (!json_str_copy(json_obj_get(run, "runId"), id, sizeof(id)))
		return;
	ipc_params_init(&p, MSG_RUN_GET);
	ipc_set_str(&p, F_RUN_ID, id);
	ipc_set_str(&p, F_INCLUDE, "output");
	if (ctl_call(ctl, &p, CALL_MS, &a) != CTL_OK)
		return;
	result = json_obj_get(json_obj_get(a.root, "output"), "result");
	if (has_items(result))
		print_items(ctl, run, result);
	ctl_answer_free(&a);
}

enum ctl_exit
result_show(struct ctl *ctl, struct json_val run)
{
	struct json_val result = json_obj_get(run, "result");

	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(run);
	else if (json_is_array(json_obj_get(result, "items")))
		print_items(ctl, run, result);
	else if (json_is_object(result))
		show_result(ctl, result);
	else if (json_is_object(json_obj_get(run, "error")))
		print_finished(ctl, run);
	if (ctl->opt[OPT_JSON] == NULL)
		print_artifacts(ctl, run);
	if (json_is_object(json_obj_get(run, "error")))
		tell_failure(run);
	else if (ctl->opt[OPT_JSON] == NULL)
		tell_session(ctl, result);
	return ctl_exit_of(run);
}

static enum ctl_exit
write_result(const char *path, struct json_val result)
{
	struct file f;
	struct buf b;
	bool good;

	if (!file_open(&f, path))
		return CTL_FAILED;
	buf_init(&b, PRETTY_BYTES_MAX);
	good = json_pretty(result, &b) && buf_add(&b, "\n", 1) &&
	    file_write(&f, b.data, b.len);
	buf_clear(&b);
	return file_close(&f, good) && good ? CTL_OK : CTL_FAILED;
}

enum ctl_exit
cmd_result(struct ctl *ctl)
{
	char id[IPC_ID_MAX + 1];
	struct json_val result;
	struct ctl_answer a;
	enum ctl_exit rc = run_id_of(ctl, ctl->args[0], id), wrote;

	if (rc == CTL_OK)
		rc = run_get(ctl, id, &a);
	if (rc != CTL_OK)
		return rc;
	result = json_obj_get(a.root, "result");
	rc = ctl_exit_of(a.root);
	if (json_is_null(result) && rc == CTL_OK) {
		ctl_error("%s has not ended yet", id);
		ctl_hint("browsertaskctl wait %s shows how it goes", id);
		rc = CTL_REFUSED;
	} else if (json_is_null(result) &&
	    (ctl->opt[OPT_OUTPUT] != NULL || ctl->opt[OPT_JSON] != NULL)) {
		tell_failure(a.root);
	} else if (ctl->opt[OPT_OUTPUT] != NULL) {
		wrote = write_result(ctl->opt[OPT_OUTPUT], result);
		rc = wrote == CTL_OK ? rc : wrote;
	} else if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(result);
	} else {
		rc = result_show(ctl, a.root);
	}
	ctl_answer_free(&a);
	return rc;
}
