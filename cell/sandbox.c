/*
 * sandbox: reads Chromium's own sandbox from outside, where a page cannot
 * lie about it. Runs in the cell, which sees only its own PID namespace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell/proc.h"
#include "cell/sandbox.h"

#define STATUS_BYTES  8192
#define CMDLINE_BYTES 65536

static const struct kind_row {
	const char *name;
	enum sandbox_kind kind;
} kind_rows[] = {
	{ "zygote", SANDBOX_ZYGOTE },
	{ "broker", SANDBOX_ZYGOTE },
	{ "renderer", SANDBOX_RENDERER },
	{ "gpu-process", SANDBOX_GPU },
};

static bool
is_end(const char *cmdline, size_t len, size_t at)
{
	return at >= len || cmdline[at] == '\0' || cmdline[at] == ' ';
}

static enum sandbox_kind
kind_named(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(kind_rows) / sizeof(kind_rows[0]); i++)
		if (len == strlen(kind_rows[i].name) &&
		    memcmp(name, kind_rows[i].name, len) == 0)
			return kind_rows[i].kind;
	return SANDBOX_UTILITY;
}

enum sandbox_kind
sandbox_kind(const char *cmdline, size_t len)
{
	static const char want[] = "--type=";
	const size_t n = sizeof(want) - 1;
	size_t end;

	/* A forked zygote writes its title with blanks between arguments. */
	for (size_t i = 0; i + n <= len; i++) {
		if (i > 0 && !is_end(cmdline, len, i - 1))
			continue;
		if (memcmp(cmdline + i, want, n) != 0)
			continue;
		for (end = i + n; !is_end(cmdline, len, end); end++)
			;
		return kind_named(cmdline + i + n, end - i - n);
	}
	return SANDBOX_NONE;
}

static bool
status_number(const char *text, const char *key, uint8_t *ret_value)
{
	const char *p = proc_field(text, key);
	char *end;
	unsigned long v;

	if (p == NULL)
		return false;
	v = strtoul(p, &end, 10);
	if (end == p || *end != '\n' || v > UINT8_MAX)
		return false;
	*ret_value = (uint8_t)v;
	return true;
}

/* NSpid lists the process's number in each namespace from ours inwards. */
static bool
status_depth(const char *text, uint8_t *ret_depth)
{
	const char *p = proc_field(text, "NSpid");
	unsigned int words = 0;
	char *end;

	while (p != NULL && *p != '\n' && *p != '\0') {
		(void)strtoul(p, &end, 10);
		if (end == p)
			return false;
		words++;
		p = end;
	}
	if (words == 0 || words > UINT8_MAX)
		return false;
	*ret_depth = (uint8_t)(words - 1);
	return true;
}

bool
sandbox_parse_status(
    const char *text, unsigned int inherited, struct launch_sandbox *ret_one)
{
	struct launch_sandbox one = { .renderers = 1,
		.others_mode = SECCOMP_MODE_FILTER };
	uint8_t filters;

	if (!status_number(text, "Seccomp", &one.seccomp_mode) ||
	    !status_number(text, "Seccomp_filters", &filters) ||
	    !status_number(text, "NoNewPrivs", &one.no_new_privs) ||
	    !status_depth(text, &one.ns_depth))
		return false;
	if (filters <= inherited)
		one.seccomp_mode = 0;
	*ret_one = one;
	return true;
}

static uint8_t
lesser(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void
add_other(struct launch_sandbox *sum, enum sandbox_kind kind,
    const struct launch_sandbox *one)
{
	uint8_t *count = kind == SANDBOX_GPU ? &sum->gpus : &sum->utilities;

	if (*count < UINT8_MAX)
		(*count)++;
	sum->others_mode = lesser(sum->others_mode, one->seccomp_mode);
}

static void
add_renderer(struct launch_sandbox *sum, const struct launch_sandbox *one)
{
	if (sum->renderers == 0) {
		sum->renderers = 1;
		sum->seccomp_mode = one->seccomp_mode;
		sum->ns_depth = one->ns_depth;
		sum->no_new_privs = one->no_new_privs;
		return;
	}
	if (sum->renderers < UINT16_MAX)
		sum->renderers++;
	sum->seccomp_mode = lesser(sum->seccomp_mode, one->seccomp_mode);
	sum->ns_depth = lesser(sum->ns_depth, one->ns_depth);
	sum->no_new_privs = lesser(sum->no_new_privs, one->no_new_privs);
}

/* The filters that were put on the browser before it was started. */
static unsigned int
sandbox_inherited(int proc, pid_t browser)
{
	char name[32], status[STATUS_BYTES];
	uint8_t filters;

	snprintf(name, sizeof(name), "%d/status", (int)browser);
	if (proc_read(proc, name, status, sizeof(status)) <= 0 ||
	    !status_number(status, "Seccomp_filters", &filters))
		return UINT_MAX;
	return filters;
}

static void
sandbox_look(int proc, const char *pid, unsigned int inherited,
    struct launch_sandbox *sum)
{
	static char cmdline[CMDLINE_BYTES], status[STATUS_BYTES];
	struct launch_sandbox one;
	int dir = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum sandbox_kind kind = SANDBOX_NONE;
	ssize_t n;

	if (dir == -1)
		return;
	n = proc_read(dir, "cmdline", cmdline, sizeof(cmdline));
	if (n > 0)
		kind = sandbox_kind(cmdline, (size_t)n);
	if (kind >= SANDBOX_RENDERER &&
	    proc_read(dir, "status", status, sizeof(status)) > 0 &&
	    sandbox_parse_status(status, inherited, &one)) {
		if (kind == SANDBOX_RENDERER)
			add_renderer(sum, &one);
		else
			add_other(sum, kind, &one);
	}
	close(dir);
}

int
sandbox_read(pid_t browser, struct launch_sandbox *ret_report)
{
	struct launch_sandbox sum = { .others_mode = SECCOMP_MODE_FILTER };
	unsigned int inherited;
	struct dirent *d;
	DIR *proc = opendir("/proc");

	if (proc == NULL)
		return errno;
	inherited = sandbox_inherited(dirfd(proc), browser);
	while ((d = readdir(proc)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			sandbox_look(dirfd(proc), d->d_name, inherited, &sum);
	closedir(proc);
	*ret_report = sum;
	return 0;
}
