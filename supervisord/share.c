/*
 * What users have, counted by user, in supervisord. Pure: who is refused is
 * decided elsewhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/panic.h"
#include "json/writer.h"
#include "supervisord/share.h"

static const struct {
	const char *setting, *what;
	size_t limit; /* its place in the settings */
} kinds[SHARE__MAX] = {
#define SHARE(name, setting, what) \
	[SHARE_##name] = { #setting, what, offsetof(struct settings, setting) },
#include "supervisord/shares.def"
};

static int
share_compare(const struct share *a, const struct share *b)
{
	return a->uid < b->uid ? -1 : a->uid > b->uid;
}

RB_GENERATE_INTERNAL(
    share_tree, share, entry, share_compare, static __attribute__((unused)))

bool
share_is_free(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

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
		TAILQ_INIT(&s->fair.works);
		RB_INSERT(share_tree, tree, s);
	}
	s->refs++;
	return s;
}

struct share *
share_again(struct share *s)
{
	s->refs++;
	return s;
}

struct share *
share_first(const struct share_tree *tree)
{
	return RB_MIN(share_tree, (struct share_tree *)(uintptr_t)tree);
}

struct share *
share_next(struct share *s)
{
	return RB_NEXT(share_tree, NULL, s);
}

bool
share_is_alone(const struct share_tree *tree)
{
	struct share *first = share_first(tree);

	return first == NULL || share_next(first) == NULL;
}

void
share_give(struct share_tree *tree, struct share **share)
{
	struct share *s = *share;

	*share = NULL;
	if (s == NULL)
		return;
	ASSERT(s->refs > 0);
	if (--s->refs > 0)
		return;
	for (int i = 0; i < SHARE__MAX; i++)
		ASSERT(s->used[i] == 0);
	RB_REMOVE(share_tree, tree, s);
	free(s);
}

static uint64_t
share_limit(const struct settings *settings, enum share_kind kind)
{
	return (uint64_t) *
	    (const int64_t *)(const void *)((const char *)settings +
		kinds[kind].limit);
}

bool
share_has_room(const struct share *s, const struct settings *settings,
    enum share_kind kind, uint64_t n)
{
	uint64_t limit = share_limit(settings, kind);

	return share_is_free(s->uid) ||
	    (n <= limit && s->used[kind] <= limit - n);
}

void
share_grow(struct share *s, enum share_kind kind, uint64_t n)
{
	s->used[kind] += n;
}

void
share_shrink(struct share *s, enum share_kind kind, uint64_t n)
{
	ASSERT(s->used[kind] >= n);
	s->used[kind] -= n;
}

void
share_grow_hourly(struct share *s, enum share_kind kind, uint64_t n)
{
	share_grow(s, kind, n);
	s->refs += !s->kept;
	s->kept = true;
}

void
share_end_hour(struct share_tree *tree, enum share_kind kind)
{
	struct share *s, *next;

	for (s = share_first(tree); s != NULL; s = next) {
		next = share_next(s);
		if (!s->kept)
			continue;
		s->kept = false;
		s->used[kind] = 0;
		share_give(tree, &s);
	}
}

void
share_refusal(const struct share *s, const struct settings *settings,
    enum share_kind kind, uint64_t n, char ret_text[SHARE_TEXT_BYTES])
{
	snprintf(ret_text, SHARE_TEXT_BYTES,
	    "uid %u would have %" PRIu64 " %s with this one, a user may have"
	    " %" PRIu64 " (the setting %s)",
	    (unsigned)s->uid, s->used[kind] + n, kinds[kind].what,
	    share_limit(settings, kind), kinds[kind].setting);
}

void
share_write(const struct share *s, const struct settings *settings,
    struct json_writer *w)
{
	json_write_begin_object(w);
	for (int i = 0; i < SHARE__MAX; i++) {
		enum share_kind kind = (enum share_kind)i;

		json_write_key(w, kinds[kind].setting);
		json_write_begin_object(w);
		json_put_int64(w, "used", (int64_t)s->used[kind]);
		if (share_is_free(s->uid))
			json_put_null(w, "limit");
		else
			json_put_int64(
			    w, "limit", (int64_t)share_limit(settings, kind));
		json_write_end_object(w);
	}
	json_write_end_object(w);
}
