/*
 * readart: artifact.get and artifact.list.
 */
#ifndef SUPERVISORD_READART_H
#define SUPERVISORD_READART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ulid.h"
#include "ipc/msg.h"
#include "storage/store.h"

struct client;

/* A chunk that a client asks for. */
struct readart_want {
	struct ulid id;
	uint64_t offset, limit;
};

void readart_get(struct client *, uint32_t seq, const struct ipc_params *);
/* Answers it, since its file was checked (artcheck.h): err is the verdict. */
void readart_checked(struct client *, uint32_t seq, const struct readart_want *,
    enum store_err err);
void readart_list(struct client *, uint32_t seq, const struct ipc_params *);

/*
 * How many of the len bytes make up whole characters; len itself when they
 * are not UTF-8 at all, so that reading always goes on.
 */
size_t readart_whole_characters(const uint8_t *, size_t len);

#endif
