/*
 * shim: linked into copies of the programs, t/faults/PROGRAM, where it refuses
 * the n-th call of one kind, once or from then on, as an exhausted machine
 * would; or the n-th of the places that such calls are made from, each being a
 * whole stack of calls. Not preloaded, since a compartment shows no library but the system's;
 * a function of the program is found before those of the C library all the
 * same, by other libraries, too.
 *
 * A test says what to refuse in the file PROGRAM.control beside the program, a
 * struct control that is mapped when the program starts and may be changed
 * while it runs. It may make the disk slow, too. Within a compartment there is no such file: there the struct
 * in the program's own file counts, which a test changes between two runs.
 */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "t/faults/shim.h"

#define PATH_BYTES  512
#define TRACE_DEPTH 24

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

static struct control own = {
	.mark = CONTROL_MARK,
#ifdef __SANITIZE_ADDRESS__
	.lacks = 1u << FAULT_malloc, /* the sanitizer's own */
#endif
};
static struct control *volatile control = &own;
extern char __executable_start[];

static const struct {
	const char *name;
	int error;
} kinds[] = {
#define KIND(name, error) { #name, error },
#include "t/faults/kinds.def"
#undef KIND
};

/* What is behind a function of ours. */
static void *
real(const char *name, void **kept)
{
	if (*kept == NULL)
		*kept = dlsym(RTLD_NEXT, name);
	return *kept;
}

#define REAL(name)                                       \
	__extension__({                                  \
		static void *kept;                       \
		(__typeof__(&(name)))real(#name, &kept); \
	})

struct control *
fault_control(void)
{
	return control;
}

struct stack {
	uintptr_t at[TRACE_DEPTH];
	int depth;
};

static _Unwind_Reason_Code
stack_step(struct _Unwind_Context *context, void *arg)
{
	struct stack *s = arg;

	if (s->depth == TRACE_DEPTH)
		return _URC_END_OF_STACK;
	s->at[s->depth++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void
say(enum fault kind, uint64_t n)
{
	char line[1024];
	struct stack s = { .depth = 0 };
	int len;

	if (control->trace)
		_Unwind_Backtrace(stack_step, &s);
	len = snprintf(line, sizeof(line), "<4>refused: %s %llu",
	    kinds[kind].name, (unsigned long long)n);
	for (int i = 2; i < s.depth && len < (int)sizeof(line) - 32; i++)
		len += snprintf(line + len, sizeof(line) - (size_t)len, " %lx",
		    (unsigned long)(s.at[i] - (uintptr_t)__executable_start));
	line[len++] = '\n';
	(void)REAL(syscall)(SYS_write, 2, line, (size_t)len);
}

/* Whether none was made from here before. */
static bool
site_is_new(struct control *c)
{
	struct stack s = { .depth = 0 };
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	_Unwind_Backtrace(stack_step, &s);
	for (int i = 0; i < s.depth; i++)
		hash = (hash ^ s.at[i]) * UINT64_C(0x100000001b3);
	hash |= 1;
	for (size_t i = 0; i < FAULT_SITES; i++) {
		uint64_t *site = &c->sites[(hash / 2 + i) % FAULT_SITES];

		if (*site == hash)
			return false;
		if (*site != 0)
			continue;
		*site = hash;
		return true;
	}
	return false;
}

/* Whether it is this call's turn; counts it. */
static bool
is_due(struct control *c, uint64_t nth)
{
	uint64_t n;

	if (c->by_site && !site_is_new(c))
		return c->for_ever && c->refused > 0;
	n = __atomic_add_fetch(&c->seen, 1, __ATOMIC_RELAXED);
	return n == nth || (n > nth && c->for_ever);
}

/* Whether this call is refused; errno says why, then. */
static bool
refused(enum fault kind)
{
	struct control *c = control;
	uint64_t nth = __atomic_load_n(&c->nth, __ATOMIC_RELAXED);
	static _Thread_local bool within;
	bool due;

	if (nth == 0 || c->kind != (uint32_t)kind || within)
		return false;
	within = true; /* what is called from here */
	due = is_due(c, nth);
	if (due && __atomic_fetch_add(&c->refused, 1, __ATOMIC_RELAXED) == 0)
		say(kind, c->seen);
	within = false;
	if (due)
		errno = kinds[kind].error;
	return due;
}

/*
 * Where libseccomp is: it cannot do without memory. confine/filter.c sees before
 * that there is some, and there it is refused.
 */
static struct {
	uintptr_t from, to;
} spared;

static int
find_spared(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (strstr(info->dlpi_name, "/libseccomp.so") == NULL)
		return 0;
	spared.from = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t end = info->dlpi_addr + p->p_vaddr + p->p_memsz;

		if (p->p_type == PT_LOAD && end > spared.to)
			spared.to = end;
	}
	return 1;
}

static void __attribute__((constructor)) find_control(void)
{
	char path[PATH_BYTES];
	struct stack s = { .depth = 0 };
	void *map;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	int fd;

	if (n > 0) {
		memcpy(path + n, ".control", sizeof(".control"));
		fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
		if (fd != -1) {
			map = REAL(mmap)(NULL, sizeof(own),
			    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
			if (map != MAP_FAILED)
				control = map;
		}
	}
	dl_iterate_phdr(find_spared, NULL);
	_Unwind_Backtrace(stack_step, &s); /* no filter forbids the first one */
}

/* Memory. */

#ifndef __SANITIZE_ADDRESS__
static bool
malloc_refused(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	return (at < spared.from || at >= spared.to) && refused(FAULT_malloc);
}

#define CALLER_REFUSED malloc_refused(__builtin_return_address(0))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void *
malloc(size_t size)
{
	return CALLER_REFUSED ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return CALLER_REFUSED ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
	return CALLER_REFUSED ? NULL : __libc_realloc(old, size);
}

void *
reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}
#endif

void *
mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (refused(FAULT_mmap))
		return MAP_FAILED;
	return REAL(mmap)(at, size, prot, flags, fd, offset);
}

void *
mremap(void *at, size_t old, size_t size, int flags, ...)
{
	va_list ap;
	void *to;

	va_start(ap, flags);
	to = (flags & MREMAP_FIXED) != 0 ? va_arg(ap, void *) : NULL;
	va_end(ap);
	if (refused(FAULT_mmap))
		return MAP_FAILED;
	return REAL(mremap)(at, old, size, flags, to);
}

/* Files. */

#define MODE_OF(flags)                                        \
	__extension__({                                       \
		va_list ap;                                   \
		mode_t mode_ = 0;                             \
		va_start(ap, flags);                          \
		if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) \
			mode_ = va_arg(ap, mode_t);           \
		va_end(ap);                                   \
		mode_;                                        \
	})

