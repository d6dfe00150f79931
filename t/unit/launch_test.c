/* Every message of the launch protocol, good, short, long, wrong, garbage. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "launch/launch.h"
#include "t/unit/tap.h"

static int pair[2];

static const enum launch_link first_link[LAUNCH__MAX] = {
	[LAUNCH_SPAWN] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_KILL] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_CHECK] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SERVING] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_UNNEEDED] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_READY] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_SANDBOX] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_BROWSER_EXITED] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_REAPED] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_START] = LAUNCH_TO_CELL,
	[LAUNCH_UP] = LAUNCH_FROM_CELL,
	[LAUNCH_FAILED] = LAUNCH_FROM_CELL,
	[LAUNCH_WORKER_EXITED] = LAUNCH_FROM_CELL,
	[LAUNCH_SETTING] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_WORKER] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_WORKER_START] = LAUNCH_TO_CELL,
	[LAUNCH_WORKER_READY] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_KILL_WORKER] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_FORGET] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_KNOWN] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_PURGE] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SECRET] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SECRET_DROP] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SECRET_GIVE] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SECRET_FEED] = LAUNCH_TO_CELL,
	[LAUNCH_SECRET_REF] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SECRET_MISSING] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_LISTENER] = LAUNCH_FROM_CELL,
	[LAUNCH_EGRESS] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_EGRESS_DOWN] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_EGRESS_LINK] = LAUNCH_TO_EGRESSD,
	[LAUNCH_EGRESS_LISTENER] = LAUNCH_TO_EGRESSD,
	[LAUNCH_EGRESS_GONE] = LAUNCH_TO_EGRESSD,
	[LAUNCH_EGRESS_NAMES] = LAUNCH_TO_EGRESSD,
	[LAUNCH_LIMIT] = LAUNCH_FROM_CELL,
	[LAUNCH_USAGE] = LAUNCH_FROM_CELL,
	[LAUNCH_PROTECTION] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_PING] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_PONG] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_INSPECT] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_INSPECTED] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_ADOPT] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_ADOPT_END] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_ADOPTED] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_NAME] = LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_SECRET_KEPT] = LAUNCH_TO_SUPERVISORD,
	[LAUNCH_RESTART] = LAUNCH_TO_SUPERVISORD,
};

/* A second link of those that are passed on. */
static const int second_link[LAUNCH__MAX] = {
	[LAUNCH_CHECK] = 1 << LAUNCH_TO_CELL,
	[LAUNCH_SANDBOX] = 1 << LAUNCH_FROM_CELL,
	[LAUNCH_BROWSER_EXITED] = 1 << LAUNCH_FROM_CELL,
	[LAUNCH_WORKER_EXITED] = 1 << LAUNCH_TO_SUPERVISORD,
	[LAUNCH_SETTING] = 1 << LAUNCH_TO_EGRESSD,
	[LAUNCH_KILL_WORKER] = 1 << LAUNCH_TO_CELL,
	[LAUNCH_PING] = 1 << LAUNCH_TO_EGRESSD,
	[LAUNCH_PONG] = 1 << LAUNCH_FROM_EGRESSD,
	[LAUNCH_LIMIT] = 1 << LAUNCH_TO_SUPERVISORD,
	[LAUNCH_RESTART] = 1 << LAUNCH_FROM_SUPERVISORD,
	[LAUNCH_USAGE] = 1 << LAUNCH_TO_SUPERVISORD,
};

/* Those that are about no cell, whatever their link. */
static const bool no_cell[LAUNCH__MAX] = {
	[LAUNCH_SETTING] = true,
	[LAUNCH_PROTECTION] = true,
	[LAUNCH_PING] = true,
	[LAUNCH_PONG] = true,
	[LAUNCH_INSPECT] = true,
	[LAUNCH_INSPECTED] = true,
	[LAUNCH_WORKER_START] = true,
	[LAUNCH_FORGET] = true,
	[LAUNCH_KNOWN] = true,
	[LAUNCH_PURGE] = true,
	[LAUNCH_SECRET] = true,
	[LAUNCH_SECRET_DROP] = true,
	[LAUNCH_SECRET_FEED] = true,
	[LAUNCH_SECRET_REF] = true,
	[LAUNCH_EGRESS] = true,
	[LAUNCH_EGRESS_DOWN] = true,
	[LAUNCH_EGRESS_LINK] = true,
	[LAUNCH_EGRESS_NAMES] = true,
	[LAUNCH_ADOPT_END] = true,
	[LAUNCH_SECRET_KEPT] = true,
	[LAUNCH_RESTART] = true,
};

