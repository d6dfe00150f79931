/*
 * subs: subscriptions of the client: it is told when a run that it has
 * subscribed to has changed its state. Legacy ones are single, by
 * resources/subscribe; modern ones are lists, by subscriptions/listen.
 */
#ifndef MCP_SUBS_H
#define MCP_SUBS_H

#include <stddef.h>
#include <stdint.h>

#include "mcp/adapter.h"

/* The one that the request with this id has opened is not wanted any more. */
void subs_cancel(struct adapter *, const uint8_t *id, size_t len);
/* No more input comes: those that are open end with their results. */
void subs_end(struct adapter *);
/*
 * The request id of a subscription of the modern era, by its number; false when
 * it is no more.
 */
bool subs_id(
    struct adapter *, size_t number, const uint8_t **ret_id, size_t *ret_len);
/* Without a word. */
void subs_drop_all(struct adapter *);

#endif
