/*
 * head: one MessagePack header, decoded. Shared by the cursor and the scan;
 * nothing outside ipc/ needs it.
 */
#ifndef IPC_HEAD_H
#define IPC_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/mp.h"

struct mp_head {
	enum mp_type type;
	size_t head_len; /* the header itself, with a scalar's value */
	uint32_t n;      /* bytes of str, bin, ext; entries of array, map */
	uint64_t u;      /* MP_UINT, and MP_INT that is not negative */
	int64_t i;       /* MP_INT */
	double d;
	bool b;
};

/*
 * Decodes the header at p. The type is MP_END when the header is cut, MP_BAD
 * for the reserved byte. Says nothing about the bytes behind the header.
 */
void mp_head_read(const uint8_t *p, const uint8_t *end, struct mp_head *ret);

#endif
