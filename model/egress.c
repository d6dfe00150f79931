/*
 * egress: names and texts of what becomes of a browser's connection. Runs in
 * egressd, supervisord and workerd; holds no state.
 */
#include <string.h>

#include "common/panic.h"
#include "model/egress.h"

static const struct {
	const char *name, *text;
} outcomes[EGRESS__MAX] = {
#define EGRESS_OUTCOME(id, wire, text) { wire, text },
#include "model/egress_outcomes.def"
#undef EGRESS_OUTCOME
};

const char *
egress_outcome_name(enum egress_outcome o)
{
	ASSERT((unsigned)o < EGRESS__MAX);
	return outcomes[o].name;
}

const char *
egress_outcome_text(enum egress_outcome o)
{
	ASSERT((unsigned)o < EGRESS__MAX);
	return outcomes[o].text;
}

enum egress_outcome
egress_outcome_find(const char *name)
{
	for (int i = 0; i < EGRESS__MAX; i++)
		if (strcmp(outcomes[i].name, name) == 0)
			return (enum egress_outcome)i;
	return EGRESS__MAX;
}
