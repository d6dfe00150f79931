/* A session's state that cannot be stored whole leaves the one before it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <event2/event.h>

#include "common/loop.h"
#include "model/limits.h"
#include "storage/session.h"
#include "supervisord/intake_int.h"
#include "supervisord/sup.h"
#include "supervisord/task_int.h"
#include "t/unit/storage_fixture.h"

static struct sup sup;
static struct task task;
static struct intake in;

static void
begin(void)
{
	lines_clear(&task.warnings);
	task.abort = ERR_NONE;
	memset(&in, 0, sizeof(in));
	in.task = &task;
}

static int
write_nothing(struct store_txn *txn, void *arg)
{
	return STORE_OK;
}

static void
data(const void *bytes, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_STATE_DATA);
	ipc_set_bin(&p, F_DATA, bytes, len);
	intake_state_data(&in, &p);
}

static void
end(void)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_STATE_END);
	intake_state_end(&in, &p);
	is_int(fx_write(sup.store, write_nothing, NULL), STORE_OK, "committed");
	session_state_free(&in.state);
}

static void
stored_is(const char *want, const char *name)
{
	struct buf got;

	buf_init(&got, STATE_FILE_BYTES);
	is_int(session_state_read(sup.store, &task.rec.session, &got), STORE_OK,
	    "there is a state");
	buf_add(&got, "", 1);
	is_str((const char *)got.data, want, name);
	buf_clear(&got);
}

/* No file may become longer, as on a disk that is full. */
static void
fill_disk(bool full)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = full ? 4 : limit.rlim_max;
	is_int(setrlimit(RLIMIT_FSIZE, &limit), 0,
	    full ? "the disk is full" : "there is room again");
}

static void
test_full_disk(void)
{
	begin();
	data("first ", 6);
	data("state", 5);
	end();
	stored_is("first state", "stored");
	is_int(task.warnings.count, 0, "no warning");

	begin();
	data("some", 4);
	fill_disk(true);
	data(" more", 5);
	fill_disk(false);
	data(" and the rest", 13);
	end();
	stored_is("first state", "a state with a gap is not taken");
	is_int(task.warnings.count, 1, "one warning");
	is_int(task.abort, ERR_NONE, "the run goes on");

	begin();
	data("some", 4);
	fill_disk(true);
	end();
	fill_disk(false);
	stored_is("first state", "nor is one without its seal");
	is_int(task.warnings.count, 1, "one warning");
}

/* The calls are this program's own, so that it fails one. */
static bool fail_sync;

int
fdatasync(int fd)
{
	struct stat st;
	char path[64], name[300];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	if (n > 0 && fail_sync && fstat(fd, &st) == 0) {
		name[n] = '\0';
		if (strstr(name, "/incoming/") != NULL) {
			errno = EIO;
			return -1;
		}
	}
	return (int)syscall(SYS_fdatasync, fd);
}

static void
test_failed_sync(void)
{
	begin();
	data("other", 5);
	fail_sync = true;
	end();
	fail_sync = false;
	stored_is(
	    "first state", "a state that is not on the disk is not taken");
	is_int(task.warnings.count, 1, "one warning");
	ok(in.state_lost, "what follows is not taken either");
}

static void
test_too_much(void)
{
	static char much[LIMIT_CHUNK_BYTES];

	begin();
	for (size_t n = 0; n <= LIMIT_STATE_BYTES; n += sizeof(much))
		data(much, sizeof(much));
	is_int(task.abort, ERR_WORKER_PROTOCOL, "too large a state");
	data("more", 4);
	end();
	stored_is("first state", "nothing of it is taken");
}

int
main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	fx_new();
	sup.store = fx_open();
	task.sup = &sup;
	task.keep = true;
	task.rec.session = ulid_new(FX_NOW);
	task.rec.id = ulid_new(FX_NOW);
	task.intake = &in;
	sup.base = loop_new();
	sup.tasks = tasks_new(&sup);
	if (sup.tasks == NULL)
		err(1, "tasks");
	tasks_insert(sup.tasks, &task);
	test_full_disk();
	test_failed_sync();
	test_too_much();
	lines_clear(&task.warnings);
	tasks_remove(sup.tasks, &task);
	tasks_free(&sup.tasks);
	event_base_free(sup.base);
	store_free(&sup.store);
	return done_testing();
}
