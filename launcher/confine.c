/*
 * The confinement of the launcher. What it starts inherits it, and Chromium is
 * among that: so this forbids what nobody needs instead of allowing what
 * somebody does. It stays dumpable: as an ordinary user it has to write into
 * the /proc of its own child, which the kernel would give to root.
 */
#include <errno.h>
#include <sys/resource.h>

#include "confine/confine.h"
#include "confine/rows.h"
#include "launcher/confine.h"

static const struct confine_call calls[] = {
#include "launcher/calls.def"
};

/*
 * file_setattr, of Linux 6.17: what came later nobody has judged here. From 424 on
 * numbers are the same on all machines.
 */
#define NEWEST_CALL 469

int
launcher_confine(void)
{
	const struct confine_table table = { calls,
		sizeof(calls) / sizeof(calls[0]), CONFINE_ALLOW };
	const struct rlimit none = { 0, 0 };
	int error;

	/* Secrets pass through its hands. */
	if (setrlimit(RLIMIT_CORE, &none) == -1)
		return errno;
	error = confine_newest(NEWEST_CALL);
	return error != 0 ? error : confine_filter(&table);
}
