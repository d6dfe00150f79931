/*
 * browsertaskd of another version, for tests: to it, what it is to take over is
 * of another version than its own. Linked with --wrap in place of carry_read();
 * all else is the real program.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher/carry.h"

bool __real_carry_read(int fd, struct carry *ret, char why[CARRY_WHY_BYTES]);
bool __wrap_carry_read(int fd, struct carry *ret, char why[CARRY_WHY_BYTES]);

bool
__wrap_carry_read(int fd, struct carry *ret, char why[CARRY_WHY_BYTES])
{
	static struct carry c;
	int other = -1;

	if (pread(fd, &c, sizeof(c), 0) != (ssize_t)sizeof(c))
		return false;
	c.version++;
	c.launch_version++;
	return carry_write(&c, &other) == 0 &&
	    __real_carry_read(other, ret, why);
}
