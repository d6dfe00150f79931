/*
 * run: words of a run's life: states, transitions, events, modes, priorities,
 * levels of trust and kinds of artifacts, each from its table.
 */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include <stdbool.h>

enum run_status {
#define STATE(name, wire, terminal) RUN_##name,
#include "model/states.def"
#undef STATE
	RUN__MAX
};

enum event_kind {
#define EVENT(name, wire, state) EVENT_##name,
#include "model/events.def"
#undef EVENT
	EVENT__MAX
};

enum artifact_kind {
#define KIND(name, wire) ARTIFACT_##name,
#include "model/artifact_kinds.def"
#undef KIND
	ARTIFACT__MAX
};

enum run_priority {
#define PRIORITY(name, wire) PRIORITY_##name,
#include "model/priorities.def"
#undef PRIORITY
	PRIORITY__MAX
};

enum run_mode {
#define MODE(name, wire) MODE_##name,
#include "model/modes.def"
#undef MODE
	MODE__MAX
};

enum trust_level {
#define TRUST(name, wire) TRUST_##name,
#include "model/trust_levels.def"
#undef TRUST
	TRUST__MAX
};

const char *run_status_name(enum run_status);
bool run_status_terminal(enum run_status);
/* May a run go from one state to the other? */
bool run_status_may_follow(enum run_status from, enum run_status to);
/* Whether a template may say that its run is in this phase. */
bool run_phase_is_templates(const char *phase);
const char *event_name(enum event_kind);
/* State events are kept even when a run's log is full. */
bool event_is_state(enum event_kind);
const char *artifact_kind_name(enum artifact_kind);
/*
 * Whether an artifact may be called so: letters of ASCII, digits, and after the
 * first one the characters . _ - and blanks; no path and nothing for terminals.
 */
bool artifact_name_is_valid(const char *);
const char *run_priority_name(enum run_priority);
const char *run_mode_name(enum run_mode);
const char *trust_level_name(enum trust_level);

/* By wire name; false when there is no such name. */
bool run_status_by_name(const char *, enum run_status *ret_status);
bool event_by_name(const char *, enum event_kind *ret_kind);
bool artifact_kind_by_name(const char *, enum artifact_kind *ret_kind);
bool run_priority_by_name(const char *, enum run_priority *ret_priority);
bool run_mode_by_name(const char *, enum run_mode *ret_mode);
bool trust_level_by_name(const char *, enum trust_level *ret_level);

#endif
