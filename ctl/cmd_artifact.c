/*
 * artifacts, artifact get, and files for what is fetched.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/buf.h"
#include "ctl/commands.h"
#include "ctl/ctl.h"
#include "ctl/file.h"
#include "ctl/table.h"
#include "ctl/text.h"

#define CALL_MS      30000
#define WIDE_COLUMNS 100

enum ctl_exit
artifact_list(
    struct ctl *ctl, const char *run_id, struct ctl_answer *ret_answer)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_ARTIFACT_LIST);
	ipc_set_str(&p, F_RUN_ID, run_id);
	return ctl_call(ctl, &p, CALL_MS, ret_answer);
}

/* The media type is left out where columns are scarce: the name tells it. */
static bool
with_types(const struct ctl *ctl)
{
	return ctl->columns == 0 || ctl->columns >= WIDE_COLUMNS;
}

static void
add_artifact(const struct ctl *ctl, struct table *t, struct json_val row)
{
	char text[32];
	int64_t bytes = 0;
	bool expired = false;

	json_get_bool(json_obj_get(row, "expired"), &expired);
	json_get_int64(json_obj_get(row, "totalSize"), &bytes);
	text_bytes(bytes, text, sizeof(text));
	table_add_val(t, json_obj_get(row, "artifactId"));
	table_add_val(t, json_obj_get(row, "kind"));
	if (with_types(ctl))
		table_add_val(t, json_obj_get(row, "mimeType"));
	table_add(t, expired ? "expired" : text);
	table_add_val(t, json_obj_get(row, "name"));
}