static const struct launch_limits least = { LAUNCH_MEMORY_LEAST,
	LAUNCH_PROFILE_LEAST, 0, LAUNCH_PROCESSES_LEAST, 0 };

/* As launch_msg_init(), with what a cell may use where it belongs. */
static void
init_limited(struct launch_msg *m, enum launch_type type, uint32_t cell_id)
{
	launch_msg_init(m, type, cell_id);
	if (type == LAUNCH_SPAWN)
		m->u.spawn.limits = least;
	if (type == LAUNCH_START)
		m->u.start.limits = least;
	if (type == LAUNCH_ADOPT)
		m->u.adopt.spawn.limits = least;
}

static void
init_good(struct launch_msg *m, enum launch_type type)
{
	init_limited(m, type, no_cell[type] ? 0 : 7);
	if (type == LAUNCH_FORGET || type == LAUNCH_KNOWN)
		strlcpy(m->u.profile.name, "p", sizeof(m->u.profile.name));
	if (type == LAUNCH_SECRET_REF)
		strlcpy(m->u.ref.name, "s", sizeof(m->u.ref.name));
	if (type == LAUNCH_SECRET_MISSING)
		strlcpy(m->u.missing.name, "s", sizeof(m->u.missing.name));
	if (type == LAUNCH_SECRET_KEPT)
		m->u.kept.count = 1;
}

static void
open_pair(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
		0, pair) == -1)
		abort();
}

static void
close_pair(void)
{
	close(pair[0]);
	close(pair[1]);
}

/* Number of open descriptors, to see that nothing leaks. */
static int
count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fd_set_cloexec(fd, 0) == 0)
			n++;
	return n;
}

/* What a receiver says to these bytes with n descriptors. */
static int
deliver(const void *bytes, size_t len, int nfds, enum launch_link link)
{
	int send_fds[FDIO_MAX_FDS] = { 0, 0, 0, 0 }, fds[LAUNCH_MAX_FDS];
	struct launch_msg m;
	int error;

	open_pair();
	if (fd_send_msg(pair[0], bytes, len, send_fds, nfds) != 0)
		abort();
	error = launch_recv(pair[1], link, &m, fds);
	if (error == 0)
		for (int i = 0; i < LAUNCH_MAX_FDS; i++)
			fd_close(&fds[i]);
	close_pair();
	return error;
}

static void
test_each_type(enum launch_type type)
{
	enum launch_link link = first_link[type];
	int nfds = launch_type_fds(type), fds[2] = { 0, 1 }, got[2];
	const char *name = launch_type_name(type);
	uint8_t big[sizeof(struct launch_msg) + 1] = { 0 };
	struct launch_msg m, back;
	int accepted = 0, cut_ok = 0;

	init_good(&m, type);
	open_pair();
	is_int(launch_send(pair[0], link, &m, nfds > 0 ? fds : NULL), 0, name);
	is_int(launch_recv(pair[1], link, &back, got), 0, "arrives");
	ok(memcmp(&m, &back, sizeof(m)) == 0, "%s as it was sent", name);
	ok((got[0] != -1) == (nfds > 0) && (got[1] != -1) == (nfds > 1),
	    "%s with its descriptors", name);
	fd_close(&got[0]);
	fd_close(&got[1]);
	close_pair();

	for (size_t cut = 1; cut < sizeof(m); cut++)
		if (deliver(&m, cut, nfds, link) == EPROTO)
			cut_ok++;
	is_int(cut_ok, sizeof(m) - 1, "refused at every shorter length");
	cut_ok = 0;
	for (size_t cut = 1; cut < sizeof(m); cut++)
		if (deliver((uint8_t *)&m + cut, sizeof(m) - cut, nfds, link) ==
		    EPROTO)
			cut_ok++;
	is_int(cut_ok, sizeof(m) - 1, "and so is what was cut off");
	memcpy(big, &m, sizeof(m));
	is_int(deliver(big, sizeof(big), nfds, link), EPROTO, "refused longer");
	for (int n = 0; n <= FDIO_MAX_FDS; n++)
		if (deliver(&m, sizeof(m), n, link) == 0)
			accepted |= 1 << n;
	is_int(accepted, 1 << nfds, "only the right number of descriptors");
	for (int l = 0; l < LAUNCH_LINK__MAX; l++)
		if (l != (int)link && deliver(&m, sizeof(m), nfds, l) == 0)
			accepted |= 1 << (8 + l);
	is_int(accepted >> 8, second_link[type], "only on its links");
}

