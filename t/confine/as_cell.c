/*
 * as_cell: the cell, whose loop does what the environment names (TZ, the one
 * variable that comes through) before it polls, and says in its log what came of
 * it. Linked with --wrap=poll.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "t/confine/hostile.h"

int __wrap_poll(struct pollfd *, nfds_t, int);

int
__wrap_poll(struct pollfd *p, nfds_t n, int timeout)
{
	const char *name = getenv("TZ");
	char said[256];

	if (name == NULL)
		_exit(2);
	log_info("tries %s", name);
	hostile_do(name, said, sizeof(said));
	log_info("%s", said);
	_exit(0);
}
