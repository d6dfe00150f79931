/*
 * The confinement of supervisord: files below the state directory, no process
 * of its own, and the system calls of calls.def. Whoever takes it over through
 * a client's or a worker's bytes has the run table, which is bad enough, but no
 * network, no program and no other process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/log.h"
#include "confine/confine.h"
#include "confine/rows.h"
#include "supervisord/confine.h"

static const struct confine_call calls[] = {
#include "supervisord/calls.def"
};

static const struct confine_table table = { calls,
	sizeof(calls) / sizeof(calls[0]), CONFINE_KILL };

static void
confine_files(const char *state_dir, unsigned may)
{
	const struct confine_path path = { state_dir, may };
	int abi, error;

	error = confine_paths(&path, 1, 0, &abi);
	if (error == EOPNOTSUPP)
		log_warn("this kernel cannot restrict which files are opened "
			 "(Landlock); only owners and modes do");
	else if (error != 0)
		fatal("cannot restrict itself to %s: %s", state_dir,
		    strerror(error));
	else
		log_debug("Landlock, version %d", abi);
}

static void
confine_calls(void)
{
	int error = confine_limits(CONFINE_NO_PROCESSES);

	if (error != 0)
		fatal("cannot limit itself: %s", strerror(error));
	error = confine_filter(&table);
	if (error != 0)
		fatal("cannot load its filter of system calls: %s",
		    strerror(error));
}

void
supervisord_confine(const char *state_dir, int (*start)(void *arg), void *arg)
{
	int error;

	confine_files(state_dir, CONFINE_MAY_READ | CONFINE_MAY_WRITE);
	error = start == NULL ? 0 : start(arg);
	if (error != 0)
		fatal("cannot start its thread: %s", strerror(error));
	confine_calls();
}

void
supervisord_confine_reader(const char *state_dir)
{
	confine_files(state_dir, CONFINE_MAY_READ);
	confine_calls();
}
