/*
 * corpus: 100 different generated article pages for measurements: 15 to 217
 * kB, median about 86 kB, the same on every machine.
 */
#ifndef SITE_CORPUS_H
#define SITE_CORPUS_H

#include <stddef.h>

#define CORPUS_PAGES 100

/*
 * The HTML of page k (1..CORPUS_PAGES), made at the first call. Borrowed until
 * corpus_free(). NULL without memory.
 */
const char *corpus_page(unsigned k, size_t *ret_len);
void corpus_free(void);

#endif
