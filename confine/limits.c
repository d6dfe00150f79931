/*
 * limits: what no program of ours needs, set to nothing. Runs in every program
 * that confines itself.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "config.h"
#include "confine/confine.h"

int
confine_limits(unsigned int zero)
{
	static const struct {
		unsigned int flag; /* 0: always */
		int resource;
	} rows[] = {
		{ 0, RLIMIT_CORE },
		{ CONFINE_NO_PROCESSES, RLIMIT_NPROC },
		{ CONFINE_NO_GROWTH, RLIMIT_FSIZE },
		{ CONFINE_NO_DESCRIPTORS, RLIMIT_NOFILE },
	};
	const struct rlimit none = { 0, 0 };

	/* A sanitizer has a thread trace its own process at the end. */
	if (confine_absence() != NULL)
		return setrlimit(RLIMIT_CORE, &none) == -1 ? errno : 0;
#ifdef CONFINE_DEBUG
	/* What it has to say may go into a file. */
	zero &= ~(unsigned int)CONFINE_NO_GROWTH;
#endif
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		return errno;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((rows[i].flag & zero) == rows[i].flag &&
		    setrlimit(rows[i].resource, &none) == -1)
			return errno;
	return 0;
}
