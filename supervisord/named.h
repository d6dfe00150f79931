/*
 * named: the hosts that inputs name, so that a run may reach them also where
 * they are near this machine.
 */
#ifndef SUPERVISORD_NAMED_H
#define SUPERVISORD_NAMED_H

#include <stdbool.h>

#include "common/buf.h"
#include "json/tape.h"

/*
 * Adds the host of each string that is a URL of http, https, ws or wss, one a
 * line, names of other scripts as A-labels. False when no more fit: the first
 * ones are there.
 */
bool named_hosts(struct json_val inputs, struct buf *lines);

#endif
