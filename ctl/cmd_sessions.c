/*
 * sessions: the sessions that are kept, and the end of one.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "ctl/commands.h"
#include "ctl/ctl.h"
#include "ctl/table.h"
#include "ctl/text.h"

#define CALL_MS  30000
#define CLOSE_MS 120000 /* runs may have to be canceled before */

struct listing {
	struct ctl *ctl;
	struct table *table; /* NULL with --json */
	int64_t now_ms;
	char cursor[IPC_ID_MAX + 1]; /* of what follows; "" at the end */
};

static void
add_user(struct table *t, struct json_val v)
{
	const struct passwd *pw;
	int64_t uid = -1;

	json_get_int64(v, &uid);
	pw = uid < 0 ? NULL : getpwuid((uid_t)uid);
	if (pw != NULL)
		table_add(t, pw->pw_name);
	else
		table_addf(t, "%" PRId64, uid);
}

/* "busy, 2 wait", "browser", "stored" */
static void
add_state(struct table *t, struct json_val s)
{
	bool busy = false, living = false;
	int64_t waiting = 0;
	const char *state;

	json_get_bool(json_obj_get(s, "busy"), &busy);
	json_get_bool(json_obj_get(s, "living"), &living);
	json_get_int64(json_obj_get(s, "waitingRuns"), &waiting);
	state = busy ? "busy" : living ? "browser" : "stored";
	if (waiting > 0)
		table_addf(t, "%s, %" PRId64 " wait%s", state, waiting,
		    waiting == 1 ? "s" : "");
	else
		table_add(t, state);
	table_style(t, living ? TABLE_GOOD : TABLE_PLAIN);
}

static void
add_span(struct table *t, int64_t ms)
{
	char text[64];

	text_duration(ms > 0 ? ms : 0, text, sizeof(text));
	table_add(t, text);
}

static void
add_session(struct listing *l, struct json_val s)
{
	struct table *t = l->table;
	int64_t ms = 0;

	table_add_val(t, json_obj_get(s, "sessionId"));
	if (!json_is_missing(json_obj_get(s, "unreadable"))) {
		for (int i = 0; i < 5; i++)
			table_add(t, i == 2 ? "damaged" : "-");
		return;
	}
	add_user(t, json_obj_get(s, "uid"));
	table_add_val(t, json_obj_get(s, "templateId"));
	add_state(t, s);
	json_get_int64(json_obj_get(s, "lastUsedAt"), &ms);
	add_span(t, l->now_ms - ms);
	if (json_get_int64(json_obj_get(s, "expiresAt"), &ms))
		add_span(t, ms - l->now_ms);
	else
		table_add(t, "-");
}

static void
take_page(struct listing *l, struct json_val answer)
{
	struct json_val rows = json_obj_get(answer, "sessions");

	for (struct json_iter it = json_iter(rows); json_iter_next(&it);)
		add_session(l, it.val);
	l->cursor[0] = '\0';
	json_str_copy(
	    json_obj_get(answer, "nextCursor"), l->cursor, sizeof(l->cursor));
}

static void
print_listing(const struct listing *l)
{
	const struct ctl *ctl = l->ctl;

	if (table_rows(l->table) == 0) {
		fprintf(stderr, "no sessions\n");
		ctl_hint("runs of login_keep_session leave one behind");
		return;
	}
	table_print(
	    l->table, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	fflush(stdout);
	if (l->cursor[0] != '\0')
		ctl_hint("--all shows all, --cursor %s those that follow",
		    l->cursor);
}

static enum ctl_exit
list(struct ctl *ctl)
{
	static const char *const titles[] = { "SESSION", "USER", "~TEMPLATE",
		"STATE", ">UNUSED", ">LEFT" };
	struct listing l = { .ctl = ctl, .now_ms = clock_stamp_ms() };
	bool all = ctl->opt[OPT_ALL] != NULL;
	int64_t limit = all ? LIMIT_LIST : LIMIT_LIST_DEFAULT;
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	if (!ctl_number(ctl, OPT_LIMIT, 1, LIMIT_LIST, &limit))
		return CTL_USAGE;
	ipc_params_init(&p, MSG_SESSION_LIST);
	ipc_set_int(&p, F_LIMIT, limit);
	if (ctl->opt[OPT_CURSOR] != NULL)
		ipc_set_str(&p, F_CURSOR, ctl->opt[OPT_CURSOR]);
	if (ctl->opt[OPT_JSON] == NULL)
		l.table = table_new(titles, 6);
	do {
		rc = ctl_call(ctl, &p, CALL_MS, &a);
		if (rc != CTL_OK)
			break;
		if (l.table == NULL)
			ctl_print_json(a.root);
		take_page(&l, a.root);
		ctl_answer_free(&a);
		ipc_set_str(&p, F_CURSOR, l.cursor);
	} while (all && l.cursor[0] != '\0');
	if (rc == CTL_OK && l.table != NULL)
		print_listing(&l);
	table_free(&l.table);
	return rc;
}

static enum ctl_exit
share_session(struct ctl *ctl, const char *id, bool shared)
{
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_SESSION_SHARE);
	ipc_set_str(&p, F_SESSION_ID, id);
	ipc_set_bool(&p, F_SHARED, shared);
	rc = ctl_call(ctl, &p, CLOSE_MS, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		printf("%s %s\n", id,
		    shared ? "shared with all clients of its user"
			   : "not shared any more");
	ctl_answer_free(&a);
	return CTL_OK;
}

static enum ctl_exit
close_session(struct ctl *ctl, const char *id)
{
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_SESSION_CLOSE);
	ipc_set_str(&p, F_SESSION_ID, id);
	if (ctl->opt[OPT_FORCE] != NULL)
		ipc_set_bool(&p, F_FORCE, true);
	rc = ctl_call(ctl, &p, CLOSE_MS, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		printf("%s closed\n", id);
	ctl_answer_free(&a);
	return CTL_OK;
}

enum ctl_exit
cmd_sessions(struct ctl *ctl)
{
	static const char *const words[] = { "list", "close", "share",
		"unshare", NULL };
	int word =
	    ctl->nargs == 0 ? 0 : command_word("sessions", ctl->args[0], words);

	if (word == 0) {
		if (ctl->nargs < 2)
			return list(ctl);
		ctl_error("list takes no more words");
		return CTL_USAGE;
	}
	if (word < 0)
		return CTL_USAGE;
	if (ctl->nargs != 2) {
		ctl_error("which session shall be %s?",
		    word == 1       ? "closed"
			: word == 2 ? "shared"
				    : "unshared");
		ctl_hint("browsertaskctl sessions lists them");
		return CTL_USAGE;
	}
	return word == 1 ? close_session(ctl, ctl->args[1])
			 : share_session(ctl, ctl->args[1], word == 2);
}
