/*
 * trap: in a build with --enable-filter-debug the filter does not kill, it
 * sends SIGSYS; the handler here says which call it was and ends the process.
 * Runs in every program that has a filter; other builds have none of it, since
 * a process that was taken over could take the signal for itself.
 */
#include "config.h"

#include "confine/trap.h"

#ifndef CONFINE_DEBUG

int
trap_set(void)
{
	return 0;
}

#else

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

#define NUMBERS 512

/* Made before: the handler may have come from inside malloc. */
static const char *trap_names[NUMBERS];

static void
trap_on_signal(int sig, siginfo_t *info, void *context)
{
	const char *name = "?";
	char line[160];
	int number = info->si_syscall;

	if (number >= 0 && number < NUMBERS && trap_names[number] != NULL)
		name = trap_names[number];
	snprintf(line, sizeof(line),
	    "<2>%s: the filter forbids system call %d (%s), called at %p\n",
	    log_program(), number, name, info->si_call_addr);
	if (write(STDERR_FILENO, line, strlen(line)) == -1) {
		/* Nobody left to tell. */
	}
	_exit(128 + sig);
}

int
trap_set(void)
{
	struct sigaction action = { .sa_sigaction = trap_on_signal,
		.sa_flags = SA_SIGINFO | SA_NODEFER };
	sigset_t only;

	for (int i = 0; i < NUMBERS; i++)
		if (trap_names[i] == NULL)
			trap_names[i] = seccomp_syscall_resolve_num_arch(
			    seccomp_arch_native(), i);
	sigemptyset(&only);
	sigaddset(&only, SIGSYS);
	if (sigaction(SIGSYS, &action, NULL) == -1 ||
	    sigprocmask(SIG_UNBLOCK, &only, NULL) == -1)
		return errno;
	return 0;
}

#endif