static int
deliver_msg(const struct launch_msg *m, enum launch_link link)
{
	return deliver(m, sizeof(*m), 0, link);
}

static void
test_head(void)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_KILL, 1);
	m.magic++;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "wrong magic");
	launch_msg_init(&m, LAUNCH_KILL, 1);
	m.version++;
	is_int(
	    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "wrong version");
	launch_msg_init(&m, LAUNCH_KILL, 1);
	m.type = 0;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "type 0");
	m.type = LAUNCH__MAX;
	is_int(
	    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "type too big");
	m.type = UINT32_MAX;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO,
	    "type far too big");
}

static int
deliver_profile(const char *bytes, size_t len)
{
	struct launch_msg m;

	init_limited(&m, LAUNCH_SPAWN, 1);
	memcpy(m.u.spawn.profile, bytes, len);
	return deliver_msg(&m, LAUNCH_FROM_SUPERVISORD);
}

static void
test_spawn_fields(void)
{
	char full[LAUNCH_PROFILE_BYTES];
	struct launch_msg m;

	memset(full, 'a', sizeof(full));
	is_int(deliver_profile("Work_1-a", 9), 0, "profile name");
	is_int(deliver_profile(full, sizeof(full) - 1), 0, "longest name");
	is_int(deliver_profile(full, sizeof(full)), EPROTO, "no terminator");
	is_int(deliver_profile("..", 3), EPROTO, "dots");
	is_int(deliver_profile("a/b", 4), EPROTO, "slash");
	is_int(deliver_profile("\xc3\xa9", 3), EPROTO, "not ASCII");

	init_limited(&m, LAUNCH_SPAWN, 1);
	strlcpy(m.u.spawn.name, "run_01ARZ3NDEKTSV4RRFFQ69G5FAV",
	    sizeof(m.u.spawn.name));
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), 0, "name of a run");
	m.u.spawn.name[3] = '\n';
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO,
	    "a name that would break a line");
	memset(m.u.spawn.name, 'x', sizeof(m.u.spawn.name));
	is_int(
	    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "endless name");

	init_limited(&m, LAUNCH_SPAWN, 1);
	m.u.spawn.flags = SPAWN__ALL;
	m.u.spawn.worker_slot = LAUNCH_WORKER_SLOTS - 1;
	m.u.spawn.browser_slot = LAUNCH_BROWSER_SLOTS - 1;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), 0, "highest values");
	m.u.spawn.flags++;
	is_int(
	    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "unknown flag");
	m.u.spawn.flags = 0;
	m.u.spawn.worker_slot++;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO,
	    "worker slot too high");
	m.u.spawn.worker_slot = 0;
	m.u.spawn.browser_slot++;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO,
	    "browser slot too high");
}

