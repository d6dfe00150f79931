/*
 * meter: what the processes of this cell use. Runs in the cell. Without a
 * control group the kernel counts for each process alone and tells nobody, so
 * there is no event to wait for: as long as there is a browser, this looks into
 * /proc once a second, and ten times a second while much is used or use grows
 * fast. It is the only place that looks again and again.
 *
 * Memory is what is each process's own, in memory or swapped out, and what lies
 * in the file systems in memory, once. It counts pages twice that a process
 * shares with the one it was forked from, and does not see memory files that
 * nobody has mapped: that is for pages, which can make none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cell/meter.h"
#include "cell/proc.h"
#include "cell/tree.h"

#define SLOW_MS      1000
#define FAST_MS      100
#define STAT_BYTES   1024
#define STATUS_BYTES 8192
#define INODE_BYTES  1024 /* about, of a file in memory, whatever is in it */
#define TREE_LOOKS   4    /* a profile on a disk is counted every so often */
#define NEWS_BYTES   (UINT64_C(8) << 20)
#define NEWS_MS      1000

void
meter_init(struct meter *m, const struct launch_start *start, int64_t now_ms)
{
	*m = (struct meter){
		.start = start,
		.due_ms =
		    (start->flags & SPAWN_BROWSER) != 0 ? now_ms + SLOW_MS : 0,
	};
}

void
meter_begin(struct meter *m)
{
	m->cpu_before_ms = m->cpu_ms;
	m->peak = m->told = (struct launch_usage){ 0 };
}

int
meter_wait(const struct meter *m, int64_t now_ms)
{
	if (m->due_ms == 0)
		return -1;
	return m->due_ms > now_ms ? (int)MIN(m->due_ms - now_ms, SLOW_MS) : 0;
}

/* One that ended between two steps counts as far as it was seen. */
static void
meter_add_process(int proc, const char *pid, struct proc_use *sum)
{
	static char text[STATUS_BYTES];
	struct proc_use use = { 0 };
	int dir = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir == -1)
		return;
	if (proc_read(dir, "stat", text, STAT_BYTES) > 0 &&
	    proc_parse_stat(text, &use) &&
	    proc_read(dir, "status", text, sizeof(text)) > 0)
		proc_parse_status(text, &use);
	close(dir);
	sum->memory += use.memory;
	sum->ticks += use.ticks;
	sum->threads += use.threads;
}

static bool
meter_add_processes(struct proc_use *sum)
{
	struct dirent *d;
	DIR *proc = opendir("/proc");

	if (proc == NULL)
		return false;
	while ((d = readdir(proc)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			meter_add_process(dirfd(proc), d->d_name, sum);
	closedir(proc);
	return true;
}

/* Of a file system in memory: what lies in it. Of a disk it would be all. */
static uint64_t
place_bytes(const char *path)
{
	struct statvfs st;

	if (statvfs(path, &st) == -1)
		return 0;
	return (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize +
	    (uint64_t)(st.f_files - st.f_ffree) * INODE_BYTES;
}

/* With that the kernel forgets that it is to die with the launcher. */
static void
look_as(uint32_t uid)
{
	setfsuid(uid);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Only its owner may look into the profile; a kept cell can be anybody. */
static uint64_t
disk_bytes(const struct launch_start *s)
{
	uint64_t bytes;

	if (s->change_ids)
		look_as(s->browser_uid);
	bytes = tree_bytes(s->profile_dir, s->limits.profile);
	if (s->change_ids)
		look_as(s->cell_uid);
	return bytes;
}

static void
meter_measure(struct meter *m)
{
	uint64_t tick = (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_use sum = { 0 };
	uint64_t memory, cpu_ms;
	bool in_memory = m->start->in_memory != 0;

	if (!meter_add_processes(&sum))
		return;
	if (in_memory)
		m->stored = place_bytes(m->start->profile_dir);
	else if (m->looks % TREE_LOOKS == 0)
		m->stored = disk_bytes(m->start);
	memory = sum.memory + place_bytes("/tmp") + place_bytes("/dev/shm") +
	    (in_memory ? m->stored : 0);
	cpu_ms = sum.ticks * 1000 / tick;
	m->cpu_ms = MAX(m->cpu_ms, cpu_ms);
	m->now.memory = memory;
	m->now.processes = sum.threads;
	m->now.cpu_ms = m->cpu_ms - m->cpu_before_ms;
	m->peak.memory = MAX(m->peak.memory, memory);
	m->peak.processes = MAX(m->peak.processes, sum.threads);
	m->peak.cpu_ms = m->now.cpu_ms;
}

static bool
breach(struct launch_breach *ret, enum launch_over which, uint64_t limit,
    uint64_t value)
{
	if (value <= limit)
		return false;
	*ret = (struct launch_breach){
		.which = which,
		.limit = limit,
		.value = value,
	};
	return true;
}

bool
meter_look(struct meter *m, int64_t now_ms, struct launch_breach *ret_breach)
{
	const struct launch_limits *l = &m->start->limits;
	uint64_t before = m->now.memory;
	bool busy;

	meter_measure(m);
	m->looks++;
	busy = m->now.memory > l->memory / 2 ||
	    m->now.memory > before + l->memory / 16 ||
	    m->now.processes > l->processes / 2 ||
	    (m->start->in_memory && m->stored > l->profile / 2);
	m->due_ms = now_ms + (busy ? FAST_MS : SLOW_MS);
	return (!m->start->grouped &&
		   (breach(ret_breach, LAUNCH_OVER_MEMORY, l->memory,
			m->now.memory) ||
		       breach(ret_breach, LAUNCH_OVER_PROCESSES, l->processes,
			   m->now.processes))) ||
	    breach(ret_breach, LAUNCH_OVER_PROFILE, l->profile, m->stored) ||
	    (l->cpu_ms != 0 &&
		breach(ret_breach, LAUNCH_OVER_CPU, l->cpu_ms, m->now.cpu_ms));
}

bool
meter_news(struct meter *m, struct launch_usage *ret_usage)
{
	const struct launch_usage *p = &m->peak, *t = &m->told;

	if (p->memory < t->memory + NEWS_BYTES &&
	    p->processes == t->processes && p->cpu_ms < t->cpu_ms + NEWS_MS)
		return false;
	m->told = *ret_usage = *p;
	return true;
}
