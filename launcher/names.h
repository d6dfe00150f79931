/*
 * names: the files of the system that tell the addresses of hosts and of name
 * servers, for egressd, which can open no other file that takes their place.
 */
#ifndef LAUNCHER_NAMES_H
#define LAUNCHER_NAMES_H

struct event_base;
struct names;

#define NAMES_FILES 2 /* resolv.conf, hosts */

/* One of them may have changed. */
typedef void names_fn(void *arg);

/* NULL: changes cannot be seen. */
struct names *names_new(struct event_base *, names_fn *, void *arg);
void names_free(struct names **);
/*
 * Copies in memory, which are the caller's to close; one that is not there is
 * empty. 0 or an errno value: then none is open.
 */
int names_copy(int ret_fds[NAMES_FILES]);

#endif
