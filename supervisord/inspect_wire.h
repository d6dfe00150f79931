/*
 * inspect_wire: messages over a connection, one after the other and each to its
 * end: what a process needs that does nothing else meanwhile.
 */
#ifndef SUPERVISORD_INSPECT_WIRE_H
#define SUPERVISORD_INSPECT_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"

#define WIRE_FD 3

struct wire;

/* Takes the connected socket; NULL when it is none or memory ran out. */
struct wire *wire_new(int fd);
void wire_free(struct wire **);
/*
 * For a process that only reads, and holds the store's pages meanwhile. Whatever
 * it does, it says its last progress again every WIRE_LIFE_S seconds. It ends,
 * with that status, when the other end is gone or takes nothing for so long (0:
 * for ever).
 */
#define WIRE_LIFE_S 5
bool wire_show_life(struct wire *, int patience_s, int status);
/* False when the other end is gone. */
bool wire_send(struct wire *, const struct ipc_params *);
/*
 * The next message that a client may get from the service; its bytes live until
 * the next call. False when there is none or it is no such message.
 */
bool wire_receive(struct wire *, struct ipc_params *ret);
/*
 * From now on a signal that damaged memory gives sends store.done with this
 * record and ends the process with the status.
 */
void wire_last_words(struct wire *, const void *json, size_t len, int status);

#endif
