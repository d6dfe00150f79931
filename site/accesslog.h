/*
 * accesslog: how often each request target was asked for, per Host, so that
 * a test can prove that no page was fetched twice. Kept in memory only.
 */
#ifndef SITE_ACCESSLOG_H
#define SITE_ACCESSLOG_H

struct accesslog;
struct evbuffer;

/* NULL when memory runs out. */
struct accesslog *accesslog_new(void);
void accesslog_free(struct accesslog **);
/*
 * Counts one request. Beyond ACCESSLOG_MAX different pairs, or without
 * memory, the request is counted as lost and only as that.
 */
#define ACCESSLOG_MAX 65536
void accesslog_note(struct accesslog *, const char *host, const char *target);
void accesslog_reset(struct accesslog *);
/*
 * Appends a JSON array of {"path","host","count"} in order of first request;
 * lost requests are a last element with an empty path. Bytes beyond ASCII
 * are written as \u00XX. 0, or -1 without memory (out is then half filled).
 */
int accesslog_write(const struct accesslog *, struct evbuffer *out);

#endif
