/*
 * launch: sending and receiving of the launch protocol. Runs in supervisord,
 * the launcher and the cell. The receiver trusts nothing in a packet.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "launch/launch.h"
#include "model/protections.h"

_Static_assert(sizeof(struct launch_msg) == 1072, "no padding, fixed size");
_Static_assert(LAUNCH_MAX_FDS <= FDIO_MAX_FDS, "fits one packet");

static bool check_nothing(const struct launch_msg *);
static bool check_spawn(const struct launch_msg *);
static bool check_ready(const struct launch_msg *);
static bool check_reaped(const struct launch_msg *);
static bool check_failed(const struct launch_msg *);
static bool check_start(const struct launch_msg *);
static bool check_setting(const struct launch_msg *);
static bool check_worker(const struct launch_msg *);
static bool check_profile(const struct launch_msg *);
static bool check_no_cell(const struct launch_msg *);
static bool check_breach(const struct launch_msg *);
static bool check_protection(const struct launch_msg *);
static bool check_ref(const struct launch_msg *);
static bool check_missing(const struct launch_msg *);
static bool check_inspect(const struct launch_msg *);
static bool check_adopt(const struct launch_msg *);
static bool check_adopt_end(const struct launch_msg *);
static bool check_kept(const struct launch_msg *);

static const struct launch_row {
	const char *name;
	unsigned int links;
	int nfds;
	bool (*check)(const struct launch_msg *);
	const char *text;
} launch_rows[LAUNCH__MAX] = {
	[LAUNCH__NONE] = { "", 0, 0, check_nothing, "" },
#define ON(link) (1U << LAUNCH_##link)
#define LAUNCH(name, links, fds, check, text) \
	[LAUNCH_##name] = { #name, links, fds, check_##check, text },
#include "launch/launch.def"
#undef LAUNCH
#undef ON
};

static const char *const launch_causes[LAUNCH_CAUSE__MAX] = {
	[LAUNCH_WORKER_ENDED] = "worker ended",
	[LAUNCH_KILLED] = "killed",
	[LAUNCH_CELL_DIED] = "cell died",
	[LAUNCH_SPAWN_FAILED] = "spawn failed",
	[LAUNCH_BROWSER_ENDED] = "browser ended",
};

static bool
check_nothing(const struct launch_msg *m)
{
	return true;
}

static bool
terminated(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

/* Letters, digits, _ and -, and an end. */
static bool
is_name(const char *s, size_t size)
{
	if (!terminated(s, size))
		return false;
	for (; *s != '\0'; s++)
		if (!isascii((unsigned char)*s) ||
		    (!isalnum((unsigned char)*s) && *s != '_' && *s != '-'))
			return false;
	return true;
}

/* A worker that describes has no browser; what is kept is one. */
static bool
check_flags(uint32_t flags)
{
	return (flags & ~(unsigned int)SPAWN__ALL) == 0 &&
	    ((flags & SPAWN_KEEP) == 0 || (flags & SPAWN_BROWSER) != 0);
}

/* A cell with less could not even start its browser. */
static bool
check_limits(const struct launch_limits *l)
{
	return l->memory >= LAUNCH_MEMORY_LEAST && l->memory <= INT64_MAX &&
	    l->profile >= LAUNCH_PROFILE_LEAST && l->profile <= INT64_MAX &&
	    l->cpu_ms <= INT64_MAX && l->processes >= LAUNCH_PROCESSES_LEAST;
}

static bool
is_spawn(const struct launch_spawn *s)
{
	return check_flags(s->flags) && s->worker_slot < LAUNCH_WORKER_SLOTS &&
	    s->browser_slot < LAUNCH_BROWSER_SLOTS &&
	    is_name(s->profile, sizeof(s->profile)) &&
	    is_name(s->name, sizeof(s->name)) && check_limits(&s->limits);
}

static bool
check_spawn(const struct launch_msg *m)
{
	return is_spawn(&m->u.spawn);
}

static bool
check_adopt(const struct launch_msg *m)
{
	const struct launch_adopt *a = &m->u.adopt;

	return is_spawn(&a->spawn) && a->browser < LAUNCH_BROWSER__MAX &&
	    a->has_worker <= 1 &&
	    (a->has_worker == 1 || a->spawn.name[0] == '\0');
}

static bool
check_adopt_end(const struct launch_msg *m)
{
	return m->cell_id == 0 && m->u.adopt_end.count <= LAUNCH_WORKER_SLOTS &&
	    m->u.adopt_end.inspected <= 1 &&
	    m->u.adopt_end.renewal < LAUNCH_RENEWAL__MAX &&
	    m->u.adopt_end.last <= 1 &&
	    (m->u.adopt_end.last == 0 || m->u.adopt_end.count == 0);
}

static bool
check_kept(const struct launch_msg *m)
{
	return m->cell_id == 0 && m->u.kept.count > 0 &&
	    m->u.kept.count <= LAUNCH_SECRETS_TOLD;
}

static bool
check_ready(const struct launch_msg *m)
{
	return m->u.ready.browser < LAUNCH_BROWSER__MAX;
}

static bool
check_reaped(const struct launch_msg *m)
{
	return m->u.reaped.cause < LAUNCH_CAUSE__MAX &&
	    terminated(m->u.reaped.stage, sizeof(m->u.reaped.stage));
}

static bool
check_failed(const struct launch_msg *m)
{
	return terminated(m->u.failed.stage, sizeof(m->u.failed.stage));
}

