/*
 * What doctor tells of the protections that the service found at its start.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/doctor.h"
#include "model/protections.h"

static void
say_one(struct doctor *d, struct json_val row)
{
	char name[64] = "", state[16] = "", reason[DOCTOR_TEXT_SIZE - 100];
	char advice[DOCTOR_TEXT_SIZE];
	enum doctor_level level = DOCTOR_OK;
	enum protection which;
	bool waived = false, off;

	json_str_copy(json_obj_get(row, "name"), name, sizeof(name));
	json_str_copy(json_obj_get(row, "state"), state, sizeof(state));
	reason[0] = '\0';
	json_str_copy(json_obj_get(row, "reason"), reason, sizeof(reason));
	json_get_bool(json_obj_get(row, "waived"), &waived);
	which = protection_find(name);
	if (which == PROTECTION__MAX)
		return;
	off = strcmp(state, protection_state_name(PROTECTION_OFF)) == 0;
	if (off)
		level = DOCTOR_WARN;
	snprintf(advice, sizeof(advice), "%s: %s", protection_what(which),
	    protection_fix(which));
	/* What is weaker is as its mode is: told, with nothing to mend. */
	doctor_say(d, level, "protection", advice, "%s: %s%s%s%s", name, state,
	    off && waived ? ", as the setting waive says" : "",
	    reason[0] == '\0' ? "" : ": ", reason);
}

void
doctor_protections(struct doctor *d)
{
	struct json_iter it;

	if (!d->running)
		return;
	it = json_iter(json_obj_get(d->profile.root, "protections"));
	while (json_iter_next(&it))
		say_one(d, it.val);
}