/* Each of them one below the least, and beyond what can be counted. */
static void
test_limits(void)
{
	static const struct launch_limits wrong[] = {
		{ LAUNCH_MEMORY_LEAST - 1, LAUNCH_PROFILE_LEAST, 0,
		    LAUNCH_PROCESSES_LEAST, 0 },
		{ UINT64_MAX, LAUNCH_PROFILE_LEAST, 0, LAUNCH_PROCESSES_LEAST,
		    0 },
		{ LAUNCH_MEMORY_LEAST, LAUNCH_PROFILE_LEAST - 1, 0,
		    LAUNCH_PROCESSES_LEAST, 0 },
		{ LAUNCH_MEMORY_LEAST, UINT64_MAX, 0, LAUNCH_PROCESSES_LEAST,
		    0 },
		{ LAUNCH_MEMORY_LEAST, LAUNCH_PROFILE_LEAST, UINT64_MAX,
		    LAUNCH_PROCESSES_LEAST, 0 },
		{ LAUNCH_MEMORY_LEAST, LAUNCH_PROFILE_LEAST, 0,
		    LAUNCH_PROCESSES_LEAST - 1, 0 },
	};
	struct launch_msg m;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		launch_msg_init(&m, LAUNCH_SPAWN, 1);
		m.u.spawn.limits = wrong[i];
		is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO,
		    "a limit of SPAWN that cannot be");
		launch_msg_init(&m, LAUNCH_START, 0);
		m.u.start.limits = wrong[i];
		is_int(deliver_msg(&m, LAUNCH_TO_CELL), EPROTO, "nor of START");
	}
	launch_msg_init(&m, LAUNCH_LIMIT, 0);
	m.u.breach.which = LAUNCH_OVER__MAX;
	is_int(deliver_msg(&m, LAUNCH_FROM_CELL), EPROTO, "no such limit");
}

static void
test_other_fields(void)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_REAPED, 1);
	m.u.reaped.cause = LAUNCH_CAUSE__MAX;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "wrong cause");
	launch_msg_init(&m, LAUNCH_REAPED, 1);
	memset(m.u.reaped.stage, 'x', sizeof(m.u.reaped.stage));
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "long stage");
	launch_msg_init(&m, LAUNCH_FAILED, 0);
	memset(m.u.failed.stage, 'x', sizeof(m.u.failed.stage));
	is_int(deliver_msg(&m, LAUNCH_FROM_CELL), EPROTO, "long stage");
	init_limited(&m, LAUNCH_START, 0);
	memset(m.u.start.profile_dir, 'x', sizeof(m.u.start.profile_dir));
	is_int(deliver_msg(&m, LAUNCH_TO_CELL), EPROTO, "long directory");
	init_limited(&m, LAUNCH_START, 0);
	m.u.start.browser = LAUNCH_BROWSER__MAX;
	is_int(deliver_msg(&m, LAUNCH_TO_CELL), EPROTO, "unknown browser");
	launch_msg_init(&m, LAUNCH_SETTING, 0);
	memset(m.u.setting.name, 'x', sizeof(m.u.setting.name));
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "long name");
	launch_msg_init(&m, LAUNCH_SETTING, 0);
	memset(m.u.setting.value, '1', sizeof(m.u.setting.value));
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "long value");
	launch_msg_init(&m, LAUNCH_SETTING, 1);
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "of a cell");
	init_limited(&m, LAUNCH_START, 0);
	m.u.start.change_ids = 2;
	is_int(deliver_msg(&m, LAUNCH_TO_CELL), EPROTO, "not a truth value");
	init_limited(&m, LAUNCH_START, 0);
	m.u.start.grouped = 2;
	is_int(deliver_msg(&m, LAUNCH_TO_CELL), EPROTO, "nor that");
	init_limited(&m, LAUNCH_START, 0);
	m.u.start.in_memory = 2;
	is_int(deliver_msg(&m, LAUNCH_TO_CELL), EPROTO, "nor this");
}

static void
test_profile(enum launch_type type)
{
	struct launch_msg m;

	init_good(&m, type);
	m.cell_id = 1;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "of a cell");
	launch_msg_init(&m, type, 0);
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "no name");
	strlcpy(m.u.profile.name, "../x", sizeof(m.u.profile.name));
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "a path");
	memset(m.u.profile.name, 'x', sizeof(m.u.profile.name));
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "endless");
	m.u.profile.name[sizeof(m.u.profile.name) - 1] = '\0';
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), 0, "the longest");
}

static void
test_kept_fields(void)
{
	struct launch_msg m;

	test_profile(LAUNCH_FORGET);
	test_profile(LAUNCH_KNOWN);
	init_limited(&m, LAUNCH_SPAWN, 1);
	m.u.spawn.flags = SPAWN_KEEP;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO,
	    "nothing is kept without a browser");
	m.u.spawn.flags |= SPAWN_BROWSER;
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), 0, "with one it is");
	launch_msg_init(&m, LAUNCH_WORKER, 1);
	memset(m.u.worker.name, 'x', sizeof(m.u.worker.name));
	is_int(
	    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "endless name");
}

