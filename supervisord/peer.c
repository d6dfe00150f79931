/*
 * Admission, in supervisord. It asks the kernel only: the modes of the sockets'
 * files say the same, but they may be made by somebody else. Nothing that the
 * peer sent is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/settings.h"
#include "supervisord/peer.h"

#define GROUPS_MAX 65536 /* a process can have no more */

static bool
groups_have(const gid_t *groups, size_t n, gid_t gid)
{
	for (size_t i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* Its group or one of the others that it had when it connected. */
static bool
peer_in_group(int fd, gid_t own, gid_t gid)
{
	socklen_t len = 0;
	gid_t *groups, none; /* nothing is written there */
	bool found;

	if (own == gid)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &none, &len) == 0 ||
	    errno != ERANGE || len > GROUPS_MAX * sizeof(gid_t) ||
	    (groups = malloc(len)) == NULL)
		return false;
	found = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0 &&
	    groups_have(groups, len / sizeof(gid_t), gid);
	free(groups);
	return found;
}

bool
peer_welcome(int fd, bool admin, bool own_uid_only, const struct settings *s,
    uid_t *ret_uid)
{
	const char *const groups[] = { s->adminGroup,
		admin ? "" : s->clientGroup };
	struct ucred cred = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	socklen_t len = sizeof(cred);

	*ret_uid = (uid_t)-1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return false;
	*ret_uid = cred.uid;
	if (cred.uid == 0 || cred.uid == geteuid())
		return true;
	if (own_uid_only || cred.uid == (uid_t)-1)
		return false;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		int64_t gid = settings_gid(groups[i]);

		if (gid != -1 && peer_in_group(fd, cred.gid, (gid_t)gid))
			return true;
	}
	return false;
}
