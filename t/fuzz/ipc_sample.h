/* ipc_sample: a message of every row of ipc/msg.def, for tests and seeds. */
#ifndef T_FUZZ_IPC_SAMPLE_H
#define T_FUZZ_IPC_SAMPLE_H

#include <stdbool.h>

#include "common/buf.h"
#include "ipc/msg.h"

/* The number of sampled requests and answers. */
#define SAMPLE_SEQ 77

/*
 * Appends the encoded message of that row, with all of its fields or only the
 * required ones, each as small as it may be.
 */
void ipc_sample(const struct msg_row *, bool all_fields, struct buf *);
/* The first phase in which it is permitted. */
enum ipc_phase ipc_sample_phase(const struct msg_row *);

#endif
