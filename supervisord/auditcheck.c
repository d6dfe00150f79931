/*
 * Checking the audit log without the service: supervisord is the one program
 * that knows the store, so it does this, too, when a person starts it with -A.
 * It then serves nobody and changes no row.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "launch/launch.h"
#include "storage/audit.h"
#include "storage/store.h"
#include "supervisord/auditcheck.h"
#include "supervisord/noted.h"

#define BATCH       10000
#define EXIT_FAULT  1
#define EXIT_NOTED  64
#define FIRST_START 1 /* a stamp for what is no store yet: it stays empty */

/* The launcher's lock: whoever holds it has a supervisord for this store. */
static int
take_lock(const char *state_dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/lock", state_dir);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1) {
		fprintf(stderr,
		    "supervisord: %s: %s: this is no state"
		    " directory\n",
		    path, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		fprintf(stderr,
		    "supervisord: the service runs: ask it with"
		    " browsertaskctl audit verify\n");
		close(fd);
		return -1;
	}
	return fd;
}

static int
check_all(struct store *s, struct audit_check *c)
{
	struct store_txn *txn;
	int err = STORE_OK;

	while (err == STORE_OK && !c->done) {
		if ((err = store_read_begin(s, &txn)) != STORE_OK)
			break;
		err = audit_check(txn, c, BATCH);
		store_read_end(s);
	}
	return err;
}

static void
print_verdict(const struct audit_check *c)
{
	if (c->fault == AUDIT_SOUND)
		printf(
		    "the audit log is sound: %" PRIu64 " rows\n", c->checked);
	else
		printf("the audit log is NOT sound: row %" PRIu64 " %s\n",
		    c->bad, audit_fault_text(c->fault));
	if (c->fault == AUDIT_NO_STATE)
		return;
	printf("last row %" PRIu64 ":", c->state.rows);
	for (size_t i = 0; i < sizeof(c->state.head); i++)
		printf("%02x", c->state.head[i]);
	putchar('\n');
}

int
auditcheck_run(const char *state_dir, const char *noted)
{
	struct store_options options = { .now_ms = FIRST_START };
	struct audit_check c = { 0 };
	struct store_error error;
	struct store *s = NULL;
	int fd, err;

	if (noted != NULL && !noted_read(noted, &c)) {
		fprintf(stderr,
		    "supervisord: -n: not a row's number, a colon"
		    " and its hash\n");
		return EXIT_NOTED;
	}
	if ((fd = take_lock(state_dir)) == -1)
		return LAUNCH_EXIT_STORE;
	err = (int)store_open(state_dir, &options, &s, &error);
	if (err == STORE_OK)
		err = check_all(s, &c);
	store_free(&s);
	close(fd);
	if (err != STORE_OK) {
		fprintf(stderr,
		    "supervisord: %s: the store cannot be read:"
		    " %s\n",
		    state_dir, store_strerror(err));
		return LAUNCH_EXIT_STORE;
	}
	print_verdict(&c);
	return c.fault == AUDIT_SOUND ? 0 : EXIT_FAULT;
}
