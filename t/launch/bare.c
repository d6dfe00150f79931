/*
 * bare: the installed headless shell with its own sandbox off, or that of its
 * GPU process only, in place of one that cannot have it, for the test that no
 * page is loaded then.
 */
#include <stdlib.h>
#include <unistd.h>

#include "config.h"

int
main(int argc, char **argv)
{
	static char off[] = BARE_OFF;
	char **args = calloc((size_t)argc + 2, sizeof(*args));

	if (args == NULL)
		return 1;
	for (int i = 0; i < argc; i++)
		args[i] = argv[i];
	args[argc] = off;
	execv(CHROMIUM_DIR "/chromium-headless-shell", args);
	free(args);
	return 127;
}
