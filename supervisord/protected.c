/*
 * protected: what the launcher found of each protection, for profile.get and
 * the audit log. Runs in supervisord, which decides by it only what a browser
 * must have: what must not start without was not started.
 */
#include <string.h>

#include "json/writer.h"
#include "storage/audit.h"
#include "supervisord/auditlog.h"
#include "supervisord/protected.h"
#include "supervisord/sup.h"

void
protected_take(void *arg, const struct launch_protection *told)
{
	struct sup *sup = arg;
	enum protection which = (enum protection)told->which;
	struct protected *p = &sup->protected[which];

	p->known = true;
	p->waived = told->waived == 1;
	p->state = (enum protection_state)told->state;
	strlcpy(p->reason, told->reason, sizeof(p->reason));
	if (protected_is_waived(sup, which))
		auditlog_tell(sup, AUDIT_SERVICE, AUDIT_PROTECTION_WAIVE, NULL,
		    "%s: %s", protection_name(which), p->reason);
}

bool
protected_is_waived(const struct sup *sup, enum protection which)
{
	const struct protected *p = &sup->protected[which];

	return p->known && p->waived && p->state == PROTECTION_OFF;
}

void
protected_write(const struct sup *sup, struct json_writer *w)
{
	json_write_key(w, "protections");
	json_write_begin_array(w);
	for (int i = 0; i < PROTECTION__MAX; i++) {
		const struct protected *p = &sup->protected[i];
		enum protection which = (enum protection)i;

		if (!p->known)
			continue;
		json_write_begin_object(w);
		json_put_str(w, "name", protection_name(which));
		json_put_str(
		    w, "need", protection_need_name(protection_need(which)));
		json_put_str(w, "state", protection_state_name(p->state));
		json_put_bool(w, "waived", p->waived);
		json_put_str(
		    w, "reason", p->reason[0] == '\0' ? NULL : p->reason);
		json_write_end_object(w);
	}
	json_write_end_array(w);
}
