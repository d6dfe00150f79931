/*
 * spares: cells that are up before anybody asked, so that a run need not wait
 * for its browser. A spare serves one run and is never used again.
 */
#ifndef SUPERVISORD_SPARES_H
#define SUPERVISORD_SPARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spares;
struct sup;
struct worker;

struct spares *spares_new(struct sup *);
void spares_free(struct spares **);
/*
 * Something changed that decides how many there are to be: orders what is
 * missing and ends what is too much, a little later.
 */
void spares_pump(struct sup *);
/*
 * A spare with these flags of SPAWN, up or still starting, for worker_claim();
 * NULL when there is none. The next ones are made for such runs, too.
 */
struct worker *spares_claim(struct sup *, uint32_t flags);
/* Ends one, whose slot is needed; false when there is none. */
bool spares_give_up_one(struct sup *);
/* Those that are up. */
size_t spares_ready(const struct sup *);

#endif
