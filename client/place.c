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

bool
client_place(unsigned n, char ret_path[CLIENT_PATH_MAX])
{
	const char *given = getenv("BROWSERTASK_SOCKET");
	const char *dir = getenv("XDG_RUNTIME_DIR");
	bool have_dir = dir != NULL && dir[0] == '/';

	if (given != NULL && given[0] != '\0')
		return n == 0 &&
		    place_write(ret_path,
			snprintf(ret_path, CLIENT_PATH_MAX, "%s", given));
	if (n == 0)
		return place_write(ret_path,
		    snprintf(ret_path, CLIENT_PATH_MAX, "%s",
			RUNSTATEDIR "/browsertask/client.sock"));
	if (n == 1 && have_dir)
		return place_write(ret_path,
		    snprintf(ret_path, CLIENT_PATH_MAX,
			"%s/browsertask/client.sock", dir));
	if (n == (have_dir ? 2 : 1))
		return place_write(ret_path,
		    snprintf(ret_path, CLIENT_PATH_MAX,
			"/tmp/browsertask-%u/client.sock", (unsigned)getuid()));
	return false;
}
