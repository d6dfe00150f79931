/*
 * The confinement of a worker: no process, file or descriptor beyond those it
 * has, no environment, and the system calls of calls.def. Whoever takes over a
 * worker, by a page's answer or a template, has these and nothing else.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "common/log.h"
#include "confine/confine.h"
#include "confine/rows.h"
#include "workerd/confine.h"

static const struct confine_call calls[] = {
#include "workerd/calls.def"
};

static const struct confine_table table = { calls,
	sizeof(calls) / sizeof(calls[0]), CONFINE_KILL };

void
worker_confine(void)
{
	int error;

	(void)clearenv();
	error = confine_limits(
	    CONFINE_NO_PROCESSES | CONFINE_NO_GROWTH | CONFINE_NO_DESCRIPTORS);
	if (error != 0)
		fatal("cannot limit itself: %s", strerror(error));
	error = confine_filter(&table);
	if (error != 0)
		fatal("cannot load its filter of system calls: %s",
		    strerror(error));
}
