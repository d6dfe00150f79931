/*
 * Who waits for what, in supervisord.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "supervisord/client.h"
#include "supervisord/task.h"
#include "supervisord/watch.h"

struct watch *
watch_new(enum watch_kind kind, struct client *client, struct task *task,
    const struct ulid *run, uint32_t seq)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->kind = kind;
	w->client = client;
	w->task = task;
	w->run = *run;
	w->seq = seq;
	client_count_waiting(client, true);
	TAILQ_INSERT_TAIL(client_watches(client), w, by_client);
	if (task != NULL)
		TAILQ_INSERT_TAIL(&task->watches, w, by_task);
	return w;
}

void
watch_detach(struct watch *w)
{
	if (w->task == NULL)
		return;
	TAILQ_REMOVE(&w->task->watches, w, by_task);
	w->task = NULL;
}

void
watch_free(struct watch **watch)
{
	struct watch *w = *watch;

	if (w == NULL)
		return;
	watch_detach(w);
	if (w->owner != NULL)
		*w->owner = NULL;
	client_count_waiting(w->client, false);
	TAILQ_REMOVE(client_watches(w->client), w, by_client);
	if (w->timer != NULL)
		event_free(w->timer);
	*watch = NULL;
	free(w->state);
	free(w);
}

bool
watch_arm(struct watch *w, struct event_base *base, int64_t ms,
    void (*on_timer)(int, short, void *))
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000 };

	w->timer = evtimer_new(base, on_timer, w);
	return w->timer != NULL && evtimer_add(w->timer, &tv) == 0;
}