int
open(const char *path, int flags, ...)
{
	mode_t mode = MODE_OF(flags);

	return refused(FAULT_open) ? -1 : REAL(open)(path, flags, mode);
}

int
openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = MODE_OF(flags);

	return refused(FAULT_open) ? -1 : REAL(openat)(dir, path, flags, mode);
}

/* What the headers make of the two when they check arguments. */
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

int
__open_2(const char *path, int flags)
{
	return open(path, flags);
}

int
__openat_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags);
}

FILE *
fopen(const char *path, const char *mode)
{
	return refused(FAULT_open) ? NULL : REAL(fopen)(path, mode);
}

DIR *
opendir(const char *path)
{
	return refused(FAULT_open) ? NULL : REAL(opendir)(path);
}

/* A full disk stops only what goes there. */
static bool
write_refused(int fd)
{
	struct control *c = control;
	struct stat st;

	if (c->nth == 0 || (c->kind != FAULT_write && c->kind != FAULT_send) ||
	    fd == STDERR_FILENO || fstat(fd, &st) == -1)
		return false;
	if (S_ISREG(st.st_mode))
		return refused(FAULT_write);
	return S_ISSOCK(st.st_mode) && refused(FAULT_send);
}

ssize_t
write(int fd, const void *bytes, size_t n)
{
	return write_refused(fd) ? -1 : REAL(write)(fd, bytes, n);
}

/* A call that no filter of a program with a disk forbids. */
static void
sync_wait(void)
{
	uint32_t us = control->sync_us;
	struct timespec ts = { .tv_sec = us / 1000000,
		.tv_nsec = (long)(us % 1000000) * 1000 };
	uint32_t never = 0;
	int sys = errno;

	if (us != 0)
		(void)REAL(syscall)(
		    SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
	errno = sys;
}

static bool
syncs(int fd)
{
	return control->sync_us != 0 &&
	    (REAL(fcntl)(fd, F_GETFL, 0) & O_DSYNC) != 0;
}

ssize_t
pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
	if (syncs(fd))
		sync_wait();
	return write_refused(fd) ? -1 : REAL(pwrite)(fd, bytes, n, offset);
}

ssize_t
writev(int fd, const struct iovec *v, int n)
{
	return write_refused(fd) ? -1 : REAL(writev)(fd, v, n);
}

ssize_t
pwritev(int fd, const struct iovec *v, int n, off_t offset)
{
	return write_refused(fd) ? -1 : REAL(pwritev)(fd, v, n, offset);
}

