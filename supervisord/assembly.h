/*
 * assembly: what is done between a run's last process and its terminal state:
 * its items are counted, its artifacts put together from the spool, its
 * TaskResult written, in slices so that the loop never waits.
 */
#ifndef SUPERVISORD_ASSEMBLY_H
#define SUPERVISORD_ASSEMBLY_H

struct assembly;
struct task;

/*
 * Starts; ends in task_over() when the terminal state is committed. NULL when
 * memory ran out: the run is then settled after the next start.
 */
struct assembly *assembly_new(struct task *);
void assembly_free(struct assembly **);

#endif
