/*
 * prose: English-looking sentences from word lists, the same for the same
 * seed on every machine. The text needs no HTML escaping.
 */
#ifndef SITE_PROSE_H
#define SITE_PROSE_H

#include <stdint.h>

struct buf;

struct prose {
	uint64_t state;
};

void prose_init(struct prose *, uint64_t seed);
/* A number in 0..n-1; n is at least 1. */
uint32_t prose_below(struct prose *, uint32_t n);
/* A heading of three to six words, no full stop. */
void prose_title(struct prose *, struct buf *);
/* One sentence with its full stop. */
void prose_sentence(struct prose *, struct buf *);
/* n sentences with spaces between them. */
void prose_sentences(struct prose *, struct buf *, unsigned n);
/* Two or three words, as for a link or a list item. */
void prose_phrase(struct prose *, struct buf *);
/* A person's name. Borrowed constants. */
void prose_name(struct prose *, struct buf *);

#endif
