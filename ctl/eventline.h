/*
 * eventline: what an event says, in a few words for people.
 */
#ifndef CTL_EVENTLINE_H
#define CTL_EVENTLINE_H

#include "common/buf.h"
#include "json/tape.h"

/* Appends clean text without line ends; nothing when there is nothing. */
void eventline_add(struct json_val event, struct buf *);

#endif
