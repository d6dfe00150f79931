/* warm: makes the first page of a run as quick as the ones after it. */
#ifndef WORKERD_WARM_H
#define WORKERD_WARM_H

#include <stdbool.h>

struct page;

/*
 * Reads the empty page that is in the tab, so that what every first read waits
 * for is there before a run is. done is called once, from the loop; why is NULL
 * when the tab may be used. False: nothing was begun.
 */
bool
warm_page(struct page *, void (*done)(void *arg, const char *why), void *arg);

#endif
