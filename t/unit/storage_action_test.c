/*
 * One execution per action id, at the store: sixteen clients ask for the same
 * actions in processes that are killed again and again. An action is reserved,
 * committed, executed, and its answer frozen; whatever dies in between, none is
 * executed twice and all that were told an answer were told the same.
 */
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "storage/idem.h"
#include "storage/store.h"
#include "t/unit/size.h"
#include "t/unit/storage_fixture.h"

#define CLIENTS     16
#define ACTIONS_MAX 1000
#define LIFE_MS     60000

struct ask {
	unsigned action;
	uint8_t identity[STORE_IDENTITY_BYTES];
	char answer[32]; /* told before; empty: there was none */
	int result;
};

static unsigned actions;
static int executed_fd, told_fd; /* logs: one record of each action */

static void
ask_init(struct ask *a, unsigned action)
{
	char id[16];
	const char *parts[] = { "run", id, NULL };

	memset(a, 0, sizeof(*a));
	a->action = action;
	snprintf(id, sizeof(id), "%u", action);
	idem_identity(IDEM_ACTION, parts, a->identity);
}

/* What is known already is answered, what is new is reserved. */
static int
ask_reserve(struct store_txn *txn, void *arg)
{
	struct idem_row row = { .uid = 1, .expires_ms = FX_NOW + LIFE_MS };
	struct ask *a = arg;
	int rc;

	a->answer[0] = '\0';
	rc = idem_get(txn, a->identity, FX_NOW, &row);
	if (rc == STORE_OK) {
		if (row.answer != NULL && row.answer_len < sizeof(a->answer))
			memcpy(a->answer, row.answer, row.answer_len);
		return STORE_EXISTS;
	}
	return rc == STORE_NOT_FOUND
	    ? idem_reserve(txn, a->identity, FX_NOW, &row)
	    : rc;
}

static int
ask_freeze(struct store_txn *txn, void *arg)
{
	const struct ask *a = arg;

	return idem_set_answer(
	    txn, a->identity, FX_NOW, a->answer, strlen(a->answer));
}

static void
put_record(int fd, unsigned action, const char *text)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%u %s\n", action, text);

	if (write(fd, line, (size_t)n) != n)
		err(1, "write");
}

static void
maybe_die(unsigned *left)
{
	if (--*left == 0)
		raise(SIGKILL);
}

/* What a new reservation is followed by. */
static void
execute(struct store *s, struct ask *a, unsigned *left)
{
	maybe_die(left);
	put_record(executed_fd, a->action, "done");
	snprintf(a->answer, sizeof(a->answer), "by %d", (int)getpid());
	maybe_die(left);
	if (fx_write(s, ask_freeze, a) != STORE_OK)
		errx(1, "an answer cannot be frozen");
	maybe_die(left);
	put_record(told_fd, a->action, a->answer);
}

/* All clients ask, each for another action; they share a commit. */
static void
ask_all(struct store *s, unsigned step, unsigned *left)
{
	struct ask asks[CLIENTS];

	for (unsigned i = 0; i < CLIENTS; i++) {
		/* Neighbours ask for the same action at the same time. */
		ask_init(&asks[i], (step + i / 4 * 7) % actions);
		store_write(s, ask_reserve, &asks[i], fx_done, &asks[i].result);
	}
	maybe_die(left);
	store_commit(s, FX_NOW);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (asks[i].result == STORE_OK)
			execute(s, &asks[i], left);
		else if (asks[i].result != STORE_EXISTS)
			errx(1, "reserve: %d", asks[i].result);
		else if (asks[i].answer[0] != '\0')
			put_record(told_fd, asks[i].action, asks[i].answer);
}

/* True when it came to its end. */
static bool
live(unsigned left)
{
	struct store *s;
	int status;
	pid_t pid = fork();

	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		s = fx_open();
		for (unsigned step = 0; step < actions; step++)
			ask_all(s, step, &left);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		errx(1, "a process ended with %d", WEXITSTATUS(status));
	return WIFEXITED(status);
}

static int
open_log(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fx_dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd == -1)
		err(1, "%s", path);
	return fd;
}

/* Records; those of an action that differ from its first one are counted. */
static unsigned
read_log(int fd, unsigned *ret_actions, unsigned *ret_differ)
{
	static char first[ACTIONS_MAX][32];
	char line[64], text[32];
	unsigned action, n = 0;
	FILE *f = fdopen(fd, "r");

	if (f == NULL)
		err(1, "fdopen");
	memset(first, 0, sizeof(first));
	*ret_actions = *ret_differ = 0;
	rewind(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%u %31[^\n]", &action, text) != 2 ||
		    action >= actions)
			errx(1, "a log has \"%s\"", line);
		n++;
		if (first[action][0] == '\0') {
			(*ret_actions)++;
			strlcpy(first[action], text, sizeof(first[action]));
		} else if (strcmp(first[action], text) != 0) {
			(*ret_differ)++;
		}
	}
	fclose(f);
	return n;
}

int
main(void)
{
	unsigned deaths = 0, executed, told, differ, n;

	actions = (unsigned)sized("actions, each of 16 clients", 100, 1000);
	fx_new();
	executed_fd = open_log("executed");
	told_fd = open_log("told");
	/* Lives become longer, so that one comes to its end. */
	while (!live(1 + (deaths * 7) % 23 + deaths * deaths / 40))
		deaths++;
	figure("%u deaths", deaths);
	ok(deaths > 20, "processes died");
	n = read_log(executed_fd, &executed, &differ);
	is_int(n, executed, "no action is executed twice");
	figure("%u of %u actions executed", executed, actions);
	ok(executed > actions / 2, "executed: %u of %u", executed, actions);
	n = read_log(told_fd, &told, &differ);
	is_int(differ, 0, "all that were told an answer were told the same");
	ok(told <= executed, "only of what was executed: %u in %u answers",
	    told, n);
	return done_testing();
}
