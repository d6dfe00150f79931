/* fds: the numbers of the descriptors a cell is started with. */
#ifndef CELL_FDS_H
#define CELL_FDS_H

enum cell_fd {
	CELL_FD_LAUNCHER = 3,
	CELL_FD_WORKER_CDP_IN,  /* kept for the worker to come */
	CELL_FD_WORKER_CDP_OUT, /* kept for the worker to come */
	CELL_FD_BROWSER_CDP_IN, /* from here on closed after the forks */
	CELL_FD_BROWSER_CDP_OUT,
	CELL_FD_WORKER_IPC,
	CELL_FD_WORKER_PROGRAM,
	CELL_FD_BROWSER_PROGRAM,
	CELL_FD__MAX
};

#endif