static int
deliver_two(const struct launch_msg *m)
{
	return deliver(m, sizeof(*m), 2, LAUNCH_TO_SUPERVISORD);
}

static void
test_adopt_fields(void)
{
	struct launch_msg m;

	init_good(&m, LAUNCH_ADOPT);
	m.u.adopt.has_worker = 1;
	strlcpy(m.u.adopt.spawn.name, "run_1", sizeof(m.u.adopt.spawn.name));
	is_int(deliver_two(&m), 0, "a worker of a run");
	m.u.adopt.has_worker = 0;
	is_int(deliver_two(&m), EPROTO, "the name of no worker");
	m.u.adopt.spawn.name[0] = '\0';
	is_int(deliver_two(&m), 0, "no worker");
	m.u.adopt.has_worker = 2;
	is_int(deliver_two(&m), EPROTO, "not a truth value");
	init_good(&m, LAUNCH_ADOPT);
	m.u.adopt.browser = LAUNCH_BROWSER__MAX;
	is_int(deliver_two(&m), EPROTO, "unknown browser");
	init_good(&m, LAUNCH_ADOPT);
	m.u.adopt.spawn.worker_slot = LAUNCH_WORKER_SLOTS;
	is_int(deliver_two(&m), EPROTO, "a slot that is none");
	init_good(&m, LAUNCH_ADOPT);
	memset(m.u.adopt.spawn.profile, 'x', sizeof(m.u.adopt.spawn.profile));
	is_int(deliver_two(&m), EPROTO, "endless profile");
	init_good(&m, LAUNCH_ADOPT_END);
	m.u.adopt_end.count = LAUNCH_WORKER_SLOTS;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), 0, "all slots");
	m.u.adopt_end.count++;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO,
	    "more cells than there can be");
	init_good(&m, LAUNCH_ADOPT_END);
	m.u.adopt_end.inspected = 2;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO,
	    "more readers of the store than there can be");
	init_good(&m, LAUNCH_ADOPT_END);
	m.u.adopt_end.last = 1;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), 0, "a last start");
	m.u.adopt_end.count = 1;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO,
	    "which has nothing from before");
	init_good(&m, LAUNCH_SECRET_KEPT);
	m.u.kept.count = LAUNCH_SECRETS_TOLD;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), 0, "all of a message");
	m.u.kept.count++;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "and more");
	m.u.kept.count = 0;
	is_int(deliver_msg(&m, LAUNCH_TO_SUPERVISORD), EPROTO, "none");
	init_good(&m, LAUNCH_NAME);
	strlcpy(m.u.worker.name, "a b", sizeof(m.u.worker.name));
	is_int(
	    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "no such name");
}

static void
test_secret_names(void)
{
	static const char *const bad[] = { "", ".x", "-x", "1x", "a/b", "../x",
		"a b", "\xc3\xa9" };
	struct launch_msg m;

	init_good(&m, LAUNCH_SECRET_REF);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strlcpy(m.u.ref.name, bad[i], sizeof(m.u.ref.name));
		is_int(
		    deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, bad[i]);
	}
	memset(m.u.ref.name, 'x', sizeof(m.u.ref.name));
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), EPROTO, "endless");
	m.u.ref.name[sizeof(m.u.ref.name) - 1] = '\0';
	is_int(deliver_msg(&m, LAUNCH_FROM_SUPERVISORD), 0, "the longest");
}

static unsigned int
next_random(void)
{
	static unsigned int x = 12345;

	x = x * 1103515245U + 12345U;
	return x >> 16;
}

