/*
 * pipe: NUL-ended messages over a pair of non-blocking descriptors. Knows
 * nothing of what is inside a message.
 */
#ifndef CDP_PIPE_H
#define CDP_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct event_base;
struct cdp_pipe;

struct cdp_pipe_ops {
	/* One message without its NUL; borrowed for the call. */
	void (*on_message)(const uint8_t *, size_t len, void *arg);
	/*
	 * The peer closed, an error, or a message beyond the limit. Comes once,
	 * from the loop; the descriptors are closed by then.
	 */
	void (*on_end)(const char *why, void *arg);
};

/*
 * Takes the descriptors on success. NULL when memory ran out. The program
 * ignores SIGPIPE. Messages are at most max_message bytes.
 */
struct cdp_pipe *cdp_pipe_new(struct event_base *, int read_fd, int write_fd,
    size_t max_message, const struct cdp_pipe_ops *, void *arg);
/* Not from inside on_message. */
void cdp_pipe_free(struct cdp_pipe **);
/*
 * Writes the pieces at once as far as the pipe takes them, queues the rest.
 * The last byte must be the NUL. False when ended or the queue would exceed
 * max_queue bytes; nothing is written then.
 */
bool
cdp_pipe_send(struct cdp_pipe *, const struct iovec *, int n, size_t max_queue);
/* Closes both descriptors; on_end comes from the loop. */
void cdp_pipe_close(struct cdp_pipe *, const char *why);
bool cdp_pipe_is_closed(const struct cdp_pipe *);

#endif
