/*
 * The start of workerd: its arguments and descriptors are those the cell gives,
 * or the process ends. Before the event loop; never later.
 */
#include <sys/stat.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "confine/confine.h"
#include "workerd/start.h"

#define GENERATION_MAX 1000000000LL
#define FDS_LOOKED_AT  1024

void
start_arguments(
    int argc, char **argv, bool *ret_describing, uint32_t *ret_generation)
{
	const char *error = NULL;

	/* As the setting waive says, where no filter can be loaded. */
	if (argc > 1 && strcmp(argv[argc - 1], "--unfiltered") == 0) {
		confine_filter_waive();
		argc--;
	}
	if (argc == 1)
		return;
	if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
		*ret_describing = true;
		return;
	}
	if (argc == 3 && strcmp(argv[1], "--generation") == 0)
		*ret_generation =
		    (uint32_t)strtonum(argv[2], 0, GENERATION_MAX, &error);
	if (argc != 3 || strcmp(argv[1], "--generation") != 0 || error != NULL)
		fatal("usage: workerd [--describe | --generation N] "
		      "[--unfiltered]; the launcher starts it");
}

/* The launcher hands over exactly these; one more would be a leak. */
void
start_check_fds(int needed, int last)
{
	struct stat st;

	for (int fd = 0; fd <= needed; fd++)
		if (fstat(fd, &st) != 0)
			fatal("descriptor %d is not open", fd);
	for (int fd = last + 1; fd < FDS_LOOKED_AT; fd++)
		if (fstat(fd, &st) == 0)
			fatal("descriptor %d should be closed", fd);
}

/* What cannot be written is an error, not our end. */
void
start_ignore_signals(void)
{
	/* To a browser that is gone. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* To a log that is a file: it may not make those any longer. */
	(void)signal(SIGXFSZ, SIG_IGN);
}

/*
 * The browser writes a message and its end apart. A process that is woken
 * between the two takes the processor from the writer, finds half a message
 * and sleeps again: without this, half of all wake-ups.
 */
void
start_let_writer_finish(void)
{
	const struct sched_param param = { 0 };

	(void)sched_setscheduler(0, SCHED_BATCH, &param);
}
