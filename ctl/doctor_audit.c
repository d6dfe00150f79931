/*
 * What doctor looks at in the audit log, for who may ask administrators'
 * questions: whether it told of an older copy of the store, and whether it has
 * the row that the launcher has recorded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/recordfile.h"
#include "ctl/doctor.h"
#include "ctl/text.h"

#define CALL_MS 10000

/* The newest row that fits, and its member; NULL: there is none. */
static char *
ask_row(struct client *client, struct ipc_params *p, const char *member)
{
	struct client_answer bytes = { 0 };
	struct json_doc *doc = NULL;
	char *text = NULL;

	ipc_set_int(p, F_LIMIT, 1);
	if (client_call(client, p, CALL_MS, &bytes) == CLIENT_OK &&
	    json_parse((const uint8_t *)bytes.json, bytes.len, NULL,
		JSON_BORROW, &doc, NULL)) {
		struct json_val rows = json_obj_get(json_root(doc), "rows");
		struct json_iter it = json_iter(rows);

		if (json_iter_next(&it))
			text = text_of(json_obj_get(it.val, member));
	}
	json_doc_free(&doc);
	client_answer_free(&bytes);
	return text;
}

static bool
read_record(const struct doctor *d, char text[RECORD_BYTES + 1])
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s" RECORD_SUFFIX "/" RECORD_FILE,
	    d->state_dir);
	return doctor_read(path, text, RECORD_BYTES + 1) &&
	    strlen(text) == RECORD_BYTES - 1;
}

/* The row before the one behind it. */
static char *
ask_recorded(struct client *client, const char *record)
{
	struct ipc_params p;
	char cursor[32];

	snprintf(
	    cursor, sizeof(cursor), "r%llu", strtoull(record, NULL, 10) + 1);
	ipc_params_init(&p, MSG_AUDIT_LIST);
	ipc_set_str(&p, F_CURSOR, cursor);
	return ask_row(client, &p, "hash");
}

static void
judge(struct doctor *d, struct client *client)
{
	static const char advice[] =
	    "browsertaskctl audit verify says more; look at who could write to "
	    "the state directory";
	char record[RECORD_BYTES + 1], *hash = NULL, *behind;
	struct ipc_params p;
	bool has = read_record(d, record);

	ipc_params_init(&p, MSG_AUDIT_LIST);
	ipc_set_str(&p, F_ACTION, "audit.behind");
	behind = ask_row(client, &p, "detail");
	if (has)
		hash = ask_recorded(client, record);
	if (behind != NULL)
		doctor_say(d, DOCTOR_FAIL, "audit log", advice,
		    "an older copy of the store was put back, or rows were "
		    "removed: %s",
		    behind);
	else if (has &&
	    (hash == NULL || strcmp(hash, record + RECORD_NUMBER + 1) != 0))
		doctor_say(d, DOCTOR_FAIL, "audit log", advice,
		    "it has not the row that the launcher recorded, %s",
		    record);
	else if (has)
		doctor_say(d, DOCTOR_OK, "audit log", NULL,
		    "has the row that the launcher recorded last");
	else
		doctor_say(d, DOCTOR_WARN, "audit log",
		    "ask as root, or as the user of the service",
		    "not compared with %s" RECORD_SUFFIX "/" RECORD_FILE,
		    d->state_dir);
	free(hash);
	free(behind);
}

void
doctor_audit(struct doctor *d)
{
	char path[PATH_MAX + 16], reason[CLIENT_REASON_MAX];
	struct client *client = NULL;

	if (!d->running)
		return;
	snprintf(path, sizeof(path), "%s/admin.sock", d->run_dir);
	if (client_connect("browsertaskctl", path, &client, reason) ==
	    CLIENT_OK)
		judge(d, client);
	client_free(&client);
}
