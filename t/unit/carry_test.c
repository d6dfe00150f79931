/* What one launcher hands to the next: whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdio.h"
#include "launcher/carry.h"
#include "t/unit/tap.h"

static struct carry carry, back;

/* All that a launcher has, with one cell and one secret. */
static void
fill(void)
{
	static int fd = -1;

	if (fd == -1)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	carry_init(&carry);
	strlcpy(carry.state, "/state", sizeof(carry.state));
	carry.state_fd = carry.kept_fd = carry.lock_fd = carry.run_lock_fd = fd;
	carry.client_fd = carry.admin_fd = fd;
	carry.ncells = 1;
	carry.cells[0].id = 7;
	carry.cells[0].pid = getpid();
	carry.cells[0].pidfd = carry.cells[0].sock = fd;
	carry.cells[0].ipc = carry.cells[0].log = fd;
	carry.cells[0].listener = carry.cells[0].group.dir = -1;
	carry.nsecrets = 1;
	carry.secrets[0].fd = fd;
}

/* What becomes of it; seals and bytes as they are wanted. */
static bool
survives(size_t bytes, unsigned int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char why[CARRY_WHY_BYTES] = "";
	bool good;

	if (fd == -1 || fd_write_all(fd, &carry, bytes) != 0 ||
	    fcntl(fd, F_ADD_SEALS, seals) == -1)
		abort();
	memset(&back, 0x5a, sizeof(back));
	good = carry_read(fd, &back, why);
	if (!good && (why[0] == '\0' || *(uint8_t *)&back != 0x5a))
		abort();
	close(fd);
	return good;
}

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static bool
whole(void)
{
	return survives(sizeof(carry), SEALS);
}

static void
test_round(void)
{
	char why[CARRY_WHY_BYTES];
	int fd = -1;

	fill();
	is_int(carry_write(&carry, &fd), 0, "written");
	ok(fcntl(fd, F_GETFD) == FD_CLOEXEC, "it stays here until it is meant");
	ok(carry_read(fd, &back, why), "read");
	ok(memcmp(&carry, &back, sizeof(carry)) == 0, "as it was");
	is_int(write(fd, "x", 1), -1, "and cannot be changed");
	close(fd);
	carry_keep_open(&carry, true);
	is_int(fcntl(carry.lock_fd, F_GETFD), 0, "it stays open over an exec");
	carry_keep_open(&carry, false);
	is_int(fcntl(carry.lock_fd, F_GETFD), FD_CLOEXEC, "or does not");
}

static void
test_refused(void)
{
	int refused = 0, tried = 0;
	size_t len;

	fill();
	for (len = 0; len < sizeof(carry); len += len < 4096 ? 1 : 509) {
		tried++;
		refused += !survives(len, SEALS);
	}
	is_int(refused, tried, "what was cut off is refused");
	ok(!survives(sizeof(carry), F_SEAL_SEAL), "so is what can be changed");
	carry.magic++;
	ok(!whole(), "another's");
	fill();
	carry.version++;
	ok(!whole(), "another version");
	fill();
	carry.launch_version++;
	ok(!whole(), "cells that speak otherwise");
	fill();
	carry.bytes++;
	ok(!whole(), "another layout");
}

static void
test_fields(void)
{
	const int gone = 900;

	fill();
	carry.lock_fd = gone;
	ok(!whole(), "a descriptor that is not open");
	fill();
	carry.cells[0].log = gone;
	ok(!whole(), "nor that of a cell");
	fill();
	carry.secrets[0].fd = -1;
	ok(!whole(), "a secret without one");
	fill();
	carry.cells[0].sock = -1;
	ok(!whole(), "a cell without a link");
	fill();
	carry.admin_fd = STDERR_FILENO;
	ok(!whole(), "a standard one");
	fill();
	carry.ncells = LAUNCH_WORKER_SLOTS + 1;
	ok(!whole(), "more cells than there can be");
	fill();
	carry.nsecrets = UINT32_MAX;
	ok(!whole(), "more secrets");
	fill();
	carry.cells[0].pid = 0;
	ok(!whole(), "a cell that is no process");
	fill();
	carry.cells[0].flags = UINT32_MAX;
	ok(!whole(), "unknown flags");
	fill();
	memset(carry.state, 'x', sizeof(carry.state));
	ok(!whole(), "an endless directory");
	fill();
	memset(carry.cells[0].spawn.profile, 'x',
	    sizeof(carry.cells[0].spawn.profile));
	ok(!whole(), "an endless name");
	fill();
	ok(whole(), "all of it");
}

int
main(void)
{
	test_round();
	test_refused();
	test_fields();
	return done_testing();
}
