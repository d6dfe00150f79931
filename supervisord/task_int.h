/*
 * task_int: what the files of task share.
 */
#ifndef SUPERVISORD_TASK_INT_H
#define SUPERVISORD_TASK_INT_H

#include "supervisord/task.h"
#include "supervisord/worker.h"

RB_HEAD(task_tree, task);

struct tasks {
	struct sup *sup;
	struct task_tree tree;
	struct sched queue;
	struct event *pump;
	size_t active, settling;
	size_t reserved; /* places of runs that are being committed */
	void (*on_idle)(struct sup *);
	bool may_be_active; /* when that is called */
};

void tasks_insert(struct tasks *, struct task *);
/* Out of the tree and the queue. */
void tasks_remove(struct tasks *, struct task *);
void tasks_check_idle(struct tasks *);
/* Whether it holds a slot. */
void task_set_active(struct task *, bool active);
/* Takes a slot: persists that it runs, then orders its cell. */
void task_start(struct task *);
/* Has it ended when what is left of its time is over; false without memory. */
bool task_arm_deadline(struct task *);
/* Hands it to its worker when all that this waits for has come. */
void task_try_begin(struct task *);

/* Ends the processes, if there are any, else the run. */
void task_stop(struct task *, const char *reason);
/* Reads what its options say of how it runs; false when it cannot. */
bool task_options(struct task *);
extern const struct worker_ops task_worker_ops;

/* Runs of a supervisord before, in task_adopt.c. */

/* For worker_ops. */
void task_on_resumed(void *ctx, enum worker_resumed);
/* Its worker ended while nobody had it, whenever that is noticed. */
void task_on_unanswered(struct task *, const struct worker_end *);
/* Its processes are gone and it may begin once more. */
void task_go_again(struct task *);

/* Where it may go, in task_egress.c. */

/*
 * Has egressd told of it and of its cell, which may be another than before.
 * False: no memory.
 */
bool task_egress_bind(struct task *);
/* Its worker says that it is over. */
void task_egress_unbind(struct task *);

#endif