static bool
check_start(const struct launch_msg *m)
{
	const struct launch_start *s = &m->u.start;

	return check_flags(s->flags) && s->browser < LAUNCH_BROWSER__MAX &&
	    s->change_ids <= 1 && s->grouped <= 1 && s->in_memory <= 1 &&
	    s->waived < UINT32_C(1) << PROTECTION__MAX &&
	    check_limits(&s->limits) &&
	    terminated(s->profile_dir, sizeof(s->profile_dir));
}

static bool
check_breach(const struct launch_msg *m)
{
	return m->u.breach.which < LAUNCH_OVER__MAX;
}

static bool
check_protection(const struct launch_msg *m)
{
	const struct launch_protection *p = &m->u.protection;

	return m->cell_id == 0 && p->which < PROTECTION__MAX &&
	    p->state < PROTECTION_STATE__MAX && p->waived <= 1 &&
	    terminated(p->reason, sizeof(p->reason));
}

static bool
check_ref(const struct launch_msg *m)
{
	return m->cell_id == 0 &&
	    terminated(m->u.ref.name, sizeof(m->u.ref.name)) &&
	    secretname_good(m->u.ref.name);
}

static bool
check_missing(const struct launch_msg *m)
{
	return terminated(m->u.missing.name, sizeof(m->u.missing.name)) &&
	    secretname_good(m->u.missing.name);
}

static bool
check_inspect(const struct launch_msg *m)
{
	return m->cell_id == 0 && m->u.inspect.what < LAUNCH_INSPECT__MAX;
}

static bool
check_setting(const struct launch_msg *m)
{
	return m->cell_id == 0 &&
	    terminated(m->u.setting.name, sizeof(m->u.setting.name)) &&
	    terminated(m->u.setting.value, sizeof(m->u.setting.value));
}

static bool
check_worker(const struct launch_msg *m)
{
	return is_name(m->u.worker.name, sizeof(m->u.worker.name));
}

static bool
check_no_cell(const struct launch_msg *m)
{
	return m->cell_id == 0;
}

static bool
check_profile(const struct launch_msg *m)
{
	const struct launch_profile *p = &m->u.profile;

	return m->cell_id == 0 && p->name[0] != '\0' &&
	    is_name(p->name, sizeof(p->name));
}

static bool
launch_valid(const struct launch_msg *m, enum launch_link link)
{
	return m->magic == LAUNCH_MAGIC && m->version == LAUNCH_VERSION &&
	    m->type > 0 && m->type < LAUNCH__MAX &&
	    (launch_rows[m->type].links & 1U << link) != 0 &&
	    launch_rows[m->type].check(m);
}

bool
launch_sandbox_is_tight(const struct launch_sandbox *r, bool filters)
{
	return r->renderers > 0 &&
	    ((r->seccomp_mode == 2 && r->others_mode == 2) || !filters) &&
	    r->ns_depth >= LAUNCH_NS_DEPTH && r->no_new_privs == 1;
}

void
launch_msg_init(struct launch_msg *m, enum launch_type type, uint32_t cell_id)
{
	memset(m, 0, sizeof(*m));
	m->magic = LAUNCH_MAGIC;
	m->version = LAUNCH_VERSION;
	m->type = type;
	m->cell_id = cell_id;
}

int
launch_type_fds(enum launch_type type)
{
	ASSERT(type > 0 && type < LAUNCH__MAX);
	return launch_rows[type].nfds;
}

int
launch_send(
    int sock, enum launch_link link, const struct launch_msg *m, const int *fds)
{
	ASSERT(launch_valid(m, link));
	ASSERT((fds != NULL) == (launch_rows[m->type].nfds > 0));
	return fd_send_msg(sock, m, sizeof(*m), fds, launch_rows[m->type].nfds);
}

int
launch_recv(int sock, enum launch_link link, struct launch_msg *ret_msg,
    int ret_fds[LAUNCH_MAX_FDS])
{
	int fds[FDIO_MAX_FDS], nfds = FDIO_MAX_FDS, error;
	struct launch_msg m;
	size_t len;

	error = fd_recv_msg(sock, &m, sizeof(m), &len, fds, &nfds);
	if (error == EMSGSIZE)
		return EPROTO;
	if (error == ECONNRESET)
		return EPIPE;
	if (error != 0 && error != EMFILE)
		return error;
	if (len == 0 && nfds == 0)
		return EPIPE;
	if (len != sizeof(m) || !launch_valid(&m, link) ||
	    (error == 0 ? nfds != launch_rows[m.type].nfds
			: launch_rows[m.type].nfds == 0) ||
	    (nfds > 0 && ret_fds == NULL)) {
		while (nfds > 0)
			close(fds[--nfds]);
		return EPROTO;
	}
	*ret_msg = m;
	for (int i = 0; ret_fds != NULL && i < LAUNCH_MAX_FDS; i++)
		ret_fds[i] = i < nfds ? fds[i] : -1;
	return 0;
}

const char *
launch_type_name(enum launch_type type)
{
	ASSERT(type > 0 && type < LAUNCH__MAX);
	return launch_rows[type].name;
}

bool
launch_type_passes(enum launch_type type, enum launch_link link)
{
	ASSERT(type > 0 && type < LAUNCH__MAX && link < LAUNCH_LINK__MAX);
	return (launch_rows[type].links & 1U << link) != 0;
}

const char *
launch_type_text(enum launch_type type)
{
	ASSERT(type > 0 && type < LAUNCH__MAX);
	return launch_rows[type].text;
}

const char *
launch_cause_name(enum launch_cause cause)
{
	ASSERT(cause < LAUNCH_CAUSE__MAX);
	return launch_causes[cause];
}
