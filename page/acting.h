/*
 * acting: what act.c (the steps of an action) and hands.c (what is done between
 * them) share, and nobody else.
 */
#ifndef PAGE_ACTING_H
#define PAGE_ACTING_H

#include "page/priv.h"

/* What a step answers. */
enum told {
	TOLD_FAILED,
	TOLD_MESSAGE,
	TOLD_HOW,
	TOLD_X,
	TOLD_Y,
	TOLD_HIT,
	TOLD_BY,
	TOLD_ELEMENT,
	TOLD_WARNINGS,
	TOLD_CLIP,
	TOLD_ORIGIN,
	TOLD_TEXT,
	TOLD__MAX
};

/* Of the steps of act.js and what it is joined with. */
#define ACT_ARGS_MAX ((size_t)1 << 20)
#define ACT_SHOT_MAX ((size_t)16 << 20)

/* act.c */
/* Runs a step inside the page; then what its answer says. */
void act_step(struct page *, const char *step);
/* The step that follows the hands' work. */
void act_then(struct page *);
/* The tab settles, and then the action has ended. */
void act_settle(struct page *);
/* For people, in the result. */
void act_warn(struct page *, const char *text);

/* shot.c */
/* Takes the picture that a step has prepared. */
void act_shoot(struct page *, const struct json_span told[TOLD__MAX]);

/* hands.c */
/* Does what a step has told to do. */
void act_use_hands(struct page *, const struct json_span told[TOLD__MAX]);

#endif
