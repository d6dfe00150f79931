#include <string.h>

#include "common/panic.h"
#include "model/run.h"

#define NAME_FIRST                                              \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" \
	"0123456789"
#define NAME_REST NAME_FIRST ".- "

static const char *const status_names[RUN__MAX] = {
#define STATE(name, wire, terminal) [RUN_##name] = wire,
#include "model/states.def"
#undef STATE
};

static const bool status_terminal[RUN__MAX] = {
#define STATE(name, wire, terminal) [RUN_##name] = terminal,
#include "model/states.def"
#undef STATE
};

static const bool status_follows[RUN__MAX][RUN__MAX] = {
#define TRANSITION(from, to) [RUN_##from][RUN_##to] = true,
#include "model/transitions.def"
#undef TRANSITION
};

static const char *const event_names[EVENT__MAX] = {
#define EVENT(name, wire, state) [EVENT_##name] = wire,
#include "model/events.def"
#undef EVENT
};

static const bool event_states[EVENT__MAX] = {
#define EVENT(name, wire, state) [EVENT_##name] = state,
#include "model/events.def"
#undef EVENT
};

static const char *const kind_names[ARTIFACT__MAX] = {
#define KIND(name, wire) [ARTIFACT_##name] = wire,
#include "model/artifact_kinds.def"
#undef KIND
};

static const char *const priority_names[PRIORITY__MAX] = {
#define PRIORITY(name, wire) [PRIORITY_##name] = wire,
#include "model/priorities.def"
#undef PRIORITY
};

static const char *const mode_names[MODE__MAX] = {
#define MODE(name, wire) [MODE_##name] = wire,
#include "model/modes.def"
#undef MODE
};

static const char *const trust_names[TRUST__MAX] = {
#define TRUST(name, wire) [TRUST_##name] = wire,
#include "model/trust_levels.def"
#undef TRUST
};

static const char *
name_at(const char *const *names, int max, int i)
{
	ASSERT(i >= 0 && i < max);
	return names[i];
}

static int
name_index(const char *const *names, int max, const char *name)
{
	for (int i = 0; i < max; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

const char *
run_status_name(enum run_status status)
{
	return name_at(status_names, RUN__MAX, (int)status);
}

bool
run_status_terminal(enum run_status status)
{
	ASSERT(status < RUN__MAX);
	return status_terminal[status];
}

bool
run_status_may_follow(enum run_status from, enum run_status to)
{
	ASSERT(from < RUN__MAX && to < RUN__MAX);
	return status_follows[from][to];
}

const char *
event_name(enum event_kind kind)
{
	return name_at(event_names, EVENT__MAX, (int)kind);
}

bool
event_is_state(enum event_kind kind)
{
	ASSERT(kind < EVENT__MAX);
	return event_states[kind];
}

const char *
artifact_kind_name(enum artifact_kind kind)
{
	return name_at(kind_names, ARTIFACT__MAX, (int)kind);
}

const char *
run_priority_name(enum run_priority priority)
{
	return name_at(priority_names, PRIORITY__MAX, (int)priority);
}

const char *
run_mode_name(enum run_mode mode)
{
	return name_at(mode_names, MODE__MAX, (int)mode);
}

const char *
trust_level_name(enum trust_level level)
{
	return name_at(trust_names, TRUST__MAX, (int)level);
}

#define BY_NAME(function, type, names, max)             \
	bool function(const char *name, enum type *ret) \
	{                                               \
		int i = name_index(names, max, name);   \
                                                        \
		if (i == -1)                            \
			return false;                   \
		*ret = (enum type)i;                    \
		return true;                            \
	}

BY_NAME(run_status_by_name, run_status, status_names, RUN__MAX)
BY_NAME(event_by_name, event_kind, event_names, EVENT__MAX)
BY_NAME(artifact_kind_by_name, artifact_kind, kind_names, ARTIFACT__MAX)
BY_NAME(run_priority_by_name, run_priority, priority_names, PRIORITY__MAX)
BY_NAME(run_mode_by_name, run_mode, mode_names, MODE__MAX)
BY_NAME(trust_level_by_name, trust_level, trust_names, TRUST__MAX)

bool
artifact_name_is_valid(const char *name)
{
	return strspn(name, NAME_FIRST) > 0 &&
	    name[strspn(name, NAME_REST)] == '\0';
}

bool
run_phase_is_templates(const char *phase)
{
	static const char *const phases[] = { "preparing", "acting",
		"retrying" };

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (strcmp(phases[i], phase) == 0)
			return true;
	return false;
}
