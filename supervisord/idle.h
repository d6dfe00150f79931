/*
 * idle: a service that was started because somebody needed it ends when nobody
 * has for a while (the setting idleExitMs).
 */
#ifndef SUPERVISORD_IDLE_H
#define SUPERVISORD_IDLE_H

struct idle;
struct sup;

/* on_over is called once, when there was neither client nor run for so long. */
struct idle *idle_new(struct sup *, void (*on_over)(struct sup *));
void idle_free(struct idle **);
/* Something came or went that counts. NULL is accepted. */
void idle_look(struct idle *);

#endif
