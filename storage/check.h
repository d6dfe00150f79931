/*
 * check: looks at everything in a store and tells what is wrong: records,
 * indexes and totals against records, events, keys, artifacts with their bytes
 * and files, spools, states of sessions, the audit log, files that nobody
 * names. Changes nothing.
 */
#ifndef STORAGE_CHECK_H
#define STORAGE_CHECK_H

#include "model/faults.h"
#include "storage/store.h"

#define CHECK_KEY_CHARS    96
#define CHECK_DETAIL_CHARS 200

/* One finding. All texts are plain ASCII or what a path has. */
struct check_fault {
	enum fault fault;
	const char *table;             /* or "files" */
	char key[CHECK_KEY_CHARS + 1]; /* ULIDs and hex digits; a path */
	bool has_run, has_artifact, has_session; /* what it is about */
	struct ulid run, artifact, session;
	char detail[CHECK_DETAIL_CHARS + 1]; /* or "" */
};

struct check_watch {
	void (*fault)(void *arg, const struct check_fault *);
	/* Now and then; what is a plural: "records", "files". */
	void (*progress)(
	    void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
};

struct check_totals {
	uint64_t records; /* entries of all tables */
	uint64_t runs, artifacts, sessions, keys, audit_rows;
	uint64_t files, bytes; /* of artifacts, that were read */
	uint64_t faults[FAULT_HARM__MAX];
};

/*
 * Checks a store that is open, if need be beside the process that owns it
 * (live): what that one changes meanwhile is no fault. Returns STORE_OK when all
 * was looked at, whatever was found.
 */
enum store_err store_check(struct store *, bool live,
    const struct check_watch *, struct check_totals *ret);

#endif
