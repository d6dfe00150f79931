/*
 * hostile: the payload. It is linked into the very objects of a program, in
 * test builds only, and gets its turn where the program would begin to work:
 * arguments, descriptors and confinement are then what they always are.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "t/confine/hostile.h"

static char room[4096] __attribute__((aligned(4096)));
static char page[4096] __attribute__((aligned(4096)));
static char *no_words[] = { NULL };
static const struct sockaddr_un unix_address = { .sun_family = AF_UNIX,
	.sun_path = "/run/x" };

static long
allocate(size_t bytes)
{
	char *p = malloc(bytes);

	if (p == NULL)
		return -1;
	memset(p, 1, bytes);
	free(p);
	return 0;
}

#ifdef __x86_64__
static long
through_i386(long number)
{
	__asm__ volatile("int $0x80" : "+a"(number) : : "memory");
	return number;
}
#endif

/* One function per row, so that each is what the row says. */
#define KILLED(name, what)          \
	static long do_##name(void) \
	{                           \
		return what;        \
	}
#define REFUSED KILLED
#define ALLOWED KILLED
#include "t/confine/attacks.def"
#undef KILLED
#define KILLED(name, what) { #name, do_##name },

static const struct {
	const char *name;
	long (*run)(void);
} attacks[] = {
#include "t/confine/attacks.def"
};

void
hostile_do(const char *name, char *ret_said, size_t size)
{
	long result;

	snprintf(ret_said, size, "did %s: no such attack\n", name);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (strcmp(attacks[i].name, name) != 0)
			continue;
		errno = 0;
		result = attacks[i].run();
		snprintf(
		    ret_said, size, "did %s %ld %d\n", name, result, errno);
		return;
	}
}
