/* What the launcher reads of control groups, and that it touches no other's. */
#include <string.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "launcher/cgroups.h"
#include "t/unit/tap.h"

#define PATH_BYTES 64

static void
test_own(void)
{
	char path[PATH_BYTES], small[8];

	ok(cgroup_own("0::/system.slice/b.service\n", path, sizeof(path)) &&
		strcmp(path, "/system.slice/b.service") == 0,
	    "the only one");
	ok(cgroup_own(
	       "9:name=systemd:/x\n1:cpu:/y\n0::/z\n", path, sizeof(path)) &&
		strcmp(path, "/z") == 0,
	    "beside those of version 1");
	ok(!cgroup_own("1:cpu:/y\n", path, sizeof(path)), "none");
	ok(!cgroup_own("10::/y\n", path, sizeof(path)), "nor that");
	ok(!cgroup_own("0::/cut", path, sizeof(path)), "cut off");
	ok(!cgroup_own("", path, sizeof(path)), "nothing");
	ok(!cgroup_own("0::/1234567\n", small, sizeof(small)), "too long");
	ok(cgroup_own("0::/123456\n", small, sizeof(small)), "just fits");
}

static void
test_mount(void)
{
	static const char text[] =
	    "22 1 0:5 / /proc rw - proc proc rw\n"
	    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 "
	    "rw\n";
	char point[PATH_BYTES], root[PATH_BYTES], small[4];

	ok(cgroup_mount(text, point, root, sizeof(point)), "found");
	ok(strcmp(point, "/sys/fs/cgroup") == 0 && strcmp(root, "/") == 0,
	    "where and what: %s %s", point, root);
	ok(cgroup_mount("1 2 0:1 /a/b /cg rw - cgroup2 x rw", point, root,
	       sizeof(point)) &&
		strcmp(root, "/a/b") == 0,
	    "a part of it, without an end of line");
	ok(!cgroup_mount("1 2 0:1 / /sys/fs/cgroup/cpu rw - cgroup x rw\n",
	       point, root, sizeof(point)),
	    "not version 1");
	ok(!cgroup_mount(" - cgroup2 \n", point, root, sizeof(point)),
	    "words are missing");
	ok(!cgroup_mount(text, small, root, sizeof(small)), "too long");
	ok(!cgroup_mount("", point, root, sizeof(point)), "nothing");
}

static void
test_number(void)
{
	static const char text[] = "low 0\nmax 3\noom 2\noom_kill 17\n";

	is_int((long long)cgroup_number(text, "oom_kill"), 17, "the last");
	is_int((long long)cgroup_number(text, "oom"), 2, "the whole key");
	is_int((long long)cgroup_number(text, "ma"), 0, "not half of it");
	is_int((long long)cgroup_number("", "max"), 0, "nothing");
	is_int((long long)cgroup_number("max", "max"), 0, "cut off");
}

/* This test has company, or its group is not its own: nothing is done. */
static void
test_refused(void)
{
	struct launch_limits limits = { .memory = 1 };
	struct launch_breach breach;
	struct cgroups groups;
	struct cgroup one;
	char why[GROUP_WHY_BYTES] = "";

	if (cgroups_open(&groups, why)) {
		ok(groups.dir != -1, "# skip: it was handed to this test");
		return;
	}
	ok(why[0] != '\0', "refused: %s", why);
	ok(groups.dir == -1 && groups.changes == -1, "nothing is open");
	is_int(cgroup_make(&groups, 1, &limits, &one), 0, "cells need none");
	is_int(one.dir, -1, "and have none");
	ok(!cgroup_breach(&one, &breach), "and pass no limit of it");
	cgroup_remove(&groups, &one);
}

int
main(void)
{
	test_own();
	test_mount();
	test_number();
	test_refused();
	return done_testing();
}
