/* link_int: what the two files of link share, and nobody else. */
#ifndef SUPERVISORD_LINK_INT_H
#define SUPERVISORD_LINK_INT_H

#include <sys/queue.h>

#include "supervisord/link.h"

struct link_cell;

#define ORDERS_SPARE 64 /* bits of taken; every cell may be killed at once */

struct order {
	STAILQ_ENTRY(order) entry;
	struct launch_msg msg;
	int fd; /* goes with it, or -1 */
};

/* For orders that must not fail when memory is short. */
struct orders_spare {
	struct order of[ORDERS_SPARE];
	uint64_t taken;
};

/* NULL: no memory, and none to spare for one of that type. */
struct order *order_new(struct orders_spare *, const struct launch_msg *);
/* Closes what would have gone with it. Accepts NULL. */
void order_free(struct orders_spare *, struct order *);
/* The first bit of count that is not set, or -1. */
int slot_find(uint64_t taken, unsigned count);

/* Gives up the link, and tells so. */
void link_break(struct link *, const char *why);
struct link_cell *link_find(struct link *, uint32_t cell_id);
/* Queues a copy; NULL when it cannot be sent, nor ever will. */
struct order *link_order(struct link *, const struct launch_msg *);
/* The same for one that has nothing but a type; a failure is logged. */
void link_order_simple(struct link *, enum launch_type, uint32_t cell_id);
/* What is queued, at once. An error is met when the loop comes to it. */
void link_send_now(struct link *);
/* That of its profile. */
void link_session_name(
    const struct ulid *session, char ret_name[LAUNCH_PROFILE_BYTES]);

#endif
