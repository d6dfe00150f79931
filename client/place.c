/*
 * Where the service listens: the one answer to "which socket", for every
 * client program. Looks at names only; whether one answers is seen on connect.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "client/client.h"

static bool
place_write(char ret_path[CLIENT_PATH_MAX], int len)
{
	if (len > 0 && len < CLIENT_PATH_MAX)
		return true;
	/* A path that no socket can have must not be cut to another one. */
	ret_path[0] = '\0';
	return true;
}

/*
 * The user's runtime directory. Agents' programs often start others without
 * XDG_RUNTIME_DIR: it is where every login has it.
 */
static void
place_runtime_dir(char *ret, size_t size)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (dir != NULL && dir[0] == '/')
		snprintf(ret, size, "%s", dir);
	else
		snprintf(ret, size, "/run/user/%u", (unsigned)getuid());
}

/*
 * Where a service is that found its directory in /tmp to be somebody else's;
 * before that one, which might keep who asks there waiting.
 */
static int
place_own(char ret_path[CLIENT_PATH_MAX])
{
	const char *dir = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (dir != NULL && dir[0] == '/')
		return snprintf(ret_path, CLIENT_PATH_MAX,
		    "%s/browsertask-run/client.sock", dir);
	if (home != NULL && home[0] == '/')
		return snprintf(ret_path, CLIENT_PATH_MAX,
		    "%s/.local/state/browsertask-run/client.sock", home);
	return 0;
}

bool
client_place(unsigned n, char ret_path[CLIENT_PATH_MAX])
{
	const char *given = getenv("BROWSERTASK_SOCKET");
	char dir[CLIENT_PATH_MAX];

	if (given != NULL && given[0] != '\0')
		return n == 0 &&
		    place_write(ret_path,
			snprintf(ret_path, CLIENT_PATH_MAX, "%s", given));
	if (n == 0)
		return place_write(ret_path,
		    snprintf(ret_path, CLIENT_PATH_MAX, "%s",
			RUNSTATEDIR "/browsertask/client.sock"));
	if (n == 1) {
		place_runtime_dir(dir, sizeof(dir));
		return place_write(ret_path,
		    snprintf(ret_path, CLIENT_PATH_MAX,
			"%s/browsertask/client.sock", dir));
	}
	if (n == 2)
		return place_write(ret_path, place_own(ret_path));
	return n == 3 &&
	    place_write(ret_path,
		snprintf(ret_path, CLIENT_PATH_MAX,
		    "/tmp/browsertask-%u/client.sock", (unsigned)getuid()));
}
