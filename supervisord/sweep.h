/*
 * sweep: lets go of what has outlived its time, a bounded batch per turn.
 */
#ifndef SUPERVISORD_SWEEP_H
#define SUPERVISORD_SWEEP_H

struct sup;
struct sweep;

struct sweep *sweep_new(struct sup *);
void sweep_free(struct sweep **);
/* Something was given a time to expire: sets the timer to the earliest. */
void sweep_arm(struct sweep *);

#endif
