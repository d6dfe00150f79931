/*
 * share: what each user has of what all users need, so that one user cannot
 * take it from all others.
 */
#ifndef SUPERVISORD_SHARE_H
#define SUPERVISORD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/tree.h>
#include <sys/types.h>

#include "model/settings.h"

struct fair_work;
struct json_writer;

enum share_kind {
#define SHARE(name, setting, what) SHARE_##name,
#include "supervisord/shares.def"
	SHARE__MAX
};

TAILQ_HEAD(fair_works, fair_work);

/* One user's, as long as there is a connection or a run of theirs. */
struct share {
	RB_ENTRY(share) entry;
	uid_t uid;
	size_t refs;
	uint64_t used[SHARE__MAX];
	bool kept;       /* has a reference until its hour is over */
	int64_t told_ms; /* when a refusal was last logged, 0: never */
	/* Of the loop's time, for fair.c. */
	struct {
		int64_t since_us, spent_us;
		bool held; /* its connections are not read */
		struct fair_works works;
	} fair;
};

RB_HEAD(share_tree, share);

/* Root and the service itself have no limit. */
bool share_is_free(uid_t);
void share_init(struct share_tree *);
/* The share of that user, to be given back. NULL: no memory. */
struct share *share_take(struct share_tree *, uid_t);
/* Once more, of one that is taken. */
struct share *share_again(struct share *);
/* Sets the pointer to NULL; NULL is accepted. */
void share_give(struct share_tree *, struct share **);

/* All of them; NULL: none, or no more. */
struct share *share_first(const struct share_tree *);
struct share *share_next(struct share *);
/* Is there only one user? */
bool share_is_alone(const struct share_tree *);

/* Is there room for n more? */
bool share_has_room(
    const struct share *, const struct settings *, enum share_kind, uint64_t n);
void share_grow(struct share *, enum share_kind, uint64_t n);
/* Gives back what share_grow() took. */
void share_shrink(struct share *, enum share_kind, uint64_t n);

/*
 * What counts for an hour, though no connection and no run may be left; it is
 * over for all at once.
 */
void share_grow_hourly(struct share *, enum share_kind, uint64_t n);
void share_end_hour(struct share_tree *, enum share_kind);

/* Why n more are refused, with the setting: a sentence for the user. */
#define SHARE_TEXT_BYTES 256
void share_refusal(const struct share *, const struct settings *,
    enum share_kind, uint64_t n, char ret_text[SHARE_TEXT_BYTES]);
/* An object of the settings, each with what is used of it and the limit. */
void share_write(
    const struct share *, const struct settings *, struct json_writer *);

#endif
