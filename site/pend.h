/*
 * pend: requests whose answer comes later or never. The one place that knows
 * how evhttp behaves when such a client goes away first.
 */
#ifndef SITE_PEND_H
#define SITE_PEND_H

struct event_base;
struct evbuffer;
struct evhttp_request;
struct pend_list;

#define PEND_MAX   256
#define PEND_NEVER (-1)

/*
 * Called when the time is up; the request is no longer pending and must be
 * answered or made pending again. body is what pend_add was given; owned now.
 */
typedef void pend_fn(struct evhttp_request *, struct evbuffer *body, void *arg);

/* base is borrowed until pend_free. NULL without memory. */
struct pend_list *pend_new(struct event_base *);
/* Closes the connections of all that is pending. */
void pend_free(struct pend_list **);
/*
 * Keeps req for ms milliseconds, or PEND_NEVER. If the client goes away
 * before, the request and body (may be NULL) are freed and fn is not called.
 * 0 and body is taken; -1 with PEND_MAX pending or without memory, and req and
 * body stay the caller's.
 */
int pend_add(struct pend_list *, struct evhttp_request *req, int ms,
    pend_fn *fn, struct evbuffer *body, void *arg);

#endif
