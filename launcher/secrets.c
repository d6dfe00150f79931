/*
 * secrets: holds the secret inputs of runs that wait. Runs in the launcher,
 * which outlives supervisord's memory but never looks inside: it passes each
 * on to the cell of its run. They are on no disk; what ends the launcher or
 * supervisord ends them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launcher/secrets.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct secret {
	struct ulid run;
	int fd;
};

struct secrets {
	size_t count;
	struct secret list[LAUNCH_SECRETS_MAX];
};

struct secrets *
secrets_new(void)
{
	return calloc(1, sizeof(struct secrets));
}

void
secrets_free(struct secrets **secrets)
{
	struct secrets *s = *secrets;

	*secrets = NULL;
	if (s == NULL)
		return;
	secrets_clear(s);
	free(s);
}

static size_t
secrets_index(const struct secrets *s, const struct ulid *run)
{
	size_t i = 0;

	while (i < s->count && memcmp(&s->list[i].run, run, sizeof(*run)) != 0)
		i++;
	return i;
}

/* It may have more of them: some systems forbid what is executable. */
static bool
is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals != -1 && (seals & ALL_SEALS) == ALL_SEALS;
}

int
secrets_keep(struct secrets *s, const struct ulid *run, int fd)
{
	if (fd != -1 && !is_sealed(fd)) {
		fd_close(&fd);
		return EPROTO;
	}
	secrets_drop(s, run);
	if (fd == -1 || s->count == LAUNCH_SECRETS_MAX) {
		log_err("the secrets of a run cannot be kept: %s",
		    fd == -1 ? "no descriptors are left" : "too many");
		fd_close(&fd);
		return 0;
	}
	s->list[s->count].run = *run;
	s->list[s->count].fd = fd;
	s->count++;
	return 0;
}

int
secrets_find(const struct secrets *s, const struct ulid *run)
{
	size_t i = secrets_index(s, run);

	return i == s->count ? -1 : s->list[i].fd;
}

void
secrets_drop(struct secrets *s, const struct ulid *run)
{
	size_t i = secrets_index(s, run);

	if (i == s->count)
		return;
	fd_close(&s->list[i].fd);
	s->list[i] = s->list[--s->count];
}

void
secrets_clear(struct secrets *s)
{
	while (s->count > 0)
		fd_close(&s->list[--s->count].fd);
}
