/*
 * The committer thread. Runs in supervisord, which has no other thread. It
 * calls the job and nothing else: no log, no memory of the loop's, no signal.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "storage/committer.h"

#define COMMITTER_MAGIC 0x636f6d6du
#define STACK_BYTES     (1024 * 1024)

enum committer_state {
	COMMITTER_STARTS,
	COMMITTER_IDLE,
	COMMITTER_WORKS,
	COMMITTER_OVER,
	COMMITTER_ENDS
};

struct committer {
	uint32_t magic;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	enum committer_state state;
	committer_fn *fn;
	void *arg;
	int fd;
};

static void
state_set(struct committer *c, enum committer_state state)
{
	c->state = state;
	pthread_cond_broadcast(&c->changed);
}

static void
work(struct committer *c)
{
	static const uint64_t one = 1;

	pthread_mutex_unlock(&c->lock);
	c->fn(c->arg);
	pthread_mutex_lock(&c->lock);
	state_set(c, COMMITTER_OVER);
	if (write(c->fd, &one, sizeof(one)) != sizeof(one))
		panic("the committer cannot tell that a job is over");
}

static void *
committer_main(void *arg)
{
	struct committer *c = arg;

	pthread_mutex_lock(&c->lock);
	state_set(c, COMMITTER_IDLE);
	while (c->state != COMMITTER_ENDS) {
		if (c->state == COMMITTER_WORKS)
			work(c);
		else
			pthread_cond_wait(&c->changed, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Signals are for the loop. */
static int
thread_start(struct committer *c)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int error;

	if ((error = pthread_attr_init(&attr)) != 0)
		return error;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (error == 0)
		error = pthread_create(&c->thread, &attr, committer_main, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return error;
}

int
committer_new(struct committer **ret_committer)
{
	struct committer *c = calloc(1, sizeof(*c));
	int error;

	if (c == NULL)
		return ENOMEM;
	c->magic = COMMITTER_MAGIC;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = c->fd == -1 ? errno : thread_start(c);
	if (error != 0) {
		fd_close(&c->fd);
		free(c);
		return error;
	}
	pthread_mutex_lock(&c->lock);
	while (c->state == COMMITTER_STARTS)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	*ret_committer = c;
	return 0;
}

void
committer_start(struct committer *c, committer_fn *fn, void *arg)
{
	MAGIC_CHECK(c, COMMITTER_MAGIC);
	pthread_mutex_lock(&c->lock);
	ASSERT(c->state == COMMITTER_IDLE);
	c->fn = fn;
	c->arg = arg;
	state_set(c, COMMITTER_WORKS);
	pthread_mutex_unlock(&c->lock);
}

bool
committer_is_over(struct committer *c)
{
	uint64_t count;
	bool over;

	MAGIC_CHECK(c, COMMITTER_MAGIC);
	pthread_mutex_lock(&c->lock);
	over = c->state == COMMITTER_OVER;
	if (over)
		state_set(c, COMMITTER_IDLE);
	pthread_mutex_unlock(&c->lock);
	if (over && read(c->fd, &count, sizeof(count)) != sizeof(count))
		panic("a job of the committer is over and was not told");
	return over;
}

void
committer_wait(struct committer *c)
{
	MAGIC_CHECK(c, COMMITTER_MAGIC);
	pthread_mutex_lock(&c->lock);
	while (c->state == COMMITTER_WORKS)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

int
committer_fd(const struct committer *c)
{
	return c->fd;
}

void
committer_free(struct committer **cp)
{
	struct committer *c = *cp;

	if (c == NULL)
		return;
	MAGIC_CHECK(c, COMMITTER_MAGIC);
	pthread_mutex_lock(&c->lock);
	ASSERT(c->state == COMMITTER_IDLE);
	state_set(c, COMMITTER_ENDS);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	fd_close(&c->fd);
	c->magic = 0;
	free(c);
	*cp = NULL;
}
