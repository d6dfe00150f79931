/*
 * lock: the locks by which instances keep apart. One whose owner was killed is
 * free only when the last of the processes that it was just starting is gone,
 * so they are waited for, for a while.
 */
#ifndef LAUNCHER_LOCK_H
#define LAUNCHER_LOCK_H

#define LOCK_WAIT_MS   2000
#define LOCK_WHO_BYTES 64

/*
 * Takes the lock of that open file, for as long as the file is open somewhere.
 * When another has it, that and what is logged and it waits up to LOCK_WAIT_MS.
 * 0, EWOULDBLOCK and who still has it in who, or an errno value.
 */
int lock_take(int fd, const char *what, char who[LOCK_WHO_BYTES]);

#endif
