/*
 * fdio: the few things done with bare file descriptors in every program.
 * All return 0 or a positive errno value, so that a caller decides.
 */
#ifndef COMMON_FDIO_H
#define COMMON_FDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FDIO_MAX_FDS   4
#define FDIO_WHY_BYTES 80

/*
 * Opens /dev/null as 0, 1 and 2 where one is closed: else the next thing that
 * is opened becomes standard error, and is written to and passed on as such.
 */
int fd_open_standard(void);
int fd_set_nonblock(int fd);
int fd_set_cloexec(int fd, int on);
/* Closes *fd unless it is -1 and sets it to -1. */
void fd_close(int *fd);
/* Writes all len bytes to a blocking descriptor. */
int fd_write_all(int fd, const void *, size_t len);
/*
 * One packet with up to FDIO_MAX_FDS descriptors over a Unix socket. Sending
 * keeps the sender's descriptors open.
 */
int fd_send_msg(int sock, const void *, size_t len, const int *fds, int nfds);
/*
 * Receives one packet. *ret_nfds holds the room in fds and becomes the number
 * received (close-on-exec, owned by the caller). *ret_len 0 means end of file.
 * EMSGSIZE when packet or descriptors did not fit; none are kept then. EMFILE
 * when no descriptor can be had for some: the packet is whole, *ret_nfds 0.
 */
int fd_recv_msg(
    int sock, void *, size_t size, size_t *ret_len, int *fds, int *ret_nfds);
/*
 * Whether the program was started with first to last open, and of those above
 * 2 with no others: these were leaked by whoever started it. They become
 * close-on-exec. False: ret_why says what is wrong.
 */
bool fd_check_inherited(int first, int last, char ret_why[FDIO_WHY_BYTES]);
/* Moves fd to the number target (dup2 and close), keeping it open on exec. */
int fd_move(int fd, int target);
/*
 * Whether a directory has nothing in it, but for the lost+found of a file
 * system; false also when it cannot be read.
 */
bool fd_dir_is_empty(int fd);

#endif
