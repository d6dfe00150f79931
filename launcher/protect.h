/*
 * protect: what there is of each protection on this machine, and whether that
 * is enough to start.
 */
#ifndef LAUNCHER_PROTECT_H
#define LAUNCHER_PROTECT_H

#include "launcher/spawn.h"
#include "launcher/supervise.h"
#include "model/protections.h"

struct protect_row {
	enum protection_state state;
	bool waived; /* by the setting */
	char reason[LAUNCH_REASON_BYTES];
};

struct protect {
	struct protect_row rows[PROTECTION__MAX];
};

/* All are on; what the setting waive names is noted. */
void protect_init(struct protect *, const char *waive);
/* Notes what was seen of one. */
void protect_note(struct protect *, enum protection, enum protection_state,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/*
 * Looks at namespaces, the root directory, the browser's sandbox, uids and
 * Landlock. Sets env->waived: what is off and may be.
 */
void protect_probe(struct protect *, struct spawn_env *);
/*
 * Tells in the log what is off. 0, or an exit code: something is that must not
 * be, which was told with what to do.
 */
int protect_admit(const struct protect *);
/* Tells supervisord. */
void protect_tell(const struct protect *, struct supervise *);

#endif
