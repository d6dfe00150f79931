/*
 * secrets: holds the secret inputs of runs that wait. Runs in the launcher,
 * which outlives supervisord's memory but never looks inside: it passes each
 * on to the cell of its run, with those stored ones that the run names. They
 * are on no disk; what ends the launcher ends them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

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
	struct {
		struct ulid run;
		int fd;
		struct launch_missing missing; /* the first; "": none */
	} giving; /* with stored ones; all zero but fd: nothing */
};

struct secrets *
secrets_new(void)
{
	struct secrets *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->giving.fd = -1;
	return s;
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

static void
giving_clear(struct secrets *s)
{
	fd_close(&s->giving.fd);
	memset(&s->giving, 0, sizeof(s->giving));
	s->giving.fd = -1;
}

/* All of from, whose offset is shared with others and stays. */
static int
copy_bytes(int to, int from, off_t size)
{
	off_t at = 0;
	ssize_t n;

	while (at < size) {
		n = sendfile(to, from, &at, (size_t)(size - at));
		if (n == 0)
			return EIO;
		if (n == -1 && errno != EINTR)
			return errno;
	}
	return 0;
}

/* A memfd that begins with what was kept for the run. */
static int
giving_open(struct secrets *s, const struct ulid *run)
{
	size_t i = secrets_index(s, run);
	struct stat st;

	s->giving.run = *run;
	s->giving.fd = memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->giving.fd == -1)
		return errno;
	if (i == s->count)
		return 0;
	if (fstat(s->list[i].fd, &st) == -1)
		return errno;
	return copy_bytes(s->giving.fd, s->list[i].fd, st.st_size);
}

static int
giving_add(struct secrets *s, const char *name, const struct stored *stored)
{
	uint8_t head[1 + SECRETNAME_BYTES + 4] = { 0 };
	size_t len = 1 + strlen(name) + 1;
	int error = 0;

	memcpy(head + 1, name, len - 1);
	for (size_t f = 0; error == 0 && f < STORED_FILES; f++) {
		for (int i = 0; i < 4; i++)
			head[len++] =
			    (uint8_t)((uint64_t)stored->size[f] >> (8 * i));
		error = fd_write_all(s->giving.fd, head, len);
		if (error == 0)
			error = copy_bytes(
			    s->giving.fd, stored->fd[f], stored->size[f]);
		len = 0;
	}
	return error;
}

void
secrets_add(struct secrets *s, const struct launch_secret_ref *ref,
    const struct stored *stored, int error)
{
	if (memcmp(&s->giving.run, &ref->run, sizeof(ref->run)) != 0) {
		giving_clear(s);
		if (error == 0)
			error = giving_open(s, &ref->run);
	}
	s->giving.run = ref->run;
	if (s->giving.missing.name[0] != '\0')
		return;
	if (error == 0)
		error = giving_add(s, ref->name, stored);
	if (error == 0)
		return;
	s->giving.missing.error = error;
	strlcpy(
	    s->giving.missing.name, ref->name, sizeof(s->giving.missing.name));
}

int
secrets_take(struct secrets *s, const struct ulid *run,
    struct launch_missing *ret_missing)
{
	size_t i = secrets_index(s, run);
	int fd;

	if (memcmp(&s->giving.run, run, sizeof(*run)) != 0) {
		memset(ret_missing, 0, sizeof(*ret_missing));
		return i == s->count ? -1
				     : fcntl(s->list[i].fd, F_DUPFD_CLOEXEC, 0);
	}
	*ret_missing = s->giving.missing;
	fd = s->giving.fd;
	s->giving.fd = -1;
	giving_clear(s);
	if (fd != -1 && fcntl(fd, F_ADD_SEALS, ALL_SEALS) == -1)
		fd_close(&fd);
	if (ret_missing->name[0] != '\0')
		fd_close(&fd);
	return fd;
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
secrets_leave(struct secrets *s)
{
	giving_clear(s);
}

void
secrets_tell(const struct secrets *s,
    void (*send)(void *, const struct launch_msg *), void *arg)
{
	struct launch_msg m;

	for (size_t i = 0; i < s->count; i += m.u.kept.count) {
		launch_msg_init(&m, LAUNCH_SECRET_KEPT, 0);
		while (m.u.kept.count < LAUNCH_SECRETS_TOLD &&
		    i + m.u.kept.count < s->count) {
			m.u.kept.runs[m.u.kept.count] =
			    s->list[i + m.u.kept.count].run;
			m.u.kept.count++;
		}
		send(arg, &m);
	}
}

void
secrets_carry(const struct secrets *s, struct carry *c)
{
	for (size_t i = 0; i < s->count; i++) {
		c->secrets[i].run = s->list[i].run;
		c->secrets[i].fd = s->list[i].fd;
	}
	c->nsecrets = (uint32_t)s->count;
}

void
secrets_restore(struct secrets *s, const struct carry *c)
{
	for (uint32_t i = 0; i < c->nsecrets; i++) {
		s->list[i].run = c->secrets[i].run;
		s->list[i].fd = c->secrets[i].fd;
	}
	s->count = c->nsecrets;
}

void
secrets_clear(struct secrets *s)
{
	while (s->count > 0)
		fd_close(&s->list[--s->count].fd);
	giving_clear(s);
}
