/*
 * meter: what the processes of this cell use. Runs in the cell. Without a
 * control group the kernel counts for each process alone and tells nobody, so
 * there is no event to wait for: as long as there is a browser, this looks into
 * /proc about once a second, and up to ten times a second when a page could
 * have reached the limit by then or processes end as soon as they are there. It
 * is the only place that looks again and again. With a control group of its own
 * the kernel knows the processor time of all that ever ran in the cell: then
 * that counts.
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
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cell/meter.h"
#include "cell/proc.h"
#include "cell/tree.h"
#include "common/cgroup.h"

#define SLOW_MS      1000
#define FAST_MS      100
#define FILL_BYTES   (UINT64_C(1) << 20) /* that a page may fill in 1 ms */
#define NSEC_PER_SEC 1000000000U
#define GROUP_BYTES  1024
#define STAT_BYTES   1024
#define STATUS_BYTES 8192
#define INODE_BYTES  1024 /* about, of a file in memory, whatever is in it */
#define TREE_LOOKS   4    /* a profile on a disk is counted every so often */
#define NEWS_BYTES   (UINT64_C(8) << 20)
#define NEWS_MS      1000

/* At no regular times, so that nothing can keep out of their way. */
static int64_t
meter_next(int64_t now_ms, uint32_t about_ms)
{
	return now_ms + about_ms / 2 + arc4random_uniform(about_ms + 1);
}

static int
group_time_open(void)
{
	int dir = cgroup_open_own(), fd;

	if (dir == -1)
		return -1;
	fd = openat(dir, "cpu.stat", O_RDONLY | O_CLOEXEC);
	close(dir);
	return fd;
}

void
meter_init(struct meter *m, const struct launch_start *start, int64_t now_ms)
{
	bool looks = (start->flags & SPAWN_BROWSER) != 0;

	*m = (struct meter){
		.start = start,
		.group_time = looks && start->grouped ? group_time_open() : -1,
		.looked_ms = now_ms,
		.due_ms = looks ? meter_next(now_ms, SLOW_MS) : 0,
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
	return m->due_ms > now_ms ? (int)MIN(m->due_ms - now_ms, 2 * SLOW_MS)
				  : 0;
}

/* One that ended between two steps counts as far as it was seen. */
static void
meter_add_process(struct meter *m, int proc, const char *pid)
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
	m->now.memory += use.memory;
	m->now.processes += use.threads;
	if (use.threads > 0)
		ledger_add(&m->ledger, (uint32_t)strtoul(pid, NULL, 10), &use);
}

/* All processes; false when nothing can be seen. */
static bool
meter_add_processes(struct meter *m)
{
	struct dirent *d;
	DIR *proc = opendir("/proc");

	if (proc == NULL)
		return false;
	m->now.memory = 0;
	m->now.processes = 0;
	while ((d = readdir(proc)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			meter_add_process(m, dirfd(proc), d->d_name);
	closedir(proc);
	return true;
}

/* Of all that ever ran in the group; false when it does not say. */
static bool
group_time_read(int fd, uint64_t *ret_ms)
{
	char text[GROUP_BYTES];
	uint64_t us;
	ssize_t n;

	if (fd == -1 || lseek(fd, 0, SEEK_SET) == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	us = cgroup_number(text, "usage_usec");
	*ret_ms = us / 1000;
	return us != 0;
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

/*
 * Only its owner may look into the profile; a kept cell can be anybody, another
 * one would be ended for trying.
 */
static uint64_t
disk_bytes(const struct launch_start *s)
{
	uint64_t bytes;

	if (s->change_ids && (s->flags & SPAWN_KEEP) == 0)
		return 0;
	if (s->change_ids)
		look_as(s->browser_uid);
	bytes = tree_bytes(s->profile_dir, s->limits.profile);
	if (s->change_ids)
		look_as(s->cell_uid);
	return bytes;
}

/* Processes, and the time that they have used. */
static bool
meter_count(struct meter *m, int64_t now_ms, uint64_t *ret_cpu_ms)
{
	uint64_t tick = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t step = (uint64_t)(now_ms - m->looked_ms) * tick / 1000;
	struct timespec up = { 0 };

	clock_gettime(CLOCK_BOOTTIME, &up);
	ledger_begin(&m->ledger, step,
	    (uint64_t)up.tv_sec * tick +
		(uint64_t)up.tv_nsec * tick / NSEC_PER_SEC);
	if (!meter_add_processes(m))
		return false;
	m->looked_ms = now_ms;
	*ret_cpu_ms = ledger_end(&m->ledger) * 1000 / tick;
	group_time_read(m->group_time, ret_cpu_ms);
	return true;
}

static void
meter_measure(struct meter *m, int64_t now_ms)
{
	bool in_memory = m->start->in_memory != 0;
	uint64_t cpu_ms;

	if (!meter_count(m, now_ms, &cpu_ms))
		return;
	if (in_memory)
		m->stored = place_bytes(m->start->profile_dir);
	else if (m->looks % TREE_LOOKS == 0)
		m->stored = disk_bytes(m->start);
	m->now.memory += place_bytes("/tmp") + place_bytes("/dev/shm") +
	    (in_memory ? m->stored : 0);
	m->cpu_ms = MAX(m->cpu_ms, cpu_ms);
	m->now.cpu_ms = m->cpu_ms - m->cpu_before_ms;
	m->peak.memory = MAX(m->peak.memory, m->now.memory);
	m->peak.processes = MAX(m->peak.processes, m->now.processes);
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

/* Where a page that grows is ended, so that the run is not. */
static uint64_t
memory_near(const struct launch_limits *l)
{
	return l->memory - l->memory / 4;
}

/* Until the next look: less when a page could have got there by then. */
static uint32_t
meter_pace(const struct meter *m)
{
	const struct launch_limits *l = &m->start->limits;
	uint64_t near = memory_near(l), left;

	if (m->now.processes > l->processes / 2 ||
	    (m->start->in_memory && m->stored > l->profile / 2) ||
	    (m->ledger.hidden && m->group_time == -1))
		return FAST_MS;
	left = near > m->now.memory ? (near - m->now.memory) / FILL_BYTES : 0;
	return (uint32_t)MIN(MAX(left, FAST_MS), SLOW_MS);
}

bool
meter_look(struct meter *m, int64_t now_ms, struct launch_breach *ret_breach)
{
	const struct launch_limits *l = &m->start->limits;
	bool relieved;

	meter_measure(m, now_ms);
	m->looks++;
	m->due_ms = meter_next(now_ms, meter_pace(m));
	relieved = m->now.memory > memory_near(l) &&
	    relief_seek(&m->relief, l->memory, now_ms);
	return (!m->start->grouped && !relieved &&
		   breach(ret_breach, LAUNCH_OVER_MEMORY, l->memory,
		       m->now.memory)) ||
	    (!m->start->grouped &&
		breach(ret_breach, LAUNCH_OVER_PROCESSES, l->processes,
		    m->now.processes)) ||
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
