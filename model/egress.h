/* egress: what becomes of a connection that does not come about, by name. */
#ifndef MODEL_EGRESS_H
#define MODEL_EGRESS_H

enum egress_outcome {
#define EGRESS_OUTCOME(id, wire, text) EGRESS_##id,
#include "model/egress_outcomes.def"
#undef EGRESS_OUTCOME
	EGRESS__MAX
};

const char *egress_outcome_name(enum egress_outcome);
/* For people: continues "HOST: ". */
const char *egress_outcome_text(enum egress_outcome);
/* EGRESS__MAX: there is none of that name. */
enum egress_outcome egress_outcome_find(const char *name);

#endif
