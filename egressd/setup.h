/* setup: the parts of egressd as the settings want them. */
#ifndef EGRESSD_SETUP_H
#define EGRESSD_SETUP_H

#include "egressd/egress.h"

/*
 * Makes all parts but the links, as with no setting set. False when memory is
 * short or c-ares cannot start; it has been logged.
 */
bool setup_open(struct egress *);
void setup_close(struct egress *);
/* Takes over a setting; a value that is wrong is logged and changes nothing. */
void setup_setting(struct egress *, const char *name, const char *value);
/*
 * Takes over what resolv.conf and hosts hold now; the descriptors become its
 * own.
 */
void setup_names(struct egress *, const int fds[2]);
/*
 * Something that is said once could not be taken for want of memory or
 * descriptors: ends, and the launcher starts it anew and says all again.
 */
void setup_break(struct egress *, const char *what);

#endif
