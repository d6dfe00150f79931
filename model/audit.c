/*
 * Names of the audit log's actions. Runs in supervisord, which writes them, and
 * in browsertaskctl, which offers them.
 */
#include <string.h>

#include "common/panic.h"
#include "model/audit.h"

static const struct {
	const char *name;
	const char *what;
} actions[AUDIT__MAX] = {
#define ACTION(name, wire, what) [AUDIT_##name] = { wire, what },
#include "model/audit_actions.def"
#undef ACTION
};

const char *
audit_action_name(enum audit_action action)
{
	ASSERT(action < AUDIT__MAX);
	return actions[action].name;
}

const char *
audit_action_what(enum audit_action action)
{
	ASSERT(action < AUDIT__MAX);
	return actions[action].what;
}

bool
audit_action_by_name(const char *name, enum audit_action *ret_action)
{
	for (int i = 0; i < AUDIT__MAX; i++)
		if (strcmp(actions[i].name, name) == 0) {
			*ret_action = (enum audit_action)i;
			return true;
		}
	return false;
}
