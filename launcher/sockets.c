/*
 * sockets: binds or inherits the listening sockets. Runs in the launcher at
 * its start and is kept over restarts of supervisord, which listens and
 * accepts; the launcher never reads a byte from them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launcher/sockets.h"

#define LISTEN_FDS_START 3
#define LISTEN_FDS_MAX   16

/* A number in the environment, -1 when there is none. */
static long long
env_number(const char *name)
{
	const char *v = getenv(name), *wrong;
	long long n;

	if (v == NULL)
		return -1;
	n = strtonum(v, 0, INT_MAX, &wrong);
	return wrong == NULL ? n : -1;
}

static bool
is_stream_socket(int fd)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return false;
	len = sizeof(domain);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1)
		return false;
	return type == SOCK_STREAM && domain == AF_UNIX;
}

/* Sets *ret_inherited; an error is an exit code. */
static int
inherit(struct sockets *s, bool *ret_inherited)
{
	long long n = env_number("LISTEN_FDS");
	const char *value = getenv("LISTEN_FDNAMES");
	char names[1024], *rest = names, *name;

	*ret_inherited = false;
	if (env_number("LISTEN_PID") != getpid() || n <= 0)
		return 0;
	strlcpy(names, value == NULL ? "" : value, sizeof(names));
	for (int fd = LISTEN_FDS_START; fd < LISTEN_FDS_START + n &&
	     fd < LISTEN_FDS_START + LISTEN_FDS_MAX;
	     fd++) {
		name = strsep(&rest, ":");
		fd_set_cloexec(fd, 1);
		if (name == NULL || !is_stream_socket(fd))
			continue;
		if (strcmp(name, "client") == 0)
			s->client_fd = fd;
		else if (strcmp(name, "admin") == 0)
			s->admin_fd = fd;
	}
	if (s->client_fd == -1 || s->admin_fd == -1) {
		log_err("systemd passed no Unix stream sockets named client "
			"and admin: see FileDescriptorName= in the socket "
			"units");
		return EXIT_CANNOT_USE;
	}
	*ret_inherited = s->inherited = true;
	return 0;
}

/*
 * The directory's lock is held, so that a file of this name is of an instance
 * that is gone. Mode 0600, or 0660 with a group (-1: none).
 */
static int
bind_one(const char *dir, const char *name, int64_t gid, int *ret_fd)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	mode_t old;
	int fd, n;

	n = snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(sun.sun_path)) {
		log_err("%s/%s is too long for a socket: name a shorter "
			"directory with -r",
		    dir, name);
		return EXIT_CANNOT_USE;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1) {
		log_err("socket: %s", strerror(errno));
		return EXIT_SYSTEM;
	}
	unlink(sun.sun_path);
	old = umask(0177);
	n = bind(fd, (const struct sockaddr *)&sun, sizeof(sun));
	umask(old);
	if (n == -1 ||
	    (gid != -1 &&
		(lchown(sun.sun_path, (uid_t)-1, (gid_t)gid) == -1 ||
		    chmod(sun.sun_path, 0660) == -1))) {
		log_err("cannot make %s: %s", sun.sun_path, strerror(errno));
		close(fd);
		return EXIT_CANNOT_USE;
	}
	*ret_fd = fd;
	return 0;
}

/* Who may pass through the socket directory: all that may use a socket. */
static int
open_way(const struct dirs *d, const struct settings *set)
{
	int64_t client = settings_gid(set->clientGroup);
	int64_t admin = settings_gid(set->adminGroup);
	int64_t gid = client != -1 ? client : admin;
	/* A directory has one group: for two, the sockets' own modes decide. */
	mode_t mode = gid == -1           ? 0700
	    : admin == -1 || admin == gid ? 0750
					  : 0711;

	/* The old group is let out before another one is let in. */
	if (chmod(d->run, 0700) == -1 ||
	    chown(d->run, (uid_t)-1, gid == -1 ? getegid() : (gid_t)gid) ==
		-1 ||
	    chmod(d->run, mode) == -1)
		return errno;
	return 0;
}

int
sockets_open(struct sockets *s, const struct dirs *d, const struct options *o)
{
	const struct settings *set = &o->settings;
	bool inherited;
	int code, error;

	s->client_fd = s->admin_fd = -1;
	s->inherited = false;
	code = inherit(s, &inherited);
	if (code != 0 || inherited)
		return code;
	code = bind_one(d->run, "client.sock", settings_gid(set->clientGroup),
	    &s->client_fd);
	if (code == 0)
		code = bind_one(d->run, "admin.sock",
		    settings_gid(set->adminGroup), &s->admin_fd);
	if (code != 0)
		return code;
	error = open_way(d, set);
	if (error != 0) {
		log_err(
		    "cannot give %s to its group: %s", d->run, strerror(error));
		return EXIT_CANNOT_USE;
	}
	return 0;
}

static int
regroup_one(const struct dirs *d, const char *name, int64_t gid)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", d->run, name);
	/* The old group is let out before another one is let in. */
	if (chmod(path, 0600) == -1 ||
	    lchown(path, (uid_t)-1, gid == -1 ? getegid() : (gid_t)gid) == -1 ||
	    (gid != -1 && chmod(path, 0660) == -1))
		return errno;
	return 0;
}

int
sockets_regroup(
    const struct sockets *s, const struct dirs *d, const struct settings *set)
{
	int error;

	if (s->inherited)
		return 0;
	error = regroup_one(d, "client.sock", settings_gid(set->clientGroup));
	if (error == 0)
		error =
		    regroup_one(d, "admin.sock", settings_gid(set->adminGroup));
	return error != 0 ? error : open_way(d, set);
}

void
sockets_unlink(const struct sockets *s, const struct dirs *d)
{
	char path[PATH_MAX + 16];

	if (s->inherited)
		return;
	snprintf(path, sizeof(path), "%s/client.sock", d->run);
	unlink(path);
	snprintf(path, sizeof(path), "%s/admin.sock", d->run);
	unlink(path);
}
