/* Unit tests of storage/: disks that are full or nearly so. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/fdio.h"
#include "t/unit/storage_fixture.h"

static int
fill(struct store *s, const uint8_t *big, size_t len, int *ret_stored)
{
	struct fx_doc d;
	int rc = STORE_OK;

	for (int i = 0; i < 64 && rc == STORE_OK; i++) {
		d = (struct fx_doc){ fx_run(), big, len };
		rc = fx_write(s, fx_write_doc, &d);
		*ret_stored += rc == STORE_OK;
	}
	return rc;
}

static void
check_full(struct store *s, const char *how)
{
	static uint8_t big[700000];
	struct run_record r = fx_run();
	struct run_filter all = { 0 };
	uint64_t before = 0, total = 0;
	int stored = 0;

	fx_write(s, fx_insert, &r);
	run_total(fx_read(s), &all, &before);
	store_read_end(s);
	is_int(fill(s, big, sizeof(big), &stored), STORE_FULL, how);
	ok(stored > 0, "some were stored before (%d)", stored);
	r.status = RUN_CANCELED;
	r.ended_ms = FX_NOW;
	is_int(fx_write(s, fx_update, &r), STORE_OK,
	    "a terminal state is stored on the full disk");
	run_total(fx_read(s), &all, &total);
	store_read_end(s);
	is_int(total, before + (uint64_t)stored,
	    "exactly the acknowledged ones are there");
}

static void
test_file_limit(void)
{
	struct rlimit old, low;
	struct store *s;

	fx_new();
	s = fx_open();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = 3 << 20;
	setrlimit(RLIMIT_FSIZE, &low);
	check_full(s, "refused by a file size limit");
	setrlimit(RLIMIT_FSIZE, &old);
	store_free(&s);
}

static bool
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd != -1 && fd_write_all(fd, text, strlen(text)) == 0;

	fd_close(&fd);
	return written;
}

/* A mount namespace of our own, with or without being root. */
static bool
enter_namespace(void)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWNS) == -1 &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1 ||
		!write_file("/proc/self/setgroups", "deny") ||
		!write_file("/proc/self/uid_map", uid) ||
		!write_file("/proc/self/gid_map", gid)))
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void
test_small_disk(void)
{
	struct store_options opt = { .reserve_bytes = 1 << 20 };
	struct run_record r = fx_run(), got;
	struct store_space sp;
	static uint8_t junk[65536];
	char path[300];
	struct store *s;
	struct stat st;
	int fd;

	fx_new();
	if (!enter_namespace() ||
	    mount("none", fx_dir, "tmpfs", 0, "size=8m") == -1) {
		tap_skip("full tmpfs", "no mount namespace allowed here");
		return;
	}
	s = fx_open_with(&opt);
	ok(!store_space_ok(s, 5, 64 << 20, &sp), "8 MiB is too little room");
	is_int(sp.total_bytes, 8 << 20, "which it says");
	ok(store_space_ok(s, 5, 1 << 20, NULL), "though not for 1 MiB");
	fx_write(s, fx_insert, &r);
	snprintf(path, sizeof(path), "%s/junk", fx_dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	while (write(fd, junk, sizeof(junk)) > 0)
		;
	close(fd);
	ok(!store_space_ok(s, 5, 0, NULL), "a full disk is seen");
	r.status = RUN_CANCELED;
	r.ended_ms = FX_NOW;
	for (int i = 0; i < 40; i++) {
		r.updated_ms = FX_NOW + i;
		if (fx_write(s, fx_update, &r) != STORE_OK)
			break;
	}
	fx_get(s, &r.id, &got);
	is_int(
	    got.updated_ms, FX_NOW + 39, "the reserve lets small writes pass");
	unlink(path);
	ok(store_space_ok(s, 5, 1 << 20, NULL), "room again");
	snprintf(path, sizeof(path), "%s/reserve", fx_dir);
	ok(stat(path, &st) == 0 && st.st_size == 1 << 20,
	    "and the reserve is back");
	check_full(s, "refused by a full tmpfs");
	store_free(&s);
	s = fx_open();
	is_int(fx_get(s, &r.id, &got), STORE_OK, "opens again after that");
	store_free(&s);
	umount2(fx_dir, MNT_DETACH);
}

int
main(void)
{
	test_file_limit();
	test_small_disk();
	return done_testing();
}
