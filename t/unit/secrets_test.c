/* What the launcher keeps as the secrets of a run, and what not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher/secrets.h"
#include "t/unit/tap.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define NEEDED (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int
sealed(int seals)
{
	int fd = memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd == -1 || write(fd, "[]", 2) != 2 ||
	    (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) == -1))
		return -1;
	return fd;
}

/* What a worker of the run would read: "(none)", or the text with NULs as |. */
static const char *
given(struct secrets *s, const struct ulid *run)
{
	static char text[256];
	struct launch_missing missing;
	int fd = secrets_take(s, run, &missing);
	ssize_t n;

	if (missing.name[0] != '\0') {
		snprintf(text, sizeof(text), "%s %s", missing.name,
		    strerror(missing.error));
		return fd == -1 ? text : "both";
	}
	if (fd == -1)
		return "(none)";
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n == -1 || write(fd, "x", 1) != -1)
		n = 0;
	close(fd);
	text[n] = '\0';
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = '|';
	return text;
}

static void
add(struct secrets *s, const struct ulid *run, const char *name,
    const char *value, int error)
{
	struct launch_secret_ref ref = { .run = *run };
	const char *const bytes[STORED_FILES] = { value, "a.b" };
	struct stored stored;

	strlcpy(ref.name, name, sizeof(ref.name));
	for (size_t i = 0; i < STORED_FILES; i++) {
		stored.fd[i] = memfd_create("value", MFD_CLOEXEC);
		stored.size[i] = (off_t)strlen(bytes[i]);
		if (write(stored.fd[i], bytes[i], strlen(bytes[i])) == -1)
			error = errno;
	}
	secrets_add(s, &ref, &stored, error);
	for (size_t i = 0; i < STORED_FILES; i++)
		close(stored.fd[i]);
}

static void
test_kept(struct secrets *s, const struct ulid *a, const struct ulid *b)
{
	int fd = sealed(NEEDED), p[2];

	is_int(secrets_keep(s, a, fd), 0, "sealed bytes are kept");
	is_str(given(s, a), "[]", "and given");
	is_str(given(s, a), "[]", "again to a further worker");
	is_str(given(s, b), "(none)", "for their run only");
	fd = sealed(NEEDED | F_SEAL_FUTURE_WRITE);
	is_int(secrets_keep(s, b, fd), 0,
	    "so are those with a seal more, which a system may add");
	is_int(secrets_keep(s, b, sealed(F_SEAL_GROW)), EPROTO,
	    "what can be changed is refused");
	is_int(secrets_keep(s, b, sealed(0)), EPROTO, "so is what has none");
	is_int(pipe(p), 0, "a pipe");
	is_int(secrets_keep(s, b, p[0]), EPROTO, "is none at all");
	close(p[1]);
	is_str(given(s, b), "[]", "what was kept stays");
	secrets_drop(s, b);
	is_str(given(s, b), "(none)", "until it is dropped");
	is_int(fcntl(fd, F_GETFD), -1, "and closed");
}

static void
test_stored(struct secrets *s, const struct ulid *a, const struct ulid *b)
{
	add(s, b, "one", "first", 0);
	add(s, b, "two", "", 0);
	is_str(given(s, b), "|one|\005|||first\003|||a.b|two|||||\003|||a.b",
	    "stored ones, with names and lengths");
	is_str(given(s, b), "(none)", "are given once");
	add(s, a, "one", "first", 0);
	is_str(given(s, a), "[]|one|\005|||first\003|||a.b",
	    "behind what was kept");
	add(s, a, "one", "first", 0);
	add(s, b, "two", "second", 0);
	is_str(given(s, a), "[]", "another run's never");
	is_str(given(s, b), "|two|\006|||second\003|||a.b", "each to its own");
	add(s, b, "one", "first", 0);
	add(s, b, "two", "", ENOENT);
	add(s, b, "three", "third", EPERM);
	is_str(given(s, b), "two No such file or directory",
	    "the first that is missing is named, and nothing given");
}

struct told {
	int messages;
	uint32_t runs;
	bool right; /* each once, in some order */
	bool seen[LAUNCH_SECRETS_MAX];
};

static void
tell(void *arg, const struct launch_msg *m)
{
	struct told *t = arg;

	t->messages++;
	for (uint32_t i = 0; i < m->u.kept.count; i++, t->runs++) {
		const uint8_t *id = m->u.kept.runs[i].b;
		size_t n = (size_t)id[0] << 8 | id[1];

		t->right = t->right && n < LAUNCH_SECRETS_MAX && !t->seen[n];
		if (n < LAUNCH_SECRETS_MAX)
			t->seen[n] = true;
	}
}

static void
test_told(void)
{
	static const size_t counts[] = { 0, 1, LAUNCH_SECRETS_TOLD,
		LAUNCH_SECRETS_TOLD + 1, LAUNCH_SECRETS_MAX };
	struct secrets *s = secrets_new();
	size_t have = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct told t = { .right = true };

		for (; have < counts[i]; have++) {
			struct ulid run = { { (uint8_t)(have >> 8),
			    (uint8_t)have } };

			secrets_keep(s, &run, sealed(NEEDED));
		}
		secrets_leave(s);
		secrets_tell(s, tell, &t);
		is_int(t.runs, counts[i], "each run is told of");
		ok(t.right, "once");
		is_int(t.messages,
		    (counts[i] + LAUNCH_SECRETS_TOLD - 1) / LAUNCH_SECRETS_TOLD,
		    "in no more messages than it takes");
	}
	secrets_free(&s);
}

static void
test_left(struct secrets *s, const struct ulid *a, const struct ulid *b)
{
	add(s, a, "one", "first", 0);
	secrets_leave(s);
	is_str(given(s, a), "[]", "what was being added is let go");
	add(s, b, "one", "", ENOENT);
	secrets_leave(s);
	is_str(given(s, b), "(none)", "and so is what was missing");
}

int
main(void)
{
	const struct ulid a = { { 1 } }, b = { { 2 } };
	struct secrets *s = secrets_new();

	test_kept(s, &a, &b);
	test_stored(s, &a, &b);
	test_left(s, &a, &b);
	test_told();
	secrets_free(&s);
	return done_testing();
}
