/*
 * carry: writes and reads what one launcher hands to the next. Runs in the
 * launcher. What is read was written by this very process under an older
 * program, and is yet looked at: to go on with half of it would be worse than
 * not to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "launcher/carry.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void
carry_init(struct carry *c)
{
	memset(c, 0, sizeof(*c));
	c->magic = CARRY_MAGIC;
	c->version = CARRY_VERSION;
	c->launch_version = LAUNCH_VERSION;
	c->bytes = sizeof(*c);
	c->state_fd = c->kept_fd = c->lock_fd = c->run_lock_fd = -1;
	c->uid_lock_fd = c->client_fd = c->admin_fd = -1;
	c->groups_dir = c->groups_changes = -1;
	c->egressd_pidfd = c->egressd_sock = c->inspect_pidfd = -1;
}

int
carry_write(const struct carry *c, int *ret_fd)
{
	int fd = memfd_create("carry", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (fd == -1)
		return errno;
	error = fd_write_all(fd, c, sizeof(*c));
	if (error == 0 && fcntl(fd, F_ADD_SEALS, ALL_SEALS) == -1)
		error = errno;
	if (error != 0)
		close(fd);
	else
		*ret_fd = fd;
	return error;
}

/* Calls back with each descriptor, -1 for those that are not there. */
static void
each_fd(const struct carry *c, void (*fn)(void *arg, int fd), void *arg)
{
	const int fds[] = { c->state_fd, c->kept_fd, c->lock_fd, c->run_lock_fd,
		c->uid_lock_fd, c->client_fd, c->admin_fd, c->groups_dir,
		c->groups_changes, c->egressd_pidfd, c->egressd_sock,
		c->inspect_pidfd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fn(arg, fds[i]);
	for (uint32_t i = 0; i < c->ncells; i++) {
		const struct carry_cell *cell = &c->cells[i];

		fn(arg, cell->pidfd);
		fn(arg, cell->sock);
		fn(arg, cell->ipc);
		fn(arg, cell->log);
		fn(arg, cell->listener);
		fn(arg, cell->group.dir);
	}
	for (uint32_t i = 0; i < c->nsecrets; i++)
		fn(arg, c->secrets[i].fd);
}

static void
look_open(void *arg, int fd)
{
	bool *good = arg;

	if (fd != -1 && (fd <= STDERR_FILENO || fcntl(fd, F_GETFD) == -1))
		*good = false;
}

static bool
terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool
good_cell(const struct carry_cell *c)
{
	return (c->flags & ~(unsigned int)CARRY__ALL) == 0 && c->pid > 1 &&
	    c->pidfd != -1 && c->sock != -1 && c->ipc != -1 && c->log != -1 &&
	    c->browser < LAUNCH_BROWSER__MAX &&
	    c->spawn.worker_slot < LAUNCH_WORKER_SLOTS &&
	    c->spawn.browser_slot < LAUNCH_BROWSER_SLOTS &&
	    terminated(c->spawn.name, sizeof(c->spawn.name)) &&
	    terminated(c->spawn.profile, sizeof(c->spawn.profile)) &&
	    terminated(c->group.name, sizeof(c->group.name));
}

static bool
good_whole(const struct carry *c)
{
	bool good = c->ncells <= LAUNCH_WORKER_SLOTS &&
	    c->nsecrets <= LAUNCH_SECRETS_MAX && c->state_fd != -1 &&
	    c->kept_fd != -1 && c->lock_fd != -1 && c->run_lock_fd != -1 &&
	    c->client_fd != -1 && c->admin_fd != -1 &&
	    (c->egressd == 0 || c->egressd_pidfd != -1) &&
	    (c->inspect == 0 || c->inspect_pidfd != -1) &&
	    terminated(c->state, sizeof(c->state)) &&
	    terminated(c->run, sizeof(c->run)) &&
	    terminated(c->groups_why, sizeof(c->groups_why));

	for (uint32_t i = 0; good && i < c->ncells; i++)
		good = good_cell(&c->cells[i]);
	for (uint32_t i = 0; good && i < c->nsecrets; i++)
		good = c->secrets[i].fd != -1;
	if (good)
		each_fd(c, look_open, &good);
	return good;
}

bool
carry_read(int fd, struct carry *ret_carry, char ret_why[CARRY_WHY_BYTES])
{
	static struct carry c; /* it is large */
	int seals = fcntl(fd, F_GET_SEALS);
	ssize_t n;

	if (seals == -1 || (seals & ALL_SEALS) != ALL_SEALS) {
		strlcpy(ret_why, "it is no sealed memory", CARRY_WHY_BYTES);
		return false;
	}
	memset(&c, 0, sizeof(c));
	n = pread(fd, &c, sizeof(c), 0);
	if (n < (ssize_t)offsetof(struct carry, bytes) ||
	    c.magic != CARRY_MAGIC) {
		strlcpy(
		    ret_why, "it is none of browsertaskd's", CARRY_WHY_BYTES);
		return false;
	}
	if (c.version != CARRY_VERSION || c.launch_version != LAUNCH_VERSION ||
	    c.bytes != sizeof(c)) {
		snprintf(ret_why, CARRY_WHY_BYTES,
		    "it is of version %u with cells of version %u, the program "
		    "on the disk takes %u and %u; stop and start the service "
		    "for it (systemctl restart browsertaskd): active runs are "
		    "treated as after a crash then",
		    c.version, c.launch_version, CARRY_VERSION, LAUNCH_VERSION);
		return false;
	}
	if (n != (ssize_t)sizeof(c) || !good_whole(&c)) {
		strlcpy(ret_why, "it is not whole", CARRY_WHY_BYTES);
		return false;
	}
	*ret_carry = c;
	return true;
}

static void
set_open(void *arg, int fd)
{
	const bool *open = arg;

	if (fd != -1)
		fd_set_cloexec(fd, !*open);
}

void
carry_keep_open(const struct carry *c, bool open)
{
	each_fd(c, set_open, &open);
}
