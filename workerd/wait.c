/*
 * wait: what coroutines of a template wait for from supervisord: that it reads
 * what was said, and that it has stored that the run changes something. Runs in
 * workerd only. Nothing may change a page before the latter.
 */
#include "workerd/outbox.h"
#include "workerd/report.h"
#include "workerd/run.h"

static void
run_wake(struct run *run, struct run_waiters *waiters)
{
	for (int i = 0; i < SCHED_MAX_TASKS; i++) {
		uint64_t op = waiters->ops[i];

		if (op == 0)
			continue;
		waiters->ops[i] = 0;
		if (!run->over)
			(void)sched_complete(run->sched, op, NULL);
	}
}

static int
run_wait(lua_State *L, struct run *run, struct run_waiters *waiters,
    sched_resume_fn *resume)
{
	int i = 0;

	/* A task waits once, so there is a place unless tasks were dropped. */
	while (i < SCHED_MAX_TASKS - 1 && waiters->ops[i] != 0)
		i++;
	if (waiters->ops[i] != 0)
		return run_raise(L, ERR_INTERNAL, "too many waiting");
	sched_check(run->sched, L);
	waiters->ops[i] = sched_op(run->sched);
	return sched_wait(run->sched, L, waiters->ops[i], resume);
}

void
run_drained(struct run *run)
{
	run_wake(run, &run->draining);
}

int
run_wait_drained(lua_State *L, struct run *run, sched_resume_fn *resume)
{
	return run_wait(L, run, &run->draining, resume);
}

int
run_act(lua_State *L, struct run *run, const char *action, sched_resume_fn *act)
{
	if (run->effect == EFFECT_STORED)
		return act(L, NULL);
	if (run->effect == EFFECT_NONE) {
		run_sent(L, report_effect(run->out, action));
		run->effect = EFFECT_TOLD;
	}
	return run_wait(L, run, &run->acting, act);
}

bool
run_effect_stored(struct run *run, const char **ret_why)
{
	if (run->effect == EFFECT_NONE) {
		*ret_why = "an effect that was never told";
		return false;
	}
	run->effect = EFFECT_STORED;
	run_wake(run, &run->acting);
	return true;
}
