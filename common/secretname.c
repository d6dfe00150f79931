/* Names of stored secrets, and where they are. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/secretname.h"

bool
secretname_good(const char *name)
{
	static const char may[] = "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name), end = strlen(SECRETNAME_HOSTS);

	if (len > end && strcmp(name + len - end, SECRETNAME_HOSTS) == 0)
		return false;
	return len > 0 && len < SECRETNAME_BYTES &&
	    isalpha((unsigned char)name[0]) && strspn(name, may) == len;
}

bool
secretname_dir(bool root, const char *sysconfdir, char *dst, size_t size)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int n = -1;

	if (root)
		n = snprintf(dst, size, "%s/browsertask/secrets", sysconfdir);
	else if (xdg != NULL && xdg[0] == '/')
		n = snprintf(dst, size, "%s/browsertask/secrets", xdg);
	else if (home != NULL && home[0] == '/')
		n = snprintf(dst, size, "%s/.config/browsertask/secrets", home);
	return n > 0 && (size_t)n < size;
}
