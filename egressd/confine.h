/* confine: egressd gives up what it does not need to serve. */
#ifndef EGRESSD_CONFINE_H
#define EGRESSD_CONFINE_H

/*
 * When all parts are made, before anything is read from browsers or sites.
 * Ends the process when it cannot be done; a kernel that cannot restrict paths
 * is told of in the log.
 */
void egressd_confine(void);

#endif