static enum ctl_exit
list(struct ctl *ctl, const char *run)
{
	static const char *const wide[] = { "ARTIFACT", "KIND", "TYPE", ">SIZE",
		"~NAME" };
	static const char *const narrow[] = { "ARTIFACT", "KIND", ">SIZE",
		"~NAME" };
	char id[IPC_ID_MAX + 1];
	struct ctl_answer a;
	struct json_iter it;
	struct table *t;
	enum ctl_exit rc = run_id_of(ctl, run, id);

	if (rc == CTL_OK)
		rc = artifact_list(ctl, id, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(a.root);
		ctl_answer_free(&a);
		return CTL_OK;
	}
	t = with_types(ctl) ? table_new(wide, 5) : table_new(narrow, 4);
	it = json_iter(json_obj_get(a.root, "artifacts"));
	while (json_iter_next(&it))
		add_artifact(ctl, t, it.val);
	if (table_rows(t) > 0)
		table_print(
		    t, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	else
		fprintf(stderr, "no artifacts\n");
	table_free(&t);
	ctl_answer_free(&a);
	return CTL_OK;
}

/* The artifact of the wanted kind; of any kind when the run has just one. */
static enum ctl_exit
choose(struct ctl *ctl, const char *run, char ret_id[IPC_ID_MAX + 1])
{
	const char *kind = ctl->opt[OPT_KIND];
	char id[IPC_ID_MAX + 1];
	struct json_val rows, found;
	struct ctl_answer a;
	struct json_iter it;
	size_t n = 0;
	enum ctl_exit rc = run_id_of(ctl, run, id);

	if (rc == CTL_OK)
		rc = artifact_list(ctl, id, &a);
	if (rc != CTL_OK)
		return rc;
	rows = json_obj_get(a.root, "artifacts");
	found = json_arr_get(rows, json_len(rows));
	for (it = json_iter(rows); json_iter_next(&it);)
		if (kind == NULL ||
		    json_str_eq(json_obj_get(it.val, "kind"), kind)) {
			found = it.val;
			n++;
		}
	if (n != 1 ||
	    !json_str_copy(
		json_obj_get(found, "artifactId"), ret_id, IPC_ID_MAX + 1)) {
		ctl_error("%s has %zu artifacts%s%s", id, n,
		    kind != NULL ? " of kind " : "", kind != NULL ? kind : "");
		ctl_hint("browsertaskctl artifacts %s shows them; choose "
			 "one by its id or by --kind",
		    id);
		rc = CTL_REFUSED;
	}
	ctl_answer_free(&a);
	return rc;
}

/*
 * Text comes as it is and anything else as base64. Only one of the two can
 * have the length that is announced.
 */
static bool
take_chunk(struct json_val chunk, struct buf *ret_bytes, bool *ret_text)
{
	int64_t length = -1;
	size_t len = 0;
	char *data;
	bool good;

	json_get_int64(json_obj_get(chunk, "length"), &length);
	data = json_str_dup(json_obj_get(chunk, "data"), &len);
	if (data == NULL || length < 0) {
		free(data);
		return false;
	}
	*ret_text = len == (size_t)length;
	good = *ret_text ? buf_add(ret_bytes, data, len)
			 : base64_decode(ret_bytes, data, len) &&
		ret_bytes->len == (size_t)length;
	free(data);
	return good;
}

static bool
put_chunk(struct file *f, const struct buf *bytes, bool text, bool terminal)
{
	struct buf clean;
	bool good;

	if (!terminal)
		return file_write(f, bytes->data, bytes->len);
	if (!text) {
		ctl_error("this is no text and does not belong on a terminal");
		ctl_hint("-o FILE writes it to a file");
		return false;
	}
	buf_init(&clean, 4 * bytes->len + 16);
	text_clean(&clean, (const char *)bytes->data, bytes->len, true);
	good = file_write(f, clean.data, clean.len);
	buf_clear(&clean);
	return good;
}

/* Fetches chunk by chunk; nothing is left of a file that was not completed. */
static enum ctl_exit
fetch(struct ctl *ctl, const char *id, struct file *f, bool terminal)
{
	bool complete = false, text = false, good = true;
	int64_t offset = 0, length;
	struct ctl_answer a;
	struct ipc_params p;
	struct buf bytes;
	enum ctl_exit rc;

	while (!complete && good) {
		ipc_params_init(&p, MSG_ARTIFACT_GET);
		ipc_set_str(&p, F_ARTIFACT_ID, id);
		ipc_set_int(&p, F_OFFSET, offset);
		rc = ctl_call(ctl, &p, CALL_MS, &a);
		if (rc != CTL_OK)
			return rc;
		length = 0;
		buf_init(&bytes, LIMIT_FRAME_BYTES);
		json_get_bool(json_obj_get(a.root, "complete"), &complete);
		json_get_int64(json_obj_get(a.root, "length"), &length);
		if (!take_chunk(a.root, &bytes, &text) ||
		    (length == 0 && !complete)) {
			ctl_error("the service's chunk of %s is damaged", id);
			good = false;
		} else {
			good = put_chunk(f, &bytes, text, terminal);
		}
		offset += length;
		buf_clear(&bytes);
		ctl_answer_free(&a);
	}
	return good ? CTL_OK : CTL_FAILED;
}

static enum ctl_exit
get(struct ctl *ctl, const char *what)
{
	const char *path = ctl->opt[OPT_OUTPUT];
	char id[IPC_ID_MAX + 1];
	struct file f;
	enum ctl_exit rc = CTL_OK;

	if (strcmp(what, "last") == 0 || strncmp(what, "run_", 4) == 0) {
		rc = choose(ctl, what, id);
	} else if (strncmp(what, "art_", 4) != 0) {
		ctl_error("%s is neither the id of an artifact, art_..., nor "
			  "of a run, run_...",
		    what);
		ctl_hint("browsertaskctl artifacts RUN lists a run's "
			 "artifacts");
		rc = CTL_REFUSED;
	} else if (strlen(what) > IPC_ID_MAX) {
		rc = CTL_USAGE;
	} else {
		snprintf(id, sizeof(id), "%s", what);
	}
	if (rc != CTL_OK)
		return rc;
	if (!file_open(&f, path))
		return CTL_FAILED;
	rc = fetch(ctl, id, &f, file_is_stdout(&f) && ctl->out_tty);
	return file_close(&f, rc == CTL_OK) || rc != CTL_OK ? rc : CTL_FAILED;
}

enum ctl_exit
cmd_artifact(struct ctl *ctl)
{
	static const char *const words[] = { "get", "list", NULL };

	switch (command_word("artifact", ctl->args[0], words)) {
	case 0:
		return get(ctl, ctl->args[1]);
	case 1:
		return list(ctl, ctl->args[1]);
	default:
		return CTL_USAGE;
	}
}

enum ctl_exit
cmd_artifacts(struct ctl *ctl)
{
	return list(ctl, ctl->args[0]);
}
