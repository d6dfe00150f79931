/*
 * shim: what a test tells t/faults/shim.c. Tests write it with pack().
 */
#ifndef T_FAULTS_SHIM_H
#define T_FAULTS_SHIM_H

#include <stdint.h>

#define CONTROL_MARK "control of faults" /* found in the program's file */
#define FAULT_SITES  4096 /* more than a round of any program has */

enum fault {
#define KIND(name, error) FAULT_##name,
#include "t/faults/kinds.def"
#undef KIND
	FAULT__MAX
};

struct control {
	char mark[24];
	uint32_t kind;     /* enum fault */
	uint32_t for_ever; /* not only the n-th */
	uint32_t trace;    /* say where */
	uint32_t lacks;    /* bits of enum fault that are never refused */
	uint32_t by_site;  /* only the first call from each place counts */
	uint32_t sync_us;  /* each sync or removal takes so much longer */
	uint64_t nth;      /* 0: nothing is counted or refused */
	uint64_t seen;     /* calls of the kind */
	uint64_t refused;  /* of these */
	uint64_t sites[FAULT_SITES]; /* places, as hashes; 0: free */
};

/* That of this program: for tests that have the shim in themselves. */
struct control *fault_control(void);

#endif
