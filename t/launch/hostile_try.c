/*
 * hostile_try: what t/launch/hostile tries, one function for each kind of
 * attempt. They take one or two words and return 0 if they had success, which
 * is bad news, or an errno value.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <linux/vm_sockets.h>
#include <mntent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/launch/hostile_try.h"

#define WAIT_MS 500

typedef int attempt(const char *a, const char *b);

static int
done(long result)
{
	return result == -1 ? errno : 0;
}

static int
done_fd(int fd)
{
	return done(fd);
}

static pid_t
number(const char *text)
{
	return (pid_t)strtol(text, NULL, 10);
}

static int
try_read(const char *path, const char *b)
{
	char byte;
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd == -1 ? -1 : read(fd, &byte, 1);
	int result = n == 0 ? ENODATA : done(n);

	if (fd != -1)
		close(fd);
	return result;
}

static int
try_list(const char *path, const char *b)
{
	return done_fd(open(path, O_RDONLY | O_DIRECTORY));
}

static int
try_stat(const char *path, const char *b)
{
	struct stat st;

	return done(lstat(path, &st));
}

static int
try_write(const char *path, const char *b)
{
	return done_fd(open(path, O_WRONLY | O_NONBLOCK));
}

static int
try_create(const char *path, const char *b)
{
	return done_fd(open(path, O_WRONLY | O_CREAT, 0600));
}

static int
try_mkdir(const char *path, const char *b)
{
	return done(mkdir(path, 0700));
}

static int
try_unlink(const char *path, const char *b)
{
	return done(unlink(path));
}

static int
try_chmod(const char *path, const char *b)
{
	return done(chmod(path, 0777));
}

static int
try_mknod(const char *path, const char *b)
{
	return done(mknod(path, S_IFBLK | 0600, 0xfe00));
}

static int
try_kill(const char *pid, const char *sig)
{
	return done(kill(number(pid), number(sig)));
}

static int
try_pidfd(const char *pid, const char *sig)
{
	int fd = pidfd_open(number(pid), 0);

	return fd == -1 ? errno
			: done(pidfd_send_signal(fd, number(sig), NULL, 0));
}

static int
try_getfd(const char *pid, const char *target)
{
	int fd = pidfd_open(number(pid), 0);

	return fd == -1 ? errno : done(pidfd_getfd(fd, number(target), 0));
}

static int
try_attach(const char *pid, const char *b)
{
	return done(ptrace(PTRACE_ATTACH, number(pid), NULL, NULL));
}

static int
try_seize(const char *pid, const char *b)
{
	return done(ptrace(PTRACE_SEIZE, number(pid), NULL, NULL));
}

static int
try_vm(const char *pid, const char *how)
{
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };

	return done(how[0] == 'r'
		? process_vm_readv(number(pid), &here, 1, &there, 1, 0)
		: process_vm_writev(number(pid), &here, 1, &there, 1, 0));
}

/* What it has already: the permission is the same for all limits. */
static int
try_prlimit(const char *pid, const char *b)
{
	const struct rlimit none = { 0, 0 };

	return done(prlimit(number(pid), RLIMIT_CORE, &none, NULL));
}

static int
try_priority(const char *pid, const char *b)
{
	return done(setpriority(PRIO_PROCESS, (id_t)number(pid), 19));
}

static int
try_affinity(const char *pid, const char *b)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return done(sched_setaffinity(number(pid), sizeof(set), &set));
}

static int
try_uid(const char *uid, const char *b)
{
	uid_t id = (uid_t)number(uid);

	return done(setresuid(id, id, id));
}

static int
try_gid(const char *gid, const char *b)
{
	gid_t id = (gid_t)number(gid);

	return done(setresgid(id, id, id));
}

static int
try_groups(const char *gid, const char *b)
{
	gid_t id = (gid_t)number(gid);

	return done(setgroups(1, &id));
}

static int
try_caps(const char *a, const char *b)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = 1U << CAP_SYS_ADMIN;
	return done(syscall(SYS_capset, &head, data));
}

/* A program that would run as somebody else, if that were heeded. */
static int
try_setuid_program(const char *path, const char *b)
{
	struct statvfs st;

	if (statvfs(path, &st) == -1)
		return errno;
	return (st.f_flag & ST_NOSUID) != 0 ? EPERM : 0;
}

static int
try_mount(const char *from, const char *to)
{
	return done(mount(from, to, NULL, MS_BIND | MS_REC, NULL));
}

static int
try_mount_type(const char *type, const char *to)
{
	return done(mount(type, to, type, 0, NULL));
}

static int
try_device(const char *device, const char *to)
{
	return done(mount(device, to, "ext4", 0, NULL));
}

/* Writable, set-uid and devices, whatever it is now. */
static int
try_remount(const char *path, const char *b)
{
	return done(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int
try_umount(const char *path, const char *b)
{
	return done(umount2(path, MNT_DETACH));
}

/* Directory and place of the old root are one: it can be taken off again. */
static int
try_pivot(const char *path, const char *b)
{
	if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) == -1 ||
	    chdir(path) == -1 || syscall(SYS_pivot_root, ".", ".") == -1)
		return errno;
	/* What is beneath the root that we were given? */
	return done(umount2(".", MNT_DETACH)) == 0 &&
		umount2("/", MNT_DETACH) == 0
	    ? 0
	    : EINVAL;
}

/* The well-known way out of a chroot. */
static int
try_chroot(const char *path, const char *seen)
{
	struct stat st;

	if ((mkdir(path, 0700) == -1 && errno != EEXIST) || chroot(path) == -1)
		return errno;
	for (int i = 0; i < 64; i++)
		if (chdir("..") == -1)
			return errno;
	if (chroot(".") == -1)
		return errno;
	return done(stat(seen, &st));
}

