/*
 * hog: stands in for the browser in tests of limits. Obeys one command of its
 * worker on descriptor 3, which a NUL ends, and wants too much of something:
 *
 *   memory   three processes fill memory of their own
 *   shared   one fills a file in /dev/shm that nobody has mapped
 *   fork     all processes fork as long as they can
 *   spin     two processes compute
 *   store    one fills a file in the profile
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	FD_COMMANDS = 3
};

#define STEP_BYTES (4 << 20)
#define STEP_MS    20

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
	for (;;) {
		void *p = mmap(NULL, STEP_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED)
			memset(p, 1, STEP_BYTES);
		pause_ms(STEP_MS);
	}
}

static void
fill_file(const char *path)
{
	static char bytes[STEP_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	memset(bytes, 1, sizeof(bytes));
	for (;;) {
		if (write(fd, bytes, sizeof(bytes)) == -1)
			pause_ms(1000);
		pause_ms(STEP_MS);
	}
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

int
main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} commands[] = { { "memory", do_memory }, { "shared", do_shared },
		{ "fork", do_fork }, { "spin", do_spin },
		{ "store", do_store } };
	char line[64] = "";

	for (;;) {
		ssize_t n = read(FD_COMMANDS, line, sizeof(line) - 1);

		if (n <= 0)
			return 0;
		line[n] = '\0';
		for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]);
		     i++)
			if (strcmp(line, commands[i].name) == 0)
				commands[i].run();
	}
}
