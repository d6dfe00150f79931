/*
 * egressd: the only way of browsers to the network. Takes connections on
 * listeners that were made inside their network namespaces, resolves what they
 * ask for, judges every address and connects to exactly the one it judged.
 * Started by the launcher; opens no file that it could write, knows no run but
 * by its id, and never passes on a byte before it has judged.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/timers.h"
#include "confine/confine.h"
#include "egressd/confine.h"
#include "egressd/launchlink.h"
#include "egressd/own.h"
#include "egressd/setup.h"

#define FD_LAUNCHER 3
#define FD_RESERVE  64 /* for links, listeners, questions to name servers */
#define FD_WANTED   65536
#define TIMERS      4096 /* a connection has up to 3 */
#define EXIT_USAGE  64
#define UIDS        64 /* of an instance */

_Noreturn static void
usage(void)
{
	fprintf(stderr,
	    "usage: egressd [-w] [-u UIDBASE]\n"
	    "Started by browsertaskd only.\n");
	exit(EXIT_USAGE);
}

/* The service's own listeners are known by their uids, if it has any. */
static void
read_arguments(int argc, char *argv[], struct egress *e)
{
	const char *why = NULL;
	uid_t base;
	int ch;

	while ((ch = getopt(argc, argv, "u:w")) != -1) {
		if (ch == 'w') {
			/* No filter can be loaded, and that is waived. */
			confine_filter_waive();
			continue;
		}
		if (ch != 'u')
			usage();
		base = (uid_t)strtonum(optarg, 1, UINT32_MAX - UIDS, &why);
		if (why != NULL)
			usage();
		own_free(&e->own);
		e->own = own_new(base, UIDS);
		if (e->own == NULL)
			fatal("netlink: %s", strerror(errno));
	}
	if (optind != argc)
		usage();
}

static void
check_descriptors(void)
{
	char why[FDIO_WHY_BYTES];

	if (!fd_check_inherited(FD_LAUNCHER, FD_LAUNCHER, why))
		fatal("%s", why);
}

static void
raise_descriptors(struct egress *e)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		fatal("RLIMIT_NOFILE: %s", strerror(errno));
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_cur > FD_WANTED)
		limit.rlim_cur = FD_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		fatal("RLIMIT_NOFILE: %s", strerror(errno));
	if (limit.rlim_cur < 2 * FD_RESERVE)
		fatal("at least %d descriptors are needed (RLIMIT_NOFILE)",
		    2 * FD_RESERVE);
	e->fds_max = limit.rlim_cur - FD_RESERVE;
}

int
main(int argc, char *argv[])
{
	static struct egress egress;

	log_init("egressd", LOGL_INFO);
	check_descriptors();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* is meant for the launcher */
	setproctitle("running");
	read_arguments(argc, argv, &egress);
	raise_descriptors(&egress);
	egress.base = loop_new();
	if (egress.base == NULL || !timers_reserve(egress.base, TIMERS) ||
	    !setup_open(&egress))
		fatal("cannot start");
	egress.launch = launchlink_new(&egress, FD_LAUNCHER);
	if (egress.launch == NULL)
		fatal("no memory");
	egressd_confine();
	if (event_base_dispatch(egress.base) == -1)
		fatal("event loop failed");
	setup_close(&egress);
	event_base_free(egress.base);
	return egress.broken ? 1 : 0;
}
