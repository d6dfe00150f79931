/*
 * readart: artifact.get and artifact.list.
 */
#ifndef SUPERVISORD_READART_H
#define SUPERVISORD_READART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct client;

void readart_get(struct client *, uint32_t seq, const struct ipc_params *);
void readart_list(struct client *, uint32_t seq, const struct ipc_params *);

/*
 * How many of the len bytes make up whole characters; len itself when they
 * are not UTF-8 at all, so that reading always goes on.
 */
size_t readart_whole_characters(const uint8_t *, size_t len);

#endif