static bool
fields_good(const struct launch_msg *m)
{
	const struct launch_spawn *s = &m->u.spawn;
	const struct launch_start *st = &m->u.start;

	switch (m->type) {
	case LAUNCH_SPAWN:
		return s->flags <= SPAWN__ALL &&
		    s->worker_slot < LAUNCH_WORKER_SLOTS &&
		    s->browser_slot < LAUNCH_BROWSER_SLOTS &&
		    strnlen(s->profile, sizeof(s->profile)) <
		    sizeof(s->profile);
	case LAUNCH_READY:
		return m->u.ready.browser < LAUNCH_BROWSER__MAX;
	case LAUNCH_REAPED:
		return m->u.reaped.cause < LAUNCH_CAUSE__MAX &&
		    memchr(m->u.reaped.stage, 0, LAUNCH_STAGE_BYTES) != NULL;
	case LAUNCH_FAILED:
		return memchr(m->u.failed.stage, 0, LAUNCH_STAGE_BYTES) != NULL;
	case LAUNCH_START:
		return st->flags <= SPAWN__ALL && st->change_ids <= 1 &&
		    st->browser < LAUNCH_BROWSER__MAX &&
		    memchr(st->profile_dir, 0, LAUNCH_PATH_BYTES) != NULL;
	case LAUNCH_FORGET:
	case LAUNCH_KNOWN:
		return m->u.profile.name[0] != '\0' &&
		    memchr(m->u.profile.name, 0, LAUNCH_PROFILE_BYTES) != NULL;
	case LAUNCH_SECRET_REF:
		return m->u.ref.name[0] != '\0' &&
		    memchr(m->u.ref.name, 0, SECRETNAME_BYTES) != NULL;
	case LAUNCH_SECRET_MISSING:
		return m->u.missing.name[0] != '\0' &&
		    memchr(m->u.missing.name, 0, SECRETNAME_BYTES) != NULL;
	case LAUNCH_WORKER:
		return memchr(m->u.worker.name, 0, LAUNCH_NAME_BYTES) != NULL;
	default:
		return true;
	}
}

/* Garbage as a whole, and good messages with some bytes changed. */
static void
test_garbage(void)
{
	struct launch_msg m, back;
	uint8_t *bytes = (uint8_t *)&m;
	int refused = 0, accepted = 0, wrong = 0, type, fds[LAUNCH_MAX_FDS];
	int null[LAUNCH_MAX_FDS] = { 0, 0 };

	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(m); i++)
			bytes[i] = (uint8_t)next_random();
		if (deliver(bytes, sizeof(m), round % (FDIO_MAX_FDS + 1),
			round % LAUNCH_LINK__MAX) == EPROTO)
			refused++;
	}
	is_int(refused, 2000, "garbage is refused");
	for (int round = 0; round < 10000; round++) {
		type = 1 + round % (LAUNCH__MAX - 1);
		init_good(&m, type);
		for (unsigned int n = next_random() % 4; n > 0; n--)
			bytes[next_random() % sizeof(m)] =
			    (uint8_t)next_random();
		open_pair();
		fd_send_msg(
		    pair[0], &m, sizeof(m), null, launch_type_fds(type));
		if (launch_recv(pair[1], first_link[type], &back, fds) == 0) {
			accepted++;
			if (!fields_good(&back))
				wrong++;
			fd_close(&fds[0]);
			fd_close(&fds[1]);
		}
		close_pair();
	}
	is_int(wrong, 0, "what is accepted has good fields");
	ok(accepted > 1000 && accepted < 9900, "%d of 10000 accepted",
	    accepted);
}

static void
test_ends(void)
{
	struct launch_msg m, before;

	memset(&m, 0x5a, sizeof(m));
	before = m;
	open_pair();
	is_int(launch_recv(pair[1], LAUNCH_TO_CELL, &m, NULL), EAGAIN,
	    "nothing there yet");
	close(pair[0]);
	is_int(launch_recv(pair[1], LAUNCH_TO_CELL, &m, NULL), EPIPE,
	    "end of file");
	ok(memcmp(&m, &before, sizeof(m)) == 0, "output untouched");
	close(pair[1]);
	for (int c = 0; c < LAUNCH_CAUSE__MAX; c++)
		ok(launch_cause_name(c) != NULL, "cause %d has a name", c);
}

int
main(void)
{
	int before = count_fds();

	for (int t = 1; t < LAUNCH__MAX; t++)
		test_each_type(t);
	test_head();
	test_spawn_fields();
	test_limits();
	test_other_fields();
	test_kept_fields();
	test_adopt_fields();
	test_secret_names();
	test_garbage();
	test_ends();
	is_int(count_fds(), before, "no descriptor leaked");
	return done_testing();
}
