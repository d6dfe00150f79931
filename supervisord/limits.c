/*
 * What a run may use and what becomes of one that wanted more. Runs in
 * supervisord, which only passes the limits on: the kernel, the launcher and
 * the cell hold runs to them, and tell.
 */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisord/limits.h"
#include "supervisord/sup.h"
#include "supervisord/worker_int.h"

void
limits_of_settings(const struct settings *s, struct launch_limits *ret_limits)
{
	struct launch_limits limits = {
		.memory = (uint64_t)s->runMemoryBytes,
		.profile = (uint64_t)s->runProfileBytes,
		.cpu_ms = (uint64_t)s->runCpuMs,
		.processes = (uint32_t)s->runProcesses,
	};

	*ret_limits = limits;
}

static const struct limit_row {
	enum err_code code;
	uint64_t per; /* of what is measured, for one of the unit */
	const char *what, *unit, *setting;
} limit_rows[LAUNCH_OVER__MAX] = {
	[LAUNCH_OVER_MEMORY] = { ERR_MEMORY_LIMIT, 1 << 20, "used",
	    "MiB of memory", "runMemoryBytes" },
	[LAUNCH_OVER_PROCESSES] = { ERR_PROCESS_LIMIT, 1, "had",
	    "processes and threads", "runProcesses" },
	[LAUNCH_OVER_CPU] = { ERR_CPU_LIMIT, 1, "used", "ms of processor time",
	    "runCpuMs" },
	[LAUNCH_OVER_PROFILE] = { ERR_PROFILE_LIMIT, 1 << 20, "stored",
	    "MiB in its profile", "runProfileBytes" },
};

enum err_code
limits_breach(const struct launch_breach *b, char *ret_text, size_t size)
{
	const struct limit_row *row = &limit_rows[b->which];

	snprintf(ret_text, size,
	    "the run %s %llu %s; the limit is %llu (setting %s=%llu)",
	    row->what, (unsigned long long)(b->value / row->per), row->unit,
	    (unsigned long long)(b->limit / row->per), row->setting,
	    (unsigned long long)b->limit);
	return row->code;
}

/*
 * Whatever else was seen of its end, this is why: a browser that may have no
 * more memory or processes fails in many ways. No run goes on in that browser.
 */
void
limits_on_breach(void *ctx, const struct launch_breach *b)
{
	struct cell *c = ctx;
	struct worker *w = c->worker;
	char text[sizeof(w->end.text)];
	enum err_code code = limits_breach(b, text, sizeof(text));

	c->browser_gone = true;
	log_warn("%s%scell %u: %s", w == NULL ? "" : w->name,
	    w == NULL ? "" : ": ", c->id, text);
	if (w != NULL && !w->again) {
		worker_kill(w, code, text);
		w->end.code = code;
		w->end.over = true;
		strlcpy(w->end.text, text, sizeof(w->end.text));
	}
	cell_kill(c);
}

void
limits_on_usage(void *ctx, const struct launch_usage *u)
{
	struct cell *c = ctx;

	if (c->worker != NULL)
		c->worker->end.usage = *u;
}
