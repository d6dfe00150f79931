/* start: what workerd was started with. */
#ifndef WORKERD_START_H
#define WORKERD_START_H

#include <stdbool.h>
#include <stdint.h>

/* Ends the process when they are none that the cell gives. */
void start_arguments(
    int argc, char **argv, bool *ret_describing, uint32_t *ret_generation);
/* Ends the process unless 0 to needed are open and none above last is. */
void start_check_fds(int needed, int last);
void start_ignore_signals(void);
void start_let_writer_finish(void);

#endif
