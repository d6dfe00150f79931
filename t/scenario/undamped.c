/*
 * browsertaskd for tests that crash supervisord again and again: it starts it
 * anew at once and never gives up. While the file is there that GAP in its
 * environment names it starts none. Linked with --wrap in place of
 * damping_due_ms() and damping_is_last(); all else is the real program.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher/damping.h"

#define LOOK_MS 20

int64_t __wrap_damping_due_ms(const struct damping *d, int64_t now_ms);
bool __wrap_damping_is_last(const struct damping *d, int64_t now_ms);

int64_t
__wrap_damping_due_ms(const struct damping *d, int64_t now_ms)
{
	const char *gap = getenv("GAP");
	int fd = gap == NULL ? -1 : open(gap, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return 0;
	close(fd);
	return now_ms + LOOK_MS;
}

bool
__wrap_damping_is_last(const struct damping *d, int64_t now_ms)
{
	return false;
}
