/*
 * relief: one page must not end a whole run. Runs in the cell, when its memory
 * runs short: the renderer that holds most is killed before the limit is
 * reached. The browser then reports a crash of the tabs in that renderer, and
 * the others go on. Never kills anything else: the browser's main process is
 * the run's, and what that uses is for the limit.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cell/proc.h"
#include "cell/relief.h"
#include "cell/sandbox.h"
#include "common/log.h"

#define STATUS_BYTES  8192
#define CMDLINE_BYTES 65536
#define WORTH_PART    16   /* of the limit: less is not worth a page */
#define FREE_MS       5000 /* what a killed renderer may take to be gone */

static uint64_t
memory_of(int dir)
{
	static char status[STATUS_BYTES];
	struct proc_use use = { 0 };

	if (proc_read(dir, "status", status, sizeof(status)) <= 0 ||
	    !proc_parse_status(status, &use))
		return 0;
	return use.memory;
}

static bool
is_renderer(int dir)
{
	static char cmdline[CMDLINE_BYTES];
	ssize_t n = proc_read(dir, "cmdline", cmdline, sizeof(cmdline));

	return n > 0 && sandbox_kind(cmdline, (size_t)n) == SANDBOX_RENDERER;
}

/* The pid of the renderer that holds most, and how much; 0 when there is none. */
static pid_t
largest_renderer(int proc, DIR *list, uint64_t *ret_bytes)
{
	struct dirent *d;
	uint64_t bytes;
	pid_t found = 0;
	int dir;

	*ret_bytes = 0;
	while ((d = readdir(list)) != NULL) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		dir =
		    openat(proc, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir == -1)
			continue;
		bytes = memory_of(dir);
		if (bytes > *ret_bytes && is_renderer(dir)) {
			*ret_bytes = bytes;
			found = (pid_t)strtol(d->d_name, NULL, 10);
		}
		close(dir);
	}
	return found;
}

static bool
victim_holds_memory(int proc, pid_t victim)
{
	char name[16];
	uint64_t bytes;
	int dir;

	snprintf(name, sizeof(name), "%d", (int)victim);
	dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return false;
	bytes = memory_of(dir);
	close(dir);
	return bytes > 0;
}

bool
relief_seek(struct relief *r, uint64_t limit, int64_t now_ms)
{
	DIR *list = opendir("/proc");
	uint64_t bytes;
	bool sought = true;
	pid_t pid;

	if (list == NULL)
		return false;
	if (r->victim == 0 || !victim_holds_memory(dirfd(list), r->victim)) {
		pid = largest_renderer(dirfd(list), list, &bytes);
		sought = pid != 0 && bytes > limit / WORTH_PART &&
		    kill(pid, SIGKILL) == 0;
		if (sought) {
			*r = (struct relief){ pid, now_ms + FREE_MS };
			log_warn("renderer killed: it had %llu MiB of the "
				 "%llu that the run may use",
			    (unsigned long long)(bytes >> 20),
			    (unsigned long long)(limit >> 20));
		}
	} else if (now_ms > r->until_ms)
		sought = false;
	closedir(list);
	return sought;
}
