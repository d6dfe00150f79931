/* confine: supervisord gives up what it does not need to serve. */
#ifndef SUPERVISORD_CONFINE_H
#define SUPERVISORD_CONFINE_H

/*
 * When the store is open, before anything is read from the launcher, workers or
 * clients. Only state_dir can be opened from here on. Ends the process when it
 * cannot be done; a kernel that cannot restrict paths is told of in the log.
 * start (or NULL) makes the threads that there shall be, which have what is
 * above them; 0 or an errno value.
 */
void
supervisord_confine(const char *state_dir, int (*start)(void *arg), void *arg);
/* The same of a process that only reads there. */
void supervisord_confine_reader(const char *state_dir);

#endif
