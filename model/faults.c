/* The faults of stored data. Runs in supervisord and in what makes the manual. */
#include "common/panic.h"
#include "model/faults.h"

static const struct {
	const char *name;
	enum fault_harm harm;
	const char *what, *advice;
} faults[FAULT__MAX] = {
#define FAULT(name, harm, what, advice) \
	[FAULT_##name] = { #name, FAULT_##harm, what, advice },
#include "model/faults.def"
#undef FAULT
};

const char *
fault_name(enum fault f)
{
	ASSERT(f < FAULT__MAX);
	return faults[f].name;
}

enum fault_harm
fault_harm(enum fault f)
{
	ASSERT(f < FAULT__MAX);
	return faults[f].harm;
}

const char *
fault_harm_name(enum fault_harm h)
{
	static const char *const names[] = { "lost", "wrong", "left" };

	ASSERT(h < FAULT_HARM__MAX);
	return names[h];
}

const char *
fault_what(enum fault f)
{
	ASSERT(f < FAULT__MAX);
	return faults[f].what;
}

const char *
fault_advice(enum fault f)
{
	ASSERT(f < FAULT__MAX);
	return faults[f].advice;
}
