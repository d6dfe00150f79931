/*
 * Connections counted by user, in supervisord, so that one user cannot take
 * the places of all others. Pure: who is refused is decided elsewhere.
 */
#include <stdlib.h>

#include "common/panic.h"
#include "supervisord/share.h"

static int
share_compare(const struct share *a, const struct share *b)
{
	return a->uid < b->uid ? -1 : a->uid > b->uid;
}

RB_GENERATE_INTERNAL(
    share_tree, share, entry, share_compare, static __attribute__((unused)))

void
share_init(struct share_tree *tree)
{
	RB_INIT(tree);
}

struct share *
share_take(struct share_tree *tree, uid_t uid)
{
	struct share key = { .uid = uid };
	struct share *s = RB_FIND(share_tree, tree, &key);

	if (s == NULL) {
		s = calloc(1, sizeof(*s));
		if (s == NULL)
			return NULL;
		s->uid = uid;
		RB_INSERT(share_tree, tree, s);
	}
	s->count++;
	return s;
}

void
share_give(struct share_tree *tree, struct share **share)
{
	struct share *s = *share;

	*share = NULL;
	if (s == NULL)
		return;
	ASSERT(s->count > 0);
	if (--s->count > 0)
		return;
	RB_REMOVE(share_tree, tree, s);
	free(s);
}
