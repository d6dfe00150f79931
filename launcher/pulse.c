/*
 * pulse: asks a child of the launcher for a sign of life, and kills the child
 * when there was none for too long. Runs in the launcher.
 *
 * Silence is counted in ticks of this very loop: while the launcher itself was
 * stopped, or the whole machine, nobody could have been heard. Nor does silence
 * count in which a thread of the child waits for a disk or is held by a debugger,
 * nor, before the first answer, in which the child works: a large store takes
 * time to read.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "launcher/pulse.h"

#define TICKS      5   /* questions in the time of silence that is too long */
#define STAT_BYTES 512 /* of /proc/PID/stat, as far as it is read */
#define PATH_BYTES 64

struct pulse {
	struct child *child;
	const int64_t *hang_ms;
	void (*ask)(void *);
	void *arg;
	struct event *timer;
	pid_t pid; /* who is asked; 0: nobody */
	bool asked, heard;
	int64_t ticked_ms; /* the last tick */
	int64_t silent_ms;
	uint64_t worked; /* ticks of the processor */
};

/* What the kernel says in a file: the state, and how much it has worked. */
static bool
look(const char *path, char *ret_state, uint64_t *ret_worked)
{
	unsigned long long user, kernel;
	char text[STAT_BYTES];
	const char *end;
	size_t n;
	FILE *f;

	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* The name may hold anything, parentheses, too. */
	end = strrchr(text, ')');
	if (end == NULL ||
	    sscanf(end + 1,
		" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
		ret_state, &user, &kernel) != 3)
		return false;
	*ret_worked = user + kernel;
	return true;
}

/* A thread that waits for a disk may be what the one that answers waits for. */
static bool
waits(pid_t pid)
{
	char path[PATH_BYTES], state;
	struct dirent *entry;
	bool found = false;
	uint64_t worked;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat",
		    (int)pid, entry->d_name);
		found = entry->d_name[0] != '.' &&
		    look(path, &state, &worked) &&
		    (state == 'D' || state == 't');
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

/* Whether there is a reason for the silence since the last tick. */
static bool
is_excused(struct pulse *p)
{
	uint64_t before = p->worked;
	char path[PATH_BYTES], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)p->pid);
	if (!look(path, &state, &p->worked))
		return false;
	return waits(p->pid) || (!p->heard && p->worked != before);
}

static void
ask(struct pulse *p)
{
	p->asked = true;
	p->silent_ms = 0;
	p->ask(p->arg);
}

static void
begin(struct pulse *p)
{
	p->pid = p->child->pid;
	p->heard = false;
	ask(p);
}

static void
judge(struct pulse *p, int64_t gone_ms)
{
	if (!p->asked) {
		ask(p);
		return;
	}
	if (is_excused(p))
		return;
	p->silent_ms += gone_ms;
	if (p->silent_ms < *p->hang_ms)
		return;
	log_err("%s has not answered for %lld ms: killed, and started anew",
	    p->child->name, (long long)p->silent_ms);
	p->silent_ms = 0;
	child_signal(p->child, SIGKILL);
}

static int64_t
tick_ms(const struct pulse *p)
{
	return *p->hang_ms / TICKS;
}

static void
arm(struct pulse *p)
{
	int64_t ms = tick_ms(p);
	const struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(p->timer, &tv);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct pulse *p = arg;
	int64_t now = clock_mono_ms(), gone = now - p->ticked_ms;

	p->ticked_ms = now;
	arm(p);
	if (p->child->pid == 0 || p->child->sock == -1)
		p->pid = 0;
	else if (p->pid != p->child->pid)
		begin(p);
	else if (gone < 2 * tick_ms(p))
		judge(p, gone);
	else
		p->silent_ms = 0; /* this process was stopped itself */
}

struct pulse *
pulse_new(struct event_base *base, struct child *child, const int64_t *hang_ms,
    void (*ask_it)(void *), void *arg)
{
	struct pulse *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->child = child;
	p->hang_ms = hang_ms;
	p->ask = ask_it;
	p->arg = arg;
	p->ticked_ms = clock_mono_ms();
	p->timer = evtimer_new(base, on_timer, p);
	if (p->timer == NULL)
		pulse_free(&p);
	else
		arm(p);
	return p;
}

void
pulse_free(struct pulse **pulse)
{
	struct pulse *p = *pulse;

	*pulse = NULL;
	if (p == NULL)
		return;
	if (p->timer != NULL)
		event_free(p->timer);
	free(p);
}

void
pulse_answered(struct pulse *p)
{
	p->asked = false;
	p->heard = true;
	p->silent_ms = 0;
}
