/*
 * filter: turns a table into a seccomp filter and loads it. Runs in every
 * program that has a table; must never let a row pass that it does not
 * understand.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "confine/confine.h"
#include "confine/trap.h"

#ifdef CONFINE_DEBUG
#define ACTION_KILL SCMP_ACT_TRAP
#else
#define ACTION_KILL SCMP_ACT_KILL_PROCESS
#endif

/* Below what glibc would map by itself, and give back at once. */
#define FILTER_ROOM (112 * 1024)

static bool filter_waived;

static uint32_t
filter_action(enum confine_answer answer)
{
	switch (answer) {
	case CONFINE_ALLOW:
		return SCMP_ACT_ALLOW;
	case CONFINE_REFUSE:
		return SCMP_ACT_ERRNO(EACCES);
	case CONFINE_ABSENT:
		return SCMP_ACT_ERRNO(ENOSYS);
	default:
		return ACTION_KILL;
	}
}

static struct scmp_arg_cmp
filter_compare(const struct confine_when *when)
{
	struct scmp_arg_cmp cmp = { .arg = when->arg,
		.op = SCMP_CMP_MASKED_EQ };

	if (when->test == CONFINE_LEAST) {
		cmp.op = SCMP_CMP_GE;
		cmp.datum_a = when->value;
		return cmp;
	}
	cmp.datum_a = when->test == CONFINE_SELF ? UINT32_MAX : when->mask;
	cmp.datum_b =
	    when->test == CONFINE_SELF ? (uint32_t)getpid() : when->value;
	return cmp;
}

static int
filter_add(scmp_filter_ctx ctx, const struct confine_call *call)
{
	int number = seccomp_syscall_resolve_name(call->name);
	struct scmp_arg_cmp cmp[CONFINE_WHENS];
	unsigned int n = 0;

	if (number == __NR_SCMP_ERROR)
		return EINVAL;
	/* Of other architectures only. */
	if (number < 0)
		return 0;
	while (n < CONFINE_WHENS && call->when[n].test != CONFINE_ANY) {
		cmp[n] = filter_compare(&call->when[n]);
		n++;
	}
	return -seccomp_rule_add_array(
	    ctx, filter_action(call->answer), number, n, cmp);
}

static int
filter_fill(scmp_filter_ctx ctx, const struct confine_table *table)
{
	int error;

	/* libseccomp sets no_new_privs itself unless told not to. */
	error = -seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, ACTION_KILL);
	if (error == 0)
		error = -seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	for (size_t i = 0; error == 0 && i < table->n; i++)
		error = filter_add(ctx, &table->calls[i]);
	return error;
}

/*
 * Where libseccomp (2.5.4) finds no memory it crashes, or loads as much of the
 * filter as it has and says that all is well. What it needs, 87 kB for the
 * longest table, malloc() therefore has before it begins.
 */
static int
filter_room(void)
{
	void *volatile room = malloc(FILTER_ROOM);

	if (room == NULL)
		return ENOMEM;
	free(room);
	return 0;
}

static int
filter_load(const struct confine_table *table)
{
	scmp_filter_ctx ctx;
	int error;

	error = trap_set();
	if (error == 0)
		error = filter_room();
	if (error != 0)
		return error;
	ctx = seccomp_init(filter_action(table->otherwise));
	/* It says so of kernels that do not know the answer, too. */
	if (ctx == NULL)
		return ENOSYS;
	error = filter_fill(ctx, table);
	if (error == 0)
		error = -seccomp_load(ctx);
	seccomp_release(ctx);
	return error;
}

int
confine_filter(const struct confine_table *table)
{
	int error;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	if (confine_absence() != NULL)
		return 0;
	error = filter_load(table);
	return filter_waived ? 0 : error;
}

/* libseccomp knows calls by name only. */
int
confine_newest(unsigned int newest)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, newest, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	if (confine_absence() != NULL)
		return 0;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1 &&
		!filter_waived
	    ? errno
	    : 0;
}

void
confine_filter_waive(void)
{
	filter_waived = true;
}

bool
confine_was_broken(int status)
{
	/* The second is what trap.c ends with. */
	return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGSYS);
}

const char *
confine_absence(void)
{
#ifdef CONFINE_NONE
	return "it was built with sanitizers or to count coverage";
#else
	return NULL;
#endif
}
