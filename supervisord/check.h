/*
 * check: template.check, a template's text described in a confined worker of
 * its own and its metadata held to the rules. Nothing of it is kept.
 */
#ifndef SUPERVISORD_CHECK_H
#define SUPERVISORD_CHECK_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;

void check_template(struct client *, uint32_t seq, const struct ipc_params *);

#endif
