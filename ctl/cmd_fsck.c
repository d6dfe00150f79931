/*
 * fsck: whether all that is stored is as it was written.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/side.h"
#include "ctl/table.h"
#include "ctl/text.h"
#include "json/writer.h"
#include "model/faults.h"

#define FINDINGS_BYTES (64u << 20)

struct findings {
	struct side side;
	struct table *table;
	struct buf json;       /* an array's inside, with --json */
	bool told[FAULT__MAX]; /* kinds that were met */
	size_t count;
};

static void
add_about(struct table *t, struct json_val f)
{
	char *table = text_of(json_obj_get(f, "table"));
	char *key = text_of(json_obj_get(f, "key"));
	char *id = side_fault_id(f);

	table_add(t, id != NULL ? id : "-");
	table_addf(
	    t, "%s %s", table == NULL ? "" : table, key == NULL ? "" : key);
	free(table);
	free(key);
	free(id);
}

static void
add_finding(struct findings *fs, struct json_val f)
{
	static const enum table_style styles[] = { TABLE_BAD, TABLE_WARN,
		TABLE_DIM };
	char *what = text_of(json_obj_get(f, "what"));
	char *detail = text_of(json_obj_get(f, "detail"));
	bool both = detail != NULL && detail[0] != '\0';

	table_add_val(fs->table, json_obj_get(f, "harm"));
	for (int h = 0; h < FAULT_HARM__MAX; h++)
		if (json_str_eq(json_obj_get(f, "harm"),
			fault_harm_name((enum fault_harm)h)))
			table_style(fs->table, styles[h]);
	add_about(fs->table, f);
	table_addf(fs->table, "%s%s%s", what == NULL ? "" : what,
	    both ? ": " : "", both ? detail : "");
	for (int i = 0; i < FAULT__MAX; i++)
		if (json_str_eq(
			json_obj_get(f, "fault"), fault_name((enum fault)i)))
			fs->told[i] = true;
	free(what);
	free(detail);
}

static void
on_note(void *arg, const struct ipc_params *p)
{
	struct findings *fs = arg;
	struct json_doc *doc;
	const void *json;
	size_t len;

	if (p->msg != MSG_STORE_FAULT)
		return;
	json = ipc_bin(p, F_RECORD, &len);
	fs->count++;
	if (fs->table == NULL) {
		if (fs->json.len > 0)
			buf_add(&fs->json, ",", 1);
		buf_add(&fs->json, json, len);
		return;
	}
	if (json_parse(json, len, NULL, 0, &doc, NULL)) {
		add_finding(fs, json_root(doc));
		json_doc_free(&doc);
	}
}

static int64_t
number(struct json_val v, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(v, key), &n);
	return n;
}

static void
print_findings(const struct findings *fs)
{
	const struct ctl *ctl = fs->side.ctl;

	if (fs->count == 0)
		return;
	table_print(
	    fs->table, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	putchar('\n');
	for (int i = 0; i < FAULT__MAX; i++)
		if (fs->told[i]) {
			const char *what = fault_what((enum fault)i);

			printf("%s: ", what);
			text_wrap(stdout, fault_advice((enum fault)i),
			    (size_t)ctl->columns, strlen(what) + 2, 4);
		}
	putchar('\n');
}

/* "12 records: 1 run, 2 artifacts (3.4 kB in 1 file), ..." */
static void
print_counts(const struct ctl *ctl, struct json_val v)
{
	static const char *const rows[][2] = { { "records", "record" },
		{ "runs", "run" }, { "artifacts", "artifact" },
		{ "files", "file" }, { "sessions", "session" },
		{ "auditRows", "audit row" } };
	char n[6][32], bytes[32], text[256];

	for (size_t i = 0; i < 6; i++)
		text_count(
		    number(v, rows[i][0]), rows[i][1], n[i], sizeof(n[i]));
	text_bytes(number(v, "bytes"), bytes, sizeof(bytes));
	snprintf(text, sizeof(text), "%s: %s, %s (%s in %s), %s, %s", n[0],
	    n[1], n[2], bytes, n[3], n[4], n[5]);
	text_wrap(stdout, text, (size_t)ctl->columns, 0, 4);
}

static void
print_totals(const struct ctl *ctl, struct json_val v, bool sound)
{
	struct json_val faults = json_obj_get(v, "faults");

	print_counts(ctl, v);
	if (sound && number(faults, "left") == 0)
		printf("all is sound\n");
	else
		printf("%s: %" PRId64 " lost, %" PRId64 " wrong, %" PRId64
		       " left over\n",
		    sound ? "sound" : "NOT sound", number(faults, "lost"),
		    number(faults, "wrong"), number(faults, "left"));
}

static void
print_json(const struct findings *fs, struct json_val v)
{
	struct json_writer w;
	struct buf b, list;

	buf_init(&b, FINDINGS_BYTES + 16384);
	buf_init(&list, FINDINGS_BYTES + 2);
	buf_add(&list, "[", 1);
	if (fs->json.len > 0)
		buf_add(&list, fs->json.data, fs->json.len);
	buf_add(&list, "]", 1);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	for (struct json_iter it = json_iter(v); json_iter_next(&it);) {
		char key[64];

		if (json_str_copy(it.key, key, sizeof(key)))
			json_put_val(&w, key, it.val);
	}
	json_put_raw(&w, "findings", list.data, list.len);
	json_write_end_object(&w);
	ctl_print_written(&w, &b);
	buf_clear(&b);
	buf_clear(&list);
}

enum ctl_exit
cmd_fsck(struct ctl *ctl)
{
	static const char *const titles[] = { "HARM", "ABOUT", "~WHERE",
		"~WHAT" };
	struct findings fs = { .count = 0 };
	struct json_val v;
	bool sound = false;
	enum ctl_exit rc;

	buf_init(&fs.json, FINDINGS_BYTES);
	if (ctl->opt[OPT_JSON] == NULL)
		fs.table = table_new(titles, 4);
	rc = side_open(&fs.side, ctl, MSG_STORE_CHECK, "check", on_note, &fs);
	if (rc == CTL_OK)
		rc = side_run(&fs.side, &v);
	if (rc == CTL_OK || fs.side.done != NULL) {
		v = json_root(fs.side.done);
		json_get_bool(json_obj_get(v, "sound"), &sound);
		if (ctl->opt[OPT_JSON] != NULL)
			print_json(&fs, v);
		else
			print_findings(&fs);
		if (rc == CTL_OK && ctl->opt[OPT_JSON] == NULL)
			print_totals(ctl, v, sound);
	}
	side_close(&fs.side);
	table_free(&fs.table);
	buf_clear(&fs.json);
	return rc != CTL_OK || sound ? rc : CTL_FAILED;
}
