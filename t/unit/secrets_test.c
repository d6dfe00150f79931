/* What the launcher keeps as the secrets of a run, and what not. */
#include <errno.h>
#include <fcntl.h>
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

int
main(void)
{
	const struct ulid a = { { 1 } }, b = { { 2 } };
	struct secrets *s = secrets_new();
	int fd = sealed(NEEDED), p[2];

	is_int(secrets_keep(s, &a, fd), 0, "sealed bytes are kept");
	is_int(secrets_find(s, &a), fd, "and found");
	is_int(secrets_find(s, &b), -1, "for their run only");
	fd = sealed(NEEDED | F_SEAL_FUTURE_WRITE);
	is_int(secrets_keep(s, &b, fd), 0,
	    "so are those with a seal more, which a system may add");
	is_int(secrets_find(s, &b), fd, "and found");
	is_int(secrets_keep(s, &b, sealed(F_SEAL_GROW)), EPROTO,
	    "what can be changed is refused");
	is_int(secrets_keep(s, &b, sealed(0)), EPROTO, "so is what has none");
	is_int(pipe(p), 0, "a pipe");
	is_int(secrets_keep(s, &b, p[0]), EPROTO, "is none at all");
	close(p[1]);
	is_int(secrets_find(s, &b), fd, "what was kept stays");
	secrets_drop(s, &b);
	is_int(secrets_find(s, &b), -1, "until it is dropped");
	is_int(fcntl(fd, F_GETFD), -1, "and closed");
	secrets_free(&s);
	return done_testing();
}
