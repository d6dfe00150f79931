/*
 * confine: the confinement of egressd. Whoever takes it over through a site's
 * or a browser's bytes can connect to where it can, which is bad enough, but
 * can write no file, read only what tells the names of hosts, and start or
 * reach no other process.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/log.h"
#include "confine/confine.h"
#include "confine/rows.h"
#include "egressd/confine.h"

/* The type of a socket, without its flags. */
#define SOCKET_KIND 0xf

static const struct confine_call calls[] = {
#include "egressd/calls.def"
};

static const struct confine_table table = { calls,
	sizeof(calls) / sizeof(calls[0]), CONFINE_KILL };

/*
 * What c-ares reads, at its start, for each name, and when it starts anew; the
 * first two from the launcher's copies once these are there.
 */
static const struct confine_path paths[] = {
	{ "/etc/resolv.conf", CONFINE_MAY_READ },
	{ "/etc/hosts", CONFINE_MAY_READ },
	{ "/etc/host.conf", CONFINE_MAY_READ },
	{ "/etc/nsswitch.conf", CONFINE_MAY_READ },
	{ "/etc/services", CONFINE_MAY_READ },
	{ "/dev/urandom", CONFINE_MAY_READ },
};

static void
confine_files(void)
{
	int abi, error;

	error = confine_paths(
	    paths, sizeof(paths) / sizeof(paths[0]), CONFINE_TCP_CONNECT, &abi);
	if (error == EOPNOTSUPP)
		log_warn("this kernel cannot restrict which files are opened "
			 "(Landlock); only owners and modes do");
	else if (error != 0)
		fatal("cannot restrict itself: %s", strerror(error));
	else
		log_debug("Landlock, version %d", abi);
}

void
egressd_confine(void)
{
	int error;

	confine_files();
	error = confine_limits(CONFINE_NO_PROCESSES);
	if (error != 0)
		fatal("cannot limit itself: %s", strerror(error));
	error = confine_filter(&table);
	if (error != 0)
		fatal("cannot load its filter of system calls: %s",
		    strerror(error));
}
