/*
 * Deadlines of the link, in the adapter. A service that is there and says
 * nothing, since it hangs or is stopped, is no reason for a call to have no
 * answer: agents give up after a minute, and learn nothing then.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "mcp/link_int.h"

#define ANSWER_MS 12000 /* beyond what a request itself asks to wait */

/* Waits for the first of those sent; forgets the time when there is none. */
static void
link_arm_overdue(struct link *l)
{
	int64_t first = INT64_MAX, left;
	struct link_req *r;
	struct timeval tv;

	TAILQ_FOREACH(r, &l->sent, entry)
		first = r->due_ms < first ? r->due_ms : first;
	if (first == INT64_MAX) {
		event_del(l->overdue);
		return;
	}
	left = first - clock_mono_ms();
	left = left < 1 ? 1 : left;
	tv = (struct timeval){ left / 1000, left % 1000 * 1000 };
	event_add(l->overdue, &tv);
}

void
link_await(struct link *l, struct link_req *r)
{
	int64_t waits_ms = r->params.msg == MSG_RUN_EVENTS
	    ? ipc_int(&r->params, F_TIMEOUT_MS, 0)
	    : 0;

	r->sent_ms = clock_mono_ms();
	r->due_ms = r->sent_ms + waits_ms + ANSWER_MS;
	link_arm_overdue(l);
}

void
link_fail_silent(struct link *l)
{
	char text[FAULT_TEXT_MAX];

	snprintf(text, sizeof(text),
	    "the service at %s does not answer: it is there and says nothing. "
	    "It may hang or be stopped: look at it with browsertaskctl "
	    "doctor, and restart it",
	    l->path);
	link_down(l);
	link_fail_all(l, text);
}

/* The first one that was not answered in time; NULL: there is none. */
static struct link_req *
link_find_overdue(struct link *l)
{
	int64_t now = clock_mono_ms();
	struct link_req *r;

	TAILQ_FOREACH(r, &l->sent, entry)
		if (r->due_ms <= now)
			break;
	return r;
}

/* When the service has said nothing since that was sent, it hangs. */
void
link_on_overdue(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	char json[FAULT_BYTES_MAX];
	struct link_req *r;

	fault_write(json, ERR_SERVICE_UNAVAILABLE,
	    "the service has not answered this request in time, though it "
	    "answers others");
	while ((r = link_find_overdue(l)) != NULL) {
		if (l->heard_ms <= r->sent_ms) {
			link_fail_silent(l);
			return;
		}
		link_forget_sent(l, r);
		link_req_done(r, false, json, strlen(json));
	}
	link_arm_overdue(l);
}
