/* loop: an event loop as the filters of system calls expect it. */
#ifndef COMMON_LOOP_H
#define COMMON_LOOP_H

struct event_base;

/*
 * One that waits with epoll. libevent by itself takes poll() where memory is
 * short for that, which no filter allows. NULL: no memory, or no epoll.
 */
struct event_base *loop_new(void);

#endif
