/*
 * begin: hands a run to its worker.
 */
#ifndef SUPERVISORD_BEGIN_H
#define SUPERVISORD_BEGIN_H

#include <stdbool.h>

struct task;

/*
 * Sends run.begin, the inputs, the journal of earlier attempts and run.go.
 * False when the inputs cannot be read or the worker not be reached.
 */
bool begin_run(struct task *);

#endif
