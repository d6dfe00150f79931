/*
 * audit: the audit log, row by row, and whether nobody has changed it. Both are
 * asked on the administrators' socket.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "ctl/commands.h"
#include "ctl/ctl.h"
#include "ctl/table.h"
#include "ctl/text.h"
#include "common/recordfile.h"
#include "model/audit.h"

#define CALL_MS     30000

#define HASH_DIGITS 64

struct listing {
	struct ctl *ctl;
	struct table *table; /* NULL with --json */
	int64_t now_ms;
	int64_t left;                /* rows that may still be shown */
	char cursor[IPC_ID_MAX + 1]; /* of what follows; "" at the end */
};

/* audit list */

static void
add_actor(struct table *t, struct json_val v)
{
	const struct passwd *pw;
	const char *wrong;
	char text[64] = "";
	uid_t uid;

	json_str_copy(v, text, sizeof(text));
	if (strncmp(text, "uid:", 4) != 0) {
		table_add(t, text);
		return;
	}
	uid = (uid_t)strtonum(text + 4, 0, UINT32_MAX, &wrong);
	pw = wrong == NULL ? getpwuid(uid) : NULL;
	table_add(t, pw != NULL ? pw->pw_name : text);
}

/* The run, what else there is to say, or both. */
static void
add_about(struct table *t, struct json_val row)
{
	char *run = text_of(json_obj_get(row, "runId"));
	char *detail = text_of(json_obj_get(row, "detail"));
	bool both = run != NULL && detail != NULL && run[0] != '\0' &&
	    detail[0] != '\0';

	table_addf(t, "%s%s%s", run == NULL ? "" : run, both ? " " : "",
	    detail == NULL ? "" : detail);
	free(run);
	free(detail);
}

static void
add_row(const struct listing *l, struct json_val row)
{
	struct table *t = l->table;

	table_add_val(t, json_obj_get(row, "id"));
	if (!json_is_missing(json_obj_get(row, "unreadable"))) {
		for (int i = 0; i < 3; i++)
			table_add(t, "-");
		table_add_val(t, json_obj_get(row, "unreadable"));
		table_style(t, TABLE_BAD);
		return;
	}
	table_add_time(l->table, json_obj_get(row, "createdAt"),
	    l->ctl->columns > 0 ? l->now_ms : 0);
	add_actor(t, json_obj_get(row, "actor"));
	table_add_val(t, json_obj_get(row, "action"));
	add_about(t, row);
}

/* One JSON text per line: a log of any length can be read as it comes. */
static void
print_row_line(struct json_val row)
{
	const uint8_t *raw;
	size_t len;

	if (json_raw(row, &raw, &len))
		printf("%.*s\n", (int)len, (const char *)raw);
}

static void
take_page(struct listing *l, struct json_val answer)
{
	struct json_val rows = json_obj_get(answer, "rows");

	for (struct json_iter it = json_iter(rows); json_iter_next(&it);) {
		l->left--;
		if (l->table != NULL)
			add_row(l, it.val);
		else
			print_row_line(it.val);
	}
	l->cursor[0] = '\0';
	json_str_copy(
	    json_obj_get(answer, "nextCursor"), l->cursor, sizeof(l->cursor));
}

static bool
set_actor(struct ctl *ctl, struct ipc_params *p)
{
	const char *name = ctl->opt[OPT_ACTOR];
	static char uid[24];
	const struct passwd *pw;
	const char *wrong;

	if (name == NULL)
		return true;
	pw = strcmp(name, "service") == 0 ? NULL : getpwnam(name);
	if (pw != NULL) {
		snprintf(uid, sizeof(uid), "%u", (unsigned)pw->pw_uid);
		name = uid;
	} else if (strcmp(name, "service") != 0) {
		if (strncmp(name, "uid:", 4) == 0)
			name += 4;
		(void)strtonum(name, 0, UINT32_MAX, &wrong);
		if (wrong != NULL) {
			ctl_error("there is no user %s", name);
			ctl_hint("the service's own acts are those of service");
			return false;
		}
	}
	ipc_set_str(p, F_ACTOR, name);
	return true;
}

