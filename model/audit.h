/* audit: the actions of the audit log, audit_actions.def. */
#ifndef MODEL_AUDIT_H
#define MODEL_AUDIT_H

#include <stdbool.h>

enum audit_action {
#define ACTION(name, wire, what) AUDIT_##name,
#include "model/audit_actions.def"
#undef ACTION
	AUDIT__MAX
};

const char *audit_action_name(enum audit_action);
/* A sentence for people. */
const char *audit_action_what(enum audit_action);
bool audit_action_by_name(const char *, enum audit_action *ret_action);

#endif
