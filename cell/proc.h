/* proc: reading of /proc, shared by all that looks there. */
#ifndef CELL_PROC_H
#define CELL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One process, as its stat and status tell. */
struct proc_use {
	uint64_t memory;  /* bytes of its own, swapped out or not */
	uint64_t ticks;   /* of processors */
	uint64_t waited;  /* of children that it waited for */
	uint64_t started; /* ticks since the machine started */
	uint32_t threads;
	bool running; /* or wants to */
};

/* Reads a file of /proc whole, with a terminator; its length or -1. */
ssize_t proc_read(int dirfd, const char *name, char *buf, size_t size);
/* The text behind "KEY:" of a line of a status, or NULL. */
const char *proc_field(const char *status, const char *key);
/*
 * From the texts of a /proc/PID/stat and a /proc/PID/status; false when
 * something is missing or no number. The status of a process that has ended
 * tells of no memory, which then is 0.
 */
bool proc_parse_stat(const char *stat, struct proc_use *ret_use);
bool proc_parse_status(const char *status, struct proc_use *ret_use);

#endif