static bool
set_action(struct ctl *ctl, struct ipc_params *p)
{
	const char *name = ctl->opt[OPT_ACTION];
	enum audit_action action;
	char all[512] = "";

	if (name == NULL)
		return true;
	if (audit_action_by_name(name, &action)) {
		ipc_set_str(p, F_ACTION, name);
		return true;
	}
	for (int i = 0; i < AUDIT__MAX; i++) {
		strlcat(all, i == 0 ? "" : ", ", sizeof(all));
		strlcat(
		    all, audit_action_name((enum audit_action)i), sizeof(all));
	}
	ctl_error("%s is no action of the audit log", name);
	ctl_hint("these are: %s", all);
	return false;
}

static bool
set_params(struct listing *l, struct ipc_params *p)
{
	struct ctl *ctl = l->ctl;

	l->left = LIMIT_LIST_DEFAULT;
	ipc_params_init(p, MSG_AUDIT_LIST);
	if (!set_actor(ctl, p) || !set_action(ctl, p) ||
	    !ctl_set_moment(ctl, OPT_SINCE, l->now_ms, F_SINCE, p) ||
	    !ctl_set_moment(ctl, OPT_UNTIL, l->now_ms, F_UNTIL, p) ||
	    !ctl_number(ctl, OPT_LIMIT, 1, INT32_MAX, &l->left))
		return false;
	if (ctl->opt[OPT_ALL] != NULL)
		l->left = INT64_MAX;
	if (ctl->opt[OPT_CURSOR] != NULL)
		ipc_set_str(p, F_CURSOR, ctl->opt[OPT_CURSOR]);
	return true;
}

static void
print_listing(const struct listing *l)
{
	const struct ctl *ctl = l->ctl;

	if (table_rows(l->table) == 0)
		fprintf(stderr, "no rows\n");
	else
		table_print(l->table, stdout, (size_t)ctl->columns, ctl->color,
		    ctl->unicode);
	fflush(stdout);
	if (l->cursor[0] != '\0')
		ctl_hint(
		    "--all shows all, --cursor %s those before", l->cursor);
}

/* The service looks at so many rows for an answer, and may find none. */
static enum ctl_exit
list(struct ctl *ctl)
{
	static const char *const titles[] = { ">ROW", "TIME", "ACTOR", "ACTION",
		"+ABOUT" };
	struct listing l = { .ctl = ctl, .now_ms = clock_stamp_ms() };
	char run[IPC_ID_MAX + 1] = "";
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	if (!set_params(&l, &p))
		return CTL_USAGE;
	rc = ctl_connect_admin(ctl);
	if (rc == CTL_OK && ctl->opt[OPT_RUN] != NULL) {
		rc = run_id_of(ctl, ctl->opt[OPT_RUN], run);
		ipc_set_str(&p, F_RUN_ID, run);
	}
	if (ctl->opt[OPT_JSON] == NULL)
		l.table = table_new(titles, 5);
	while (rc == CTL_OK) {
		ipc_set_int(
		    &p, F_LIMIT, l.left < LIMIT_LIST ? l.left : LIMIT_LIST);
		rc = ctl_call(ctl, &p, CALL_MS, &a);
		if (rc != CTL_OK)
			break;
		take_page(&l, a.root);
		ctl_answer_free(&a);
		if (l.cursor[0] == '\0' || l.left <= 0)
			break;
		ipc_set_str(&p, F_CURSOR, l.cursor);
	}
	if (rc == CTL_OK && l.table != NULL)
		print_listing(&l);
	table_free(&l.table);
	return rc;
}

/* audit verify */

static int64_t
number(struct json_val v, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(v, key), &n);
	return n;
}

static void
print_verdict(struct json_val v, bool sound)
{
	char *fault = text_of(json_obj_get(v, "fault"));
	char *hash = text_of(json_obj_get(v, "lastHash"));
	int64_t bad = number(v, "badRow"), oldest = number(v, "oldestRow");
	int64_t restored = number(v, "restoredRow");

	if (sound)
		printf("the audit log is sound: %" PRId64 " rows\n",
		    number(v, "checked"));
	else
		printf("the audit log is NOT sound: row %" PRId64 " %s\n", bad,
		    fault == NULL ? "" : fault);
	if (restored != 0)
		printf("row %" PRId64
		       " tells that the store was restored from a "
		       "backup: what was logged after that backup is not in "
		       "it\n",
		    restored);
	if (oldest > 1)
		printf("rows before %" PRId64
		       " were old and are kept no more\n",
		    oldest);
	if (hash != NULL && hash[0] != '\0')
		printf("last row %" PRId64 ":%s\n", number(v, "lastRow"), hash);
	free(fault);
	free(hash);
}

