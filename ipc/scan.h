/*
 * scan: decides in one pass, without memory, whether bytes are one well-formed
 * MessagePack value within limits. Runs before anything else looks at what a
 * peer sent, because counts in headers cannot be trusted.
 */
#ifndef IPC_SCAN_H
#define IPC_SCAN_H

#include <stddef.h>

#define IPC_DEPTH_MAX 16

enum scan_result {
	SCAN_OK,
	SCAN_CUT,      /* ends within a value, or a count exceeds the bytes */
	SCAN_LONG,     /* bytes follow the value */
	SCAN_DEPTH,    /* nested deeper than allowed */
	SCAN_EXT,      /* an ext type */
	SCAN_RESERVED, /* the byte 0xc1 */
	SCAN_UTF8,     /* a str that is not UTF-8 */
	SCAN__MAX
};

/* max_depth counts nested containers, at most IPC_DEPTH_MAX. */
enum scan_result ipc_scan(const void *, size_t len, unsigned max_depth);
/* A few words for a log line. */
const char *ipc_scan_text(enum scan_result);

#endif
