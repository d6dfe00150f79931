/*
 * watchdog: systemd ends a service that is silent for too long (WatchdogSec=).
 * Runs in the launcher and says that the launcher's loop runs. A supervisord or
 * an egressd that hangs is the launcher's own matter (pulse.c): runs go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/notify.h"
#include "launcher/watchdog.h"

#define LEAST_USEC 1000000LL
#define MOST_USEC  86400000000LL

struct watchdog {
	struct event *timer; /* NULL: systemd does not ask */
	long long usec;
};

/* What systemd asks of this very process; 0: nothing. */
static long long
watchdog_asked(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid;
	const char *wrong;
	long long n;

	if (usec == NULL)
		return 0;
	pid = getenv("WATCHDOG_PID");
	if (pid != NULL && strtonum(pid, 1, INT32_MAX, &wrong) != getpid())
		return 0;
	n = strtonum(usec, LEAST_USEC, MOST_USEC, &wrong);
	if (wrong != NULL)
		log_warn("WATCHDOG_USEC is %s: not heeded", wrong);
	return n;
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	notify_systemd("WATCHDOG=1");
}

struct watchdog *
watchdog_new(struct event_base *base)
{
	struct watchdog *w = calloc(1, sizeof(*w));
	long long usec = watchdog_asked();
	struct timeval tv = { usec / 2 / 1000000, usec / 2 % 1000000 };

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (w == NULL)
		return NULL;
	w->usec = usec;
	if (usec == 0)
		return w;
	w->timer = event_new(base, -1, EV_PERSIST, on_timer, w);
	if (w->timer == NULL || event_add(w->timer, &tv) == -1)
		watchdog_free(&w);
	return w;
}

void
watchdog_free(struct watchdog **watchdog)
{
	struct watchdog *w = *watchdog;

	*watchdog = NULL;
	if (w == NULL)
		return;
	if (w->timer != NULL)
		event_free(w->timer);
	free(w);
}

void
watchdog_hand_on(const struct watchdog *w)
{
	char text[32];

	if (w->usec == 0)
		return;
	snprintf(text, sizeof(text), "%lld", w->usec);
	setenv("WATCHDOG_USEC", text, 1);
}