static bool
is_noted(const char *text)
{
	size_t row = strspn(text, "0123456789");
	const char *hash = text + row + 1;

	return row > 0 && text[row] == ':' && strlen(hash) == HASH_DIGITS &&
	    strspn(hash, "0123456789abcdef") == HASH_DIGITS;
}

/* What the launcher has recorded, for who may read it; "": nothing. */
static void
read_record(const char *state, char ret_row[RECORD_BYTES + 1])
{
	char path[PATH_MAX + 16];
	FILE *f;

	ret_row[0] = '\0';
	snprintf(path, sizeof(path), "%s" RECORD_SUFFIX "/" RECORD_FILE, state);
	if ((f = fopen(path, "re")) == NULL) {
		fprintf(stderr,
		    "not compared with what the launcher "
		    "recorded: %s: %s\n",
		    path, strerror(errno));
		return;
	}
	if (fgets(ret_row, RECORD_BYTES + 1, f) != NULL)
		ret_row[strcspn(ret_row, "\n")] = '\0';
	fclose(f);
	if (!is_noted(ret_row))
		ret_row[0] = '\0';
}

static enum ctl_exit
ask_record(struct ctl *ctl, char ret_row[RECORD_BYTES + 1])
{
	char state[PATH_MAX] = "";
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_PROFILE_GET);
	if ((rc = ctl_call(ctl, &p, CALL_MS, &a)) != CTL_OK)
		return rc;
	json_str_copy(json_obj_get(a.root, "stateDir"), state, sizeof(state));
	ctl_answer_free(&a);
	read_record(state, ret_row);
	return CTL_OK;
}

static void
hint_unsound(struct json_val v)
{
	char *fault = text_of(json_obj_get(v, "fault"));

	if (fault != NULL && fault[0] != '\0')
		ctl_hint("look at who could write to the state directory; the "
			 "system log has \"the last row is\" of earlier hours, "
			 "and an older copy comes back as it was by "
			 "browsertaskctl restore only");
	free(fault);
}

static enum ctl_exit
verify(struct ctl *ctl)
{
	char recorded[RECORD_BYTES + 1];
	const char *noted = ctl->opt[OPT_NOTED];
	struct ctl_answer a;
	struct ipc_params p;
	bool sound = false;
	enum ctl_exit rc;

	if (noted != NULL && !is_noted(noted)) {
		ctl_error("%s is no ROW:HASH as the log has it", noted);
		ctl_hint("the log says: the last row is ROW:HASH, a number and "
			 "%d digits",
		    HASH_DIGITS);
		return CTL_USAGE;
	}
	if ((rc = ctl_connect_admin(ctl)) != CTL_OK ||
	    (noted == NULL && (rc = ask_record(ctl, recorded)) != CTL_OK))
		return rc;
	ipc_params_init(&p, MSG_AUDIT_VERIFY);
	if (noted == NULL && recorded[0] != '\0')
		noted = recorded;
	if (noted != NULL)
		ipc_set_str(&p, F_NOTED, noted);
	if ((rc = ctl_call(ctl, &p, CLIENT_WHILE_ALIVE, &a)) != CTL_OK)
		return rc;
	json_get_bool(json_obj_get(a.root, "sound"), &sound);
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		print_verdict(a.root, sound);
	if (!sound)
		hint_unsound(a.root);
	ctl_answer_free(&a);
	return sound ? CTL_OK : CTL_FAILED;
}

enum ctl_exit
cmd_audit(struct ctl *ctl)
{
	static const char *const words[] = { "list", "verify", NULL };

	switch (
	    ctl->nargs == 0 ? 0 : command_word("audit", ctl->args[0], words)) {
	case 0:
		return list(ctl);
	case 1:
		return verify(ctl);
	default:
		return CTL_USAGE;
	}
}