int
fsync(int fd)
{
	sync_wait();
	return refused(FAULT_sync) ? -1 : REAL(fsync)(fd);
}

int
fdatasync(int fd)
{
	sync_wait();
	return refused(FAULT_sync) ? -1 : REAL(fdatasync)(fd);
}

int
msync(void *at, size_t n, int flags)
{
	sync_wait();
	return refused(FAULT_sync) ? -1 : REAL(msync)(at, n, flags);
}

int
ftruncate(int fd, off_t size)
{
	return refused(FAULT_truncate) ? -1 : REAL(ftruncate)(fd, size);
}

int
fallocate(int fd, int mode, off_t offset, off_t size)
{
	return refused(FAULT_truncate)
	    ? -1
	    : REAL(fallocate)(fd, mode, offset, size);
}

int
posix_fallocate(int fd, off_t offset, off_t size)
{
	return refused(FAULT_truncate)
	    ? ENOSPC
	    : REAL(posix_fallocate)(fd, offset, size);
}

/* On a network volume a name is gone when the other end has synced that. */
int
unlinkat(int dir, const char *path, int flags)
{
	sync_wait();
	return REAL(unlinkat)(dir, path, flags);
}

int
rename(const char *from, const char *to)
{
	return refused(FAULT_rename) ? -1 : REAL(rename)(from, to);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return refused(FAULT_rename)
	    ? -1
	    : REAL(renameat)(from_dir, from, to_dir, to);
}

int
mkdir(const char *path, mode_t mode)
{
	return refused(FAULT_mkdir) ? -1 : REAL(mkdir)(path, mode);
}

int
mkdirat(int dir, const char *path, mode_t mode)
{
	return refused(FAULT_mkdir) ? -1 : REAL(mkdirat)(dir, path, mode);
}

/* Processes. */

pid_t
fork(void)
{
	return refused(FAULT_clone) ? -1 : REAL(fork)();
}

/*
 * clone3() has no function in the C library. More is read here than callers
 * have passed, which is no fault, as a sanitizer would have it.
 */
__attribute__((no_sanitize("address"))) long
syscall(long number, ...)
{
	va_list ap;
	long a[6];

	va_start(ap, number);
	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_clone3 && refused(FAULT_clone))
		return -1;
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Descriptors that are no files. */

int
socket(int domain, int type, int protocol)
{
	return refused(FAULT_socket) ? -1
				     : REAL(socket)(domain, type, protocol);
}

int
socketpair(int domain, int type, int protocol, int fds[2])
{
	return refused(FAULT_socket)
	    ? -1
	    : REAL(socketpair)(domain, type, protocol, fds);
}

int
pipe2(int fds[2], int flags)
{
	return refused(FAULT_socket) ? -1 : REAL(pipe2)(fds, flags);
}

int
memfd_create(const char *name, unsigned int flags)
{
	return refused(FAULT_socket) ? -1 : REAL(memfd_create)(name, flags);
}

int
eventfd(unsigned int count, int flags)
{
	return refused(FAULT_socket) ? -1 : REAL(eventfd)(count, flags);
}

int
accept(int fd, struct sockaddr *address, socklen_t *len)
{
	return refused(FAULT_accept) ? -1 : REAL(accept)(fd, address, len);
}

int
accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	return refused(FAULT_accept) ? -1
				     : REAL(accept4)(fd, address, len, flags);
}

int
epoll_create1(int flags)
{
	return refused(FAULT_epoll) ? -1 : REAL(epoll_create1)(flags);
}

/* To give up interest needs nothing. */
int
epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	if (op != EPOLL_CTL_DEL && refused(FAULT_epoll))
		return -1;
	return REAL(epoll_ctl)(set, op, fd, event);
}

int
dup(int fd)
{
	return refused(FAULT_dup) ? -1 : REAL(dup)(fd);
}

int
dup2(int fd, int to)
{
	return refused(FAULT_dup) ? -1 : REAL(dup2)(fd, to);
}

int
fcntl(int fd, int command, ...)
{
	va_list ap;
	long argument;

	va_start(ap, command);
	argument = va_arg(ap, long);
	va_end(ap);
	if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) &&
	    refused(FAULT_dup))
		return -1;
	return REAL(fcntl)(fd, command, argument);
}

ssize_t
send(int fd, const void *bytes, size_t n, int flags)
{
	return refused(FAULT_send) ? -1 : REAL(send)(fd, bytes, n, flags);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	return refused(FAULT_send) ? -1 : REAL(sendmsg)(fd, message, flags);
}
