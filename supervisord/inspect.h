/*
 * inspect: supervisord's program as a process that checks, copies or makes a
 * store and does nothing else.
 */
#ifndef SUPERVISORD_INSPECT_H
#define SUPERVISORD_INSPECT_H

#include <stdbool.h>

/* Is this how the program was started? */
bool inspect_wanted(int argc, char *const *argv);
/*
 * Does it: -I check or -I backup reads the store in the directory of -s, -I
 * restore makes one there. Descriptor 3 is the connection to a client of the
 * control protocol, or to whoever speaks as one. -a: nobody else has the store
 * open; -F: a store with faults is made all the same; -w: without a filter of
 * system calls, if there is none. Returns an exit status.
 */
int inspect_main(int argc, char *const *argv);

#endif
