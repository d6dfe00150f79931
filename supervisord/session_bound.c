/*
 * How many sessions a user may keep, in supervisord: beyond that the one
 * longest unused ends. The new one and those that runs use or wait for stay.
 */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/reply.h"
#include "supervisord/session.h"
#include "supervisord/sup.h"

struct surplus {
	struct sup *sup;
	uint32_t uid;
	struct ulid made; /* the one that is new */
	int64_t count;
	bool found;
	struct session_record oldest; /* of those not in use */
};

static bool
count_session(
    const struct ulid *id, const struct session_record *rec, int err, void *arg)
{
	struct surplus *s = arg;

	s->count++;
	if (rec == NULL || rec->expires_ms == 0 ||
	    memcmp(id, &s->made, sizeof(*id)) == 0 ||
	    (s->found && rec->last_used_ms >= s->oldest.last_used_ms))
		return true;
	s->found = true;
	s->oldest = *rec;
	return true;
}

static int
surplus_write(struct store_txn *txn, void *arg)
{
	const struct surplus *s = arg;

	return session_delete_idle(txn, &s->oldest.id);
}

static void
surplus_written(void *arg, int err)
{
	struct surplus *s = arg;
	char name[ID_CHARS + 1];

	if (err == STORE_OK) {
		id_format("sess_", &s->oldest.id, name);
		log_info("%s: ends: uid %u has more than maxSessionsPerUid",
		    name, s->uid);
		session_end(s->sup, &s->oldest.id, NULL, NULL);
		session_bound(s->sup, s->uid, &s->made);
	}
	free(s);
}

void
session_bound(struct sup *sup, uint32_t uid, const struct ulid *made)
{
	struct surplus *s = calloc(1, sizeof(*s));
	struct store_txn *txn;

	if (s == NULL)
		return;
	s->sup = sup;
	s->uid = uid;
	s->made = *made;
	if (store_read_begin(sup->store, &txn) == STORE_OK) {
		session_list(txn, true, uid, NULL, count_session, s);
		store_read_end(sup->store);
	}
	if (s->found && s->count > sup->settings.maxSessionsPerUid)
		store_write(sup->store, surplus_write, s, surplus_written, s);
	else
		free(s);
}
