/*
 * noted: a row of the audit log as the system log has it, "number:hash".
 */
#ifndef SUPERVISORD_NOTED_H
#define SUPERVISORD_NOTED_H

#include <stdbool.h>

struct audit_check;

/* Fills in what the check is to look for; false: it is not of that form. */
bool noted_read(const char *text, struct audit_check *);

#endif
