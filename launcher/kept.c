/*
 * kept: removes profiles of sessions that ended while nobody was there to
 * remove them. Runs in the launcher, once per start of supervisord, which alone
 * knows the sessions.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/tree.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launch/launch.h"
#include "launcher/kept.h"
#include "launcher/profiles.h"

struct name {
	RB_ENTRY(name) entry;
	char text[LAUNCH_PROFILE_BYTES];
};

RB_HEAD(name_tree, name);

struct kept {
	struct name_tree names;
};

static int
name_cmp(const struct name *a, const struct name *b)
{
	return strcmp(a->text, b->text);
}

RB_GENERATE_INTERNAL(
    name_tree, name, entry, name_cmp, static __attribute__((unused)))

struct kept *
kept_new(void)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (k != NULL)
		RB_INIT(&k->names);
	return k;
}

void
kept_clear(struct kept *k)
{
	struct name *n;

	while ((n = RB_MIN(name_tree, &k->names)) != NULL) {
		RB_REMOVE(name_tree, &k->names, n);
		free(n);
	}
}

void
kept_free(struct kept **kept)
{
	struct kept *k = *kept;

	*kept = NULL;
	if (k == NULL)
		return;
	kept_clear(k);
	free(k);
}

int
kept_name(struct kept *k, const char *name)
{
	struct name *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return ENOMEM;
	strlcpy(n->text, name, sizeof(n->text));
	if (RB_INSERT(name_tree, &k->names, n) != NULL)
		free(n);
	return 0;
}

static bool
is_named(struct kept *k, const char *text)
{
	struct name key = { .text = "" };

	return strlcpy(key.text, text, sizeof(key.text)) < sizeof(key.text) &&
	    RB_FIND(name_tree, &k->names, &key) != NULL;
}

static void
purge_one(const struct dirs *d, const char *name)
{
	int error = profile_drop(d, name);

	if (error != 0)
		log_err("profile %s: cannot remove: %s", name, strerror(error));
	else
		log_info("profile %s: goes, its session is over", name);
}

void
kept_purge(struct kept *k, const struct dirs *d,
    bool (*in_use)(void *, const char *), void *arg)
{
	int fd = openat(d->kept_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (dir == NULL) {
		log_err("kept profiles: %s", strerror(errno));
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.' && !is_named(k, e->d_name) &&
		    !in_use(arg, e->d_name))
			purge_one(d, e->d_name);
	closedir(dir);
	kept_clear(k);
}
