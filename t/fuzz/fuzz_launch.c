/*
 * The receiver of launch messages. The first byte is the link, the second how
 * many descriptors come with the packet, the rest is the packet. What is
 * accepted has good fields and may be sent as it is; no descriptor is lost.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "launch/launch.h"
#include "t/fuzz/fuzz.h"

static bool
ends(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

static void
check_spawn(const struct launch_spawn *sp)
{
	ASSERT(sp->worker_slot < LAUNCH_WORKER_SLOTS);
	ASSERT(sp->browser_slot < LAUNCH_BROWSER_SLOTS);
	ASSERT(sp->flags <= SPAWN__ALL);
	ASSERT(
	    (sp->flags & SPAWN_KEEP) == 0 || (sp->flags & SPAWN_BROWSER) != 0);
	ASSERT(ends(sp->profile, sizeof(sp->profile)));
	ASSERT(strpbrk(sp->profile, "/.") == NULL);
	ASSERT(ends(sp->name, sizeof(sp->name)));
	ASSERT(strpbrk(sp->name, "\n: ") == NULL);
	ASSERT(sp->limits.memory >= LAUNCH_MEMORY_LEAST);
	ASSERT(sp->limits.profile >= LAUNCH_PROFILE_LEAST);
	ASSERT(sp->limits.processes >= LAUNCH_PROCESSES_LEAST);
}

static void
check_fields(const struct launch_msg *m, enum launch_link link)
{
	const struct launch_start *st = &m->u.start;
	const struct launch_profile *pr = &m->u.profile;

	ASSERT(m->magic == LAUNCH_MAGIC && m->version == LAUNCH_VERSION);
	ASSERT(launch_type_name((enum launch_type)m->type) != NULL);
	switch (m->type) {
	case LAUNCH_SPAWN:
		ASSERT(link == LAUNCH_FROM_SUPERVISORD);
		check_spawn(&m->u.spawn);
		break;
	case LAUNCH_LIMIT:
		ASSERT(m->u.breach.which < LAUNCH_OVER__MAX);
		break;
	case LAUNCH_READY:
		ASSERT(link == LAUNCH_TO_SUPERVISORD);
		ASSERT(m->u.ready.browser < LAUNCH_BROWSER__MAX);
		break;
	case LAUNCH_REAPED:
		ASSERT(m->u.reaped.cause < LAUNCH_CAUSE__MAX);
		ASSERT(ends(m->u.reaped.stage, sizeof(m->u.reaped.stage)));
		break;
	case LAUNCH_FAILED:
		ASSERT(ends(m->u.failed.stage, sizeof(m->u.failed.stage)));
		break;
	case LAUNCH_START:
		ASSERT(link == LAUNCH_TO_CELL);
		ASSERT(st->flags <= SPAWN__ALL && st->change_ids <= 1);
		ASSERT(st->browser < LAUNCH_BROWSER__MAX);
		ASSERT(st->limits.memory >= LAUNCH_MEMORY_LEAST);
		ASSERT(ends(st->profile_dir, sizeof(st->profile_dir)));
		break;
	case LAUNCH_SETTING:
		ASSERT(
		    link == LAUNCH_TO_SUPERVISORD || link == LAUNCH_TO_EGRESSD);
		ASSERT(ends(m->u.setting.name, sizeof(m->u.setting.name)));
		ASSERT(ends(m->u.setting.value, sizeof(m->u.setting.value)));
		break;
	case LAUNCH_ADOPT:
		ASSERT(link == LAUNCH_TO_SUPERVISORD);
		check_spawn(&m->u.adopt.spawn);
		ASSERT(m->u.adopt.browser < LAUNCH_BROWSER__MAX);
		ASSERT(m->u.adopt.has_worker == 1 ||
		    m->u.adopt.spawn.name[0] == '\0');
		break;
	case LAUNCH_ADOPT_END:
		ASSERT(m->cell_id == 0);
		ASSERT(m->u.adopt_end.count <= LAUNCH_WORKER_SLOTS &&
		    m->u.adopt_end.inspected <= 1 &&
		    m->u.adopt_end.renewal < LAUNCH_RENEWAL__MAX &&
		    m->u.adopt_end.last <= 1);
		break;
	case LAUNCH_SECRET_KEPT:
		ASSERT(m->cell_id == 0 && m->u.kept.count > 0);
		ASSERT(m->u.kept.count <= LAUNCH_SECRETS_TOLD);
		break;
	case LAUNCH_NAME:
	case LAUNCH_WORKER:
		ASSERT(link == LAUNCH_FROM_SUPERVISORD);
		ASSERT(ends(m->u.worker.name, sizeof(m->u.worker.name)));
		ASSERT(strpbrk(m->u.worker.name, "\n: ") == NULL);
		break;
	case LAUNCH_FORGET:
	case LAUNCH_KNOWN:
		ASSERT(link == LAUNCH_FROM_SUPERVISORD && m->cell_id == 0);
		ASSERT(ends(pr->name, sizeof(pr->name)));
		ASSERT(pr->name[0] != '\0');
		ASSERT(strpbrk(pr->name, "/.") == NULL);
		break;
	case LAUNCH_SECRET:
	case LAUNCH_SECRET_FEED:
	case LAUNCH_EGRESS:
	case LAUNCH_EGRESS_DOWN:
	case LAUNCH_EGRESS_LINK:
	case LAUNCH_RESTART:
		ASSERT(m->cell_id == 0);
		break;
	default:
		break;
	}
}

static void
send_on(int sock, int peer, enum launch_link link, const struct launch_msg *m,
    const int *fds)
{
	int got[LAUNCH_MAX_FDS] = { -1, -1 };
	struct launch_msg back;

	ASSERT(launch_send(sock, link, m, fds) == 0);
	ASSERT(launch_recv(peer, link, &back, got) == 0);
	ASSERT(memcmp(m, &back, sizeof(back)) == 0);
	fd_close(&got[0]);
	fd_close(&got[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int pair[2], fds[LAUNCH_MAX_FDS] = { -7, -7 }, nfds, lowest, error;
	int send_fds[FDIO_MAX_FDS] = { 2, 2, 2, 2 };
	enum launch_link link;
	struct launch_msg m, before;

	if (size < 2)
		return 0;
	link = (enum launch_link)(bytes[0] % LAUNCH_LINK__MAX);
	nfds = bytes[1] % (FDIO_MAX_FDS + 1);
	lowest = dup(2);
	ASSERT(lowest != -1);
	close(lowest);
	ASSERT(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
		0, pair) == 0);
	memset(&m, 0x5a, sizeof(m));
	before = m;
	if (fd_send_msg(pair[0], bytes + 2, size - 2, send_fds, nfds) == 0) {
		error = launch_recv(pair[1], link, &m, fds);
		ASSERT(error == 0 || error == EPROTO || error == EPIPE);
		if (error == 0) {
			ASSERT(size - 2 == sizeof(m));
			check_fields(&m, link);
			send_on(
			    pair[0], pair[1], link, &m, nfds > 0 ? fds : NULL);
			fd_close(&fds[0]);
			fd_close(&fds[1]);
		} else {
			ASSERT(memcmp(&m, &before, sizeof(m)) == 0);
			ASSERT(fds[0] == -7 && fds[1] == -7);
		}
	}
	close(pair[0]);
	close(pair[1]);
	/* The next descriptor is the one that was free before. */
	nfds = dup(2);
	ASSERT(nfds == lowest);
	close(nfds);
	return 0;
}
