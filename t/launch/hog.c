/*
 * hog: stands in for the browser in tests of limits. Obeys its first argument
 * or one command of its worker on descriptor 3, which a NUL ends, and wants too
 * much of something:
 *
 *   memory   three processes fill memory of their own
 *   shared   one fills a file in /dev/shm that nobody has mapped
 *   fork     all processes fork as long as they can
 *   spin     two processes compute
 *   flicker  short-lived ones compute, and nobody waits for them
 *   store    one fills a file in the profile
 *
 * What is stored stops somewhere, beyond all limits of what it is: who looks
 * late shall find no other limit passed, and the machine have some left.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	FD_COMMANDS = 3
};

#define STEP_BYTES (4 << 20)
#define STEP_MS    20
#define STEPS      100

static void
pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

static void
do_memory(void)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			break;
	for (int i = 0; i < STEPS; i++) {
		void *p = mmap(NULL, STEP_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED)
			memset(p, 1, STEP_BYTES);
		pause_ms(STEP_MS);
	}
	pause_ms(-1);
}

static void
fill_file(const char *path)
{
	static char bytes[STEP_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	memset(bytes, 1, sizeof(bytes));
	for (int i = 0; i < STEPS; i++) {
		if (write(fd, bytes, sizeof(bytes)) == -1)
			pause_ms(1000);
		pause_ms(STEP_MS);
	}
	pause_ms(-1);
}

static void
do_shared(void)
{
	fill_file("/dev/shm/hog");
}

static void
do_store(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/hog", getenv("HOME"));
	fill_file(path);
}

static void
do_fork(void)
{
	for (;;)
		if (fork() == -1)
			pause_ms(STEP_MS);
}

static void
do_spin(void)
{
	volatile unsigned int n = 0;

	if (fork() == -1)
		exit(1);
	for (;;)
		n++;
}

static void
burn_ms(long ms)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < ms * 1000000);
}

static void
do_flicker(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		if (fork() == 0) {
			burn_ms(30);
			_exit(0);
		}
		/* Until none is left; the kernel tells nothing of it. */
		wait(NULL);
	}
}

/* Does not return when there is such a command. */
static void
obey(const char *name)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} commands[] = { { "memory", do_memory }, { "shared", do_shared },
		{ "fork", do_fork }, { "spin", do_spin },
		{ "flicker", do_flicker }, { "store", do_store } };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(name, commands[i].name) == 0)
			commands[i].run();
}

int
main(int argc, char *argv[])
{
	char line[64] = "";

	if (argc > 1)
		obey(argv[1]);
	for (;;) {
		ssize_t n = read(FD_COMMANDS, line, sizeof(line) - 1);

		if (n <= 0)
			return 0;
		line[n] = '\0';
		obey(line);
	}
}
