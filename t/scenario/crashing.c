/*
 * The crash points of supervisord/supervisord-test. $BROWSERTASK_TEST_CRASH is NAME:COUNT: at
 * the COUNT-th time that it passes this point it ends by SIGKILL, and so does
 * every one that is started after it. Or it is the name of a file that holds
 * this, of which it is taken out before the end, so that it happens once; a test
 * writes into it whenever it likes, also several with blanks between them, of
 * which each is for when the one before has happened, and NAME:COUNT:stop, by
 * which it only stops until it is continued. Counting begins when the text
 * changes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/crashpoint.h"
#include "common/log.h"

#define PLAN_BYTES 128

static const char *const names[] = {
#define POINT(name, when) #name,
#include "common/crashpoint.def"
#undef POINT
};

static struct {
	int fd; /* of the file; -1: there is none */
	char text[PLAN_BYTES];
	enum crash_point point;
	unsigned long count;
	int sig;
} plan = { .fd = -1, .point = CRASH__MAX };

static void
plan_read(const char *text)
{
	const char *colon = strchr(text, ':');
	char *end;

	if (strcmp(text, plan.text) == 0)
		return;
	strlcpy(plan.text, text, sizeof(plan.text));
	plan.point = CRASH__MAX;
	if (text[0] == '\0')
		return;
	for (int i = 0; colon != NULL && i < CRASH__MAX; i++)
		if (strlen(names[i]) == (size_t)(colon - text) &&
		    strncmp(names[i], text, (size_t)(colon - text)) == 0)
			plan.point = (enum crash_point)i;
	if (plan.point == CRASH__MAX)
		fatal("BROWSERTASK_TEST_CRASH: \"%s\": there is no such point",
		    text);
	plan.count = strtoul(colon + 1, &end, 10);
	plan.sig = strcmp(end, ":stop") == 0 ? SIGSTOP : SIGKILL;
}

static void
plan_look(void)
{
	static bool begun;
	const char *at = getenv("BROWSERTASK_TEST_CRASH");
	char text[PLAN_BYTES] = "";

	/* Once: it can open no such file later. */
	if (!begun && at != NULL && at[0] == '/')
		plan.fd = open(at, O_RDWR | O_CLOEXEC);
	if (!begun && at != NULL && at[0] != '/')
		plan_read(at);
	begun = true;
	if (plan.fd != -1 && pread(plan.fd, text, sizeof(text) - 1, 0) != -1) {
		text[strcspn(text, " \n")] = '\0';
		plan_read(text);
	}
}

/* Takes the first word out of the file. */
static void
plan_shift(void)
{
	char text[PLAN_BYTES] = "", *rest;
	ssize_t n = pread(plan.fd, text, sizeof(text) - 1, 0);
	size_t len;

	rest = text + strcspn(text, " \n");
	rest += strspn(rest, " \n");
	len = strlen(rest);
	if (n == -1 || pwrite(plan.fd, rest, len, 0) != (ssize_t)len ||
	    ftruncate(plan.fd, (off_t)len) == -1)
		fatal("BROWSERTASK_TEST_CRASH: its file cannot be written");
}

void
crashpoint_pass(enum crash_point point)
{
	plan_look();
	if (point != plan.point || plan.count == 0 || --plan.count > 0)
		return;
	if (plan.fd != -1)
		plan_shift();
	raise(plan.sig);
}
