/* share: how many connections each user has. */
#ifndef SUPERVISORD_SHARE_H
#define SUPERVISORD_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/tree.h>
#include <sys/types.h>

/* One user's, as long as there is a connection of theirs. */
struct share {
	RB_ENTRY(share) entry;
	uid_t uid;
	size_t count;
	int64_t told_ms; /* when a refusal was last logged, 0: never */
};

RB_HEAD(share_tree, share);

void share_init(struct share_tree *);
/* One connection more; NULL: no memory. To be given back. */
struct share *share_take(struct share_tree *, uid_t);
/* One less. Sets the pointer to NULL; NULL is accepted. */
void share_give(struct share_tree *, struct share **);

#endif
