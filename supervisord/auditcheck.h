/*
 * auditcheck: the audit log of a store whose service does not run.
 */
#ifndef SUPERVISORD_AUDITCHECK_H
#define SUPERVISORD_AUDITCHECK_H

/*
 * Checks all of it and says on standard output what it found. noted is as for
 * audit.verify, or NULL. Returns an exit status: 0, it is sound; 1, it is not;
 * anything else, it could not be checked.
 */
int auditcheck_run(const char *state_dir, const char *noted);

#endif
