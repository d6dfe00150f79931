/*
 * The confinement of a cell. Filters are inherited, and a browser needs nearly
 * everything: so the cell loads its own only when its children were forked. A
 * kept cell forks workers later, which then have its filter and their own. Its
 * table is thus a wider one that has what a worker needs at its start; a helper
 * that forks them in its place would only have to be that wide instead.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "cell/confine.h"
#include "confine/confine.h"
#include "confine/rows.h"

#define NEW_NAMESPACES                                            \
	((uint64_t)CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
	    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct confine_call kept_calls[] = {
#include "cell/calls.def"
#include "cell/keep_calls.def"
};

static const struct confine_call calls[] = {
/* NOLINTNEXTLINE(readability-duplicate-include): rows of two tables */
#include "cell/calls.def"
};

int
cell_confine(bool kept)
{
	const struct confine_table table = { kept ? kept_calls : calls,
		kept ? COUNT(kept_calls) : COUNT(calls), CONFINE_KILL };

	return confine_filter(&table);
}
