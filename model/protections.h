/* protections: the table of protections.def. */
#ifndef MODEL_PROTECTIONS_H
#define MODEL_PROTECTIONS_H

#include <stdbool.h>

enum protection {
#define PROTECTION(id, name, need, what, fix) PROTECTION_##id,
#include "model/protections.def"
#undef PROTECTION
	PROTECTION__MAX
};

enum protection_need {
	PROTECTION_BASE,     /* never waived */
	PROTECTION_REQUIRED, /* waived by name only */
	PROTECTION_WANTED,
	PROTECTION_NEED__MAX
};

enum protection_state {
	PROTECTION_OFF,
	PROTECTION_WEAKER, /* on, but not all of it */
	PROTECTION_ON,
	PROTECTION_STATE__MAX
};

const char *protection_name(enum protection);
/* A sentence. */
const char *protection_what(enum protection);
/* Without a stop, to be written behind a colon. */
const char *protection_fix(enum protection);
enum protection_need protection_need(enum protection);
const char *protection_need_name(enum protection_need);
const char *protection_state_name(enum protection_state);
/* The one of that name; PROTECTION__MAX: there is none. */
enum protection protection_find(const char *name);
/* Whether a list as the setting waive takes it names this one. */
bool protection_is_waived(const char *list, enum protection);

#endif
