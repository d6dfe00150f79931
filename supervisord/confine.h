/* confine: supervisord gives up what it does not need to serve. */
#ifndef SUPERVISORD_CONFINE_H
#define SUPERVISORD_CONFINE_H

/*
 * When the store is open, before anything is read from the launcher, workers or
 * clients. Only state_dir can be opened from here on. Ends the process when it
 * cannot be done; a kernel that cannot restrict paths is told of in the log.
 */
void supervisord_confine(const char *state_dir);
/* The same of a process that only reads there. */
void supervisord_confine_reader(const char *state_dir);

#endif
