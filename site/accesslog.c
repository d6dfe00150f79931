/*
 * accesslog: the demo site's memory of what was fetched; one entry per pair
 * of Host and request target. Runs in demosite only. It never grows without
 * bound and never drops a request silently.
 */
#include <sys/queue.h>

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "site/accesslog.h"

struct fetched {
	TAILQ_ENTRY(fetched) link;
	char *host;
	char *target;
	unsigned long count;
};
TAILQ_HEAD(fetched_list, fetched);

struct accesslog {
	void *tree;               /* of tsearch(3), by target and host */
	struct fetched_list list; /* by first request */
	size_t n;
	unsigned long lost;
};

static int
fetched_cmp(const void *va, const void *vb)
{
	const struct fetched *a = va, *b = vb;
	int c = strcmp(a->target, b->target);

	return c != 0 ? c : strcmp(a->host, b->host);
}

struct accesslog *
accesslog_new(void)
{
	struct accesslog *al = calloc(1, sizeof(*al));

	if (al == NULL)
		return NULL;
	TAILQ_INIT(&al->list);
	return al;
}

void
accesslog_free(struct accesslog **p)
{
	if (*p == NULL)
		return;
	accesslog_reset(*p);
	free(*p);
	*p = NULL;
}

static void
fetched_free(struct fetched *e)
{
	if (e == NULL)
		return;
	free(e->host);
	free(e->target);
	free(e);
}

static struct fetched *
fetched_new(const char *host, const char *target)
{
	struct fetched *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->host = strdup(host);
	e->target = strdup(target);
	if (e->host == NULL || e->target == NULL) {
		fetched_free(e);
		return NULL;
	}
	return e;
}

void
accesslog_note(struct accesslog *al, const char *host, const char *target)
{
	struct fetched *e = fetched_new(host, target);
	struct fetched **old;

	old = e == NULL ? NULL : tfind(e, &al->tree, fetched_cmp);
	if (old != NULL) {
		(*old)->count++;
		fetched_free(e);
		return;
	}
	if (e == NULL || al->n >= ACCESSLOG_MAX ||
	    tsearch(e, &al->tree, fetched_cmp) == NULL) {
		al->lost++;
		fetched_free(e);
		return;
	}
	e->count = 1;
	TAILQ_INSERT_TAIL(&al->list, e, link);
	al->n++;
}

void
accesslog_reset(struct accesslog *al)
{
	struct fetched *e;

	while ((e = TAILQ_FIRST(&al->list)) != NULL) {
		TAILQ_REMOVE(&al->list, e, link);
		tdelete(e, &al->tree, fetched_cmp);
		fetched_free(e);
	}
	al->n = 0;
	al->lost = 0;
}

static int
add_json_string(struct evbuffer *out, const char *s)
{
	int bad = evbuffer_add(out, "\"", 1);

	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			bad |= evbuffer_add_printf(out, "\\%c", c) < 0;
		else if (c < 0x20 || c >= 0x7f)
			bad |= evbuffer_add_printf(out, "\\u%04x", c) < 0;
		else
			bad |= evbuffer_add(out, s, 1);
	}
	return bad | evbuffer_add(out, "\"", 1);
}

static int
add_row(struct evbuffer *out, bool first, const char *target, const char *host,
    unsigned long count)
{
	int bad = evbuffer_add_printf(out, "%s\n{\"path\":", first ? "" : ",");

	if (bad < 0 || add_json_string(out, target) != 0)
		return -1;
	if (evbuffer_add_printf(out, ",\"host\":") < 0 ||
	    add_json_string(out, host) != 0)
		return -1;
	return evbuffer_add_printf(out, ",\"count\":%lu}", count) < 0 ? -1 : 0;
}

int
accesslog_write(const struct accesslog *al, struct evbuffer *out)
{
	const struct fetched *e;
	bool first = true;

	if (evbuffer_add(out, "[", 1) != 0)
		return -1;
	TAILQ_FOREACH(e, &al->list, link) {
		if (add_row(out, first, e->target, e->host, e->count) != 0)
			return -1;
		first = false;
	}
	if (al->lost > 0 && add_row(out, first, "", "", al->lost) != 0)
		return -1;
	return evbuffer_add(out, "\n]\n", 3);
}
