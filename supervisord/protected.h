/*
 * protected: what the launcher found of each protection.
 */
#ifndef SUPERVISORD_PROTECTED_H
#define SUPERVISORD_PROTECTED_H

#include <stdbool.h>

#include "launch/launch.h"
#include "model/protections.h"

struct json_writer;
struct sup;

struct protected
{
	bool known; /* the launcher has told */
	bool waived;
	enum protection_state state;
	char reason[LAUNCH_REASON_BYTES];
};

/* Takes what the launcher tells ARG, sup; what is off, waived is audited. */
void protected_take(void *arg, const struct launch_protection *);
/* Whether it is missing, and need not be there. */
bool protected_is_waived(const struct sup *, enum protection);
/* The member "protections" of profile.get. */
void protected_write(const struct sup *, struct json_writer *);

#endif