static int
try_setns(const char *path, const char *b)
{
	int fd = open(path, O_RDONLY);

	return fd == -1 ? errno : done(setns(fd, 0));
}

static int
try_handle(const char *path, const char *b)
{
	struct {
		struct file_handle head;
		unsigned char bytes[128];
	} h = { .head.handle_bytes = 128 };
	int id, at;

	if (name_to_handle_at(AT_FDCWD, path, &h.head, &id, 0) == -1)
		return errno;
	at = open(path, O_RDONLY);
	return done_fd(open_by_handle_at(at, &h.head, O_RDONLY));
}

static int
try_unix(const char *path, const char *b)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return done(connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

static int
try_abstract(const char *name, const char *b)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", name);
	return done(connect(fd, (struct sockaddr *)&to,
	    (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name))));
}

static int
finish_connect(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	if (errno != EINPROGRESS)
		return errno;
	if (poll(&p, 1, WAIT_MS) <= 0)
		return ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static int
try_inet(int type, const char *address, const char *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
		.sin6_port = htons((in_port_t)number(port)) };
	struct sockaddr_in four = { .sin_family = AF_INET,
		.sin_port = htons((in_port_t)number(port)) };
	bool is_six = strchr(address, ':') != NULL;
	int fd, result;

	if (inet_pton(is_six ? AF_INET6 : AF_INET, address,
		is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr) != 1)
		return EINVAL;
	fd = socket(is_six ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return errno;
	result = is_six ? connect(fd, (struct sockaddr *)&six, sizeof(six))
			: connect(fd, (struct sockaddr *)&four, sizeof(four));
	if (result == -1)
		return finish_connect(fd);
	return type == SOCK_DGRAM ? done(send(fd, "x", 1, 0)) : 0;
}

static int
try_tcp(const char *address, const char *port)
{
	return try_inet(SOCK_STREAM, address, port);
}

static int
try_udp(const char *address, const char *port)
{
	return try_inet(SOCK_DGRAM, address, port);
}

static int
try_raw(const char *a, const char *b)
{
	return done_fd(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static int
try_packet(const char *a, const char *b)
{
	return done_fd(socket(AF_PACKET, SOCK_RAW, 0));
}

/* Of a family of netlink: its number. */
static int
try_netlink(const char *family, const char *b)
{
	return done_fd(socket(AF_NETLINK, SOCK_RAW, number(family)));
}

static int
try_pair(const char *family, const char *type)
{
	int fds[2];

	return done(socketpair(number(family), number(type), 0, fds));
}

/* To the machine that this one is a guest of, or back to this one. */
static int
try_vsock(const char *cid, const char *port)
{
	struct sockaddr_vm to = { .svm_family = AF_VSOCK,
		.svm_cid = (unsigned int)number(cid),
		.svm_port = (unsigned int)number(port) };
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1)
		return finish_connect(fd);
	return 0;
}

/* A level, and the number of an option. */
static int
try_sockopt(const char *level, const char *name)
{
	int family = number(level) == SOL_IPV6 ? AF_INET6 : AF_INET;
	int fd = socket(family, SOCK_DGRAM, 0);
	char text[256];
	socklen_t len = sizeof(text);

	return fd == -1
	    ? errno
	    : done(getsockopt(fd, number(level), number(name), text, &len));
}

static int
try_syscall(const char *nr, const char *b)
{
	return done(syscall(strtol(nr, NULL, 10), 0, 0, 0, 0, 0));
}

static int
try_hostname(const char *name, const char *b)
{
	return done(sethostname(name, strlen(name)));
}

static const struct {
	const char *name;
	attempt *run;
} attempts[] = {
	{ "abstract", try_abstract },
	{ "affinity", try_affinity },
	{ "attach", try_attach },
	{ "caps", try_caps },
	{ "chmod", try_chmod },
	{ "chroot", try_chroot },
	{ "create", try_create },
	{ "device", try_device },
	{ "getfd", try_getfd },
	{ "gid", try_gid },
	{ "groups", try_groups },
	{ "handle", try_handle },
	{ "hostname", try_hostname },
	{ "kill", try_kill },
	{ "list", try_list },
	{ "mkdir", try_mkdir },
	{ "mknod", try_mknod },
	{ "mount", try_mount },
	{ "mounttype", try_mount_type },
	{ "netlink", try_netlink },
	{ "packet", try_packet },
	{ "pair", try_pair },
	{ "pidfd", try_pidfd },
	{ "pivot", try_pivot },
	{ "priority", try_priority },
	{ "prlimit", try_prlimit },
	{ "raw", try_raw },
	{ "read", try_read },
	{ "remount", try_remount },
	{ "seize", try_seize },
	{ "setns", try_setns },
	{ "setuid", try_setuid_program },
	{ "sockopt", try_sockopt },
	{ "stat", try_stat },
	{ "syscall", try_syscall },
	{ "tcp", try_tcp },
	{ "udp", try_udp },
	{ "uid", try_uid },
	{ "umount", try_umount },
	{ "unix", try_unix },
	{ "unlink", try_unlink },
	{ "vm", try_vm },
	{ "vsock", try_vsock },
	{ "write", try_write },
};

int
hostile_try(const char *what, const char *a, const char *b)
{
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		if (strcmp(attempts[i].name, what) == 0)
			return attempts[i].run(a, b);
	return HOSTILE_UNKNOWN;
}
