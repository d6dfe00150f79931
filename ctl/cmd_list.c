/*
 * runs: the list of runs, filtered, page by page.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "ctl/ctl.h"
#include "ctl/table.h"
#include "ctl/text.h"
#include "model/run.h"

#define CALL_MS      30000
#define WIDE_COLUMNS 100

struct listing {
	struct ctl *ctl;
	struct table *table; /* NULL with --json */
	int64_t now_ms;
	bool users;         /* of several: a column for them */
	bool short_of_room; /* which leaves none for the time they took */
	int64_t total;
	bool total_is_more;          /* there are more than that */
	char cursor[IPC_ID_MAX + 1]; /* of what follows; "" at the end */
};

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
add_user(struct listing *l, struct json_val v)
{
	const struct passwd *pw;
	int64_t uid = -1;

	json_get_int64(v, &uid);
	pw = uid < 0 ? NULL : getpwuid((uid_t)uid);
	if (pw != NULL)
		table_add(l->table, pw->pw_name);
	else
		table_addf(l->table, "%" PRId64, uid);
}

static void
add_done(struct listing *l, struct json_val progress)
{
	int64_t done = 0, total = 0;

	json_get_int64(json_obj_get(progress, "doneSteps"), &done);
	json_get_int64(json_obj_get(progress, "totalSteps"), &total);
	if (total == 0)
		table_add(l->table, "-");
	else if (done == total && l->ctl->columns > 0)
		table_addf(l->table, "%" PRId64, done);
	else
		table_addf(l->table, "%" PRId64 "/%" PRId64, done, total);
}

/* On a terminal "2:05" instead of "2 min 5 s". */
static void
add_took(struct listing *l, struct json_val v)
{
	int64_t ms = 0, s;
	char text[64];

	json_get_int64(v, &ms);
	s = ms / 1000;
	if (l->ctl->columns == 0 || s < 60)
		text_duration(ms, text, sizeof(text));
	else if (s < 3600)
		snprintf(text, sizeof(text), "%" PRId64 ":%02" PRId64, s / 60,
		    s % 60);
	else
		snprintf(text, sizeof(text),
		    "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600,
		    s / 60 % 60, s % 60);
	table_add(l->table, text);
}

static void
add_run(struct listing *l, struct json_val run)
{
	struct json_val metrics = json_obj_get(run, "metrics");
	struct json_val status = json_obj_get(run, "status");
	struct table *t = l->table;

	table_add_val(t, json_obj_get(run, "runId"));
	if (l->users)
		add_user(l, json_obj_get(run, "uid"));
	table_add_val(t, json_obj_get(run, "templateId"));
	if (l->ctl->columns > 0 && json_str_eq(status, "partial_success"))
		table_add(t, "partial");
	else
		table_add_val(t, status);
	table_style(t, status_style(status));
	add_done(l, json_obj_get(run, "progress"));
	table_add_time(l->table, json_obj_get(run, "createdAt"),
	    l->ctl->columns > 0 ? l->now_ms : 0);
	if (!l->short_of_room)
		add_took(l, json_obj_get(metrics, "elapsedMs"));
}

static bool
set_user(struct ctl *ctl, struct ipc_params *p)
{
	const char *name = ctl->opt[OPT_UID];
	const struct passwd *pw;
	int64_t uid;

	if (name == NULL)
		return true;
	pw = getpwnam(name);
	if (pw != NULL) {
		ipc_set_int(p, F_UID, pw->pw_uid);
		return true;
	}
	if (name[0] < '0' || name[0] > '9') {
		ctl_error("there is no user %s", name);
		return false;
	}
	if (!ctl_number(ctl, OPT_UID, 0, UINT32_MAX, &uid))
		return false;
	ipc_set_int(p, F_UID, uid);
	return true;
}

static bool
check_status(const char *name)
{
	enum run_status status;
	char all[256] = "";

	if (run_status_by_name(name, &status))
		return true;
	for (int i = 0; i < RUN__MAX; i++) {
		strlcat(all, i == 0 ? "" : ", ", sizeof(all));
		strlcat(all, run_status_name((enum run_status)i), sizeof(all));
	}
	ctl_error("%s is no status of a run", name);
	ctl_hint("these are: %s", all);
	return false;
}

