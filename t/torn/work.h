/*
 * work: what a supervisord does to its store, in little: runs with documents,
 * keys, events, items, artifacts and sessions, retention, restarts. It keeps
 * what was acknowledged when, in positions of the log of disk operations.
 */
#ifndef T_TORN_WORK_H
#define T_TORN_WORK_H

#include "storage/artifact.h"
#include "storage/session.h"
#include "storage/spool.h"
#include "storage/store.h"
#include "storage/sweep.h"
#include "t/torn/disk.h"

#define WORK_HASH_BYTES  32
#define WORK_STATES      4000
#define WORK_VERSIONS    1000
#define WORK_STATE_BYTES 30000 /* at most, of a session's state */

struct work {
	/* All of the database behind every commit that was acknowledged. */
	struct work_state {
		size_t at; /* the log's length when it was */
		uint8_t hash[WORK_HASH_BYTES];
	} states[WORK_STATES];
	size_t nstates;
	/* The states of sessions' browsers. */
	struct work_version {
		struct ulid session;
		size_t begun, done; /* as at, done 0: never */
	} versions[WORK_VERSIONS];
	size_t nversions;
};

/* Random numbers that a seed repeats. */
struct work_rand {
	uint64_t x;
};
uint64_t work_random(struct work_rand *);
/* From low to high. */
unsigned work_between(struct work_rand *, unsigned low, unsigned high);

/* Works in the existing, empty directory dir; recording has begun. */
void work_run(const char *dir, uint64_t seed, unsigned turns,
    const struct disk_log *, struct work *);

/* Options of all stores of this test; the map is small, so that it grows. */
struct store *work_open(const char *dir, enum store_err *ret_err);
/* One commit; what it came to. */
int work_write(struct store *, store_write_fn *fn, void *arg, int64_t now_ms);
/* Purge and recovery, as at a start; runs that were running wait again. */
enum store_err
work_recover(struct store *, int64_t now_ms, struct purge_result *ret_purged);
/* A digest of every key and value of every table. */
void work_hash(struct store *, uint8_t ret_hash[WORK_HASH_BYTES]);

/* The state of a browser by its index in versions; its length. */
size_t work_version_bytes(size_t version, uint8_t ret[WORK_STATE_BYTES]);
/* Which one bytes are, or -1. */
long work_version_of(const uint8_t *, size_t len);

#define WORK_NOW        1700000000000ll
#define WORK_TICK       1000 /* ms from turn to turn */
#define WORK_ITEM_BYTES 9000

/* A run's life, for an oracle that goes on with it. */
int work_item(struct store *, struct spool *, const struct ulid *run,
    uint32_t index, size_t len, int64_t now_ms);
/* A run whose id is made of the number. */
void work_run_make(struct run_record *, unsigned number, int64_t now_ms);
int work_submit(struct store *, struct run_record *, int64_t now_ms);

#endif