static bool
set_params(const struct listing *l, struct ipc_params *p)
{
	struct ctl *ctl = l->ctl;
	int64_t limit = ctl->opt[OPT_ALL] != NULL ? LIMIT_LIST : -1;
	int64_t offset = -1;

	ipc_params_init(p, MSG_RUN_LIST);
	if (ctl->opt[OPT_STATUS] != NULL) {
		if (!check_status(ctl->opt[OPT_STATUS]))
			return false;
		ipc_set_str(p, F_STATUS, ctl->opt[OPT_STATUS]);
	}
	if (ctl->opt[OPT_TEMPLATE] != NULL)
		ipc_set_str(p, F_TEMPLATE_ID, ctl->opt[OPT_TEMPLATE]);
	if (ctl->opt[OPT_SESSION] != NULL)
		ipc_set_str(p, F_SESSION_ID, ctl->opt[OPT_SESSION]);
	if (!set_user(ctl, p) ||
	    !ctl_set_moment(ctl, OPT_SINCE, l->now_ms, F_SINCE, p) ||
	    !ctl_set_moment(ctl, OPT_UNTIL, l->now_ms, F_UNTIL, p) ||
	    !ctl_number(ctl, OPT_LIMIT, 1, LIMIT_LIST, &limit) ||
	    !ctl_number(ctl, OPT_OFFSET, 0, IPC_INT_MAX, &offset))
		return false;
	if (limit >= 0)
		ipc_set_int(p, F_LIMIT, limit);
	if (offset >= 0)
		ipc_set_int(p, F_OFFSET, offset);
	if (ctl->opt[OPT_CURSOR] != NULL)
		ipc_set_str(p, F_CURSOR, ctl->opt[OPT_CURSOR]);
	return true;
}

/* One JSON text per line: a list of any length can be read as it comes. */
static void
print_run_line(struct json_val run)
{
	const uint8_t *raw;
	size_t len;

	if (json_raw(run, &raw, &len))
		printf("%.*s\n", (int)len, (const char *)raw);
}

static bool
of_several_users(struct json_val runs)
{
	int64_t first = -1, uid;

	for (struct json_iter it = json_iter(runs); json_iter_next(&it);) {
		if (!json_get_int64(json_obj_get(it.val, "uid"), &uid))
			continue;
		if (first != -1 && uid != first)
			return true;
		first = uid;
	}
	return false;
}

static void
take_page(struct listing *l, struct json_val answer)
{
	static const char *const titles[] = { "RUN", "~TEMPLATE", "STATUS",
		">DONE", "CREATED", ">TIME" };
	static const char *const with_users[] = { "RUN", "USER", "~TEMPLATE",
		"STATUS", ">DONE", "CREATED", ">TIME" };
	struct json_val runs = json_obj_get(answer, "runs");
	bool lines = l->ctl->opt[OPT_JSON] != NULL;
	struct json_iter it;

	if (l->table == NULL && !lines) {
		l->users = of_several_users(runs);
		l->short_of_room = l->users && l->ctl->columns > 0 &&
		    l->ctl->columns < WIDE_COLUMNS;
		l->table = l->users
		    ? table_new(with_users, l->short_of_room ? 6 : 7)
		    : table_new(titles, 6);
	}
	for (it = json_iter(runs); json_iter_next(&it);) {
		if (lines)
			print_run_line(it.val);
		else
			add_run(l, it.val);
	}
	l->cursor[0] = '\0';
	json_str_copy(
	    json_obj_get(answer, "nextCursor"), l->cursor, sizeof(l->cursor));
	json_get_int64(json_obj_get(answer, "total"), &l->total);
	json_get_bool(json_obj_get(answer, "totalIsMore"), &l->total_is_more);
}

static void
print_listing(const struct listing *l)
{
	size_t rows = table_rows(l->table);
	bool part = l->ctl->opt[OPT_CURSOR] != NULL;

	if (rows > 0)
		table_print(l->table, stdout, (size_t)l->ctl->columns,
		    l->ctl->color, l->ctl->unicode);
	fflush(stdout);
	if (rows == 0)
		fprintf(stderr, "no runs\n");
	else if (l->cursor[0] != '\0' && part)
		fprintf(stderr, "%zu runs, and there are more\n", rows);
	else if (l->cursor[0] != '\0')
		fprintf(stderr, "%zu of %s%" PRId64 " runs\n", rows,
		    l->total_is_more ? "more than " : "", l->total);
	if (l->cursor[0] != '\0')
		ctl_hint("--all shows all, --cursor %s those that follow",
		    l->cursor);
}

enum ctl_exit
cmd_runs(struct ctl *ctl)
{
	struct listing l = { .ctl = ctl, .now_ms = clock_stamp_ms() };
	bool all = ctl->opt[OPT_ALL] != NULL;
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	if (!set_params(&l, &p))
		return CTL_USAGE;
	do {
		rc = ctl_call(ctl, &p, CALL_MS, &a);
		if (rc != CTL_OK)
			break;
		if (!all && ctl->opt[OPT_JSON] != NULL)
			ctl_print_json(a.root);
		else
			take_page(&l, a.root);
		ctl_answer_free(&a);
		ipc_set_str(&p, F_CURSOR, l.cursor);
		ipc_set_int(&p, F_OFFSET, 0);
	} while (all && l.cursor[0] != '\0');
	if (rc == CTL_OK && ctl->opt[OPT_JSON] == NULL)
		print_listing(&l);
	table_free(&l.table);
	return rc;
}
