/*
 * bodies: HTML of any wanted size, and a gzip wrapping, for behaviours.
 */
#ifndef SITE_BODIES_H
#define SITE_BODIES_H

struct evbuffer;

/*
 * Each appends to out and returns 0, or -1 without memory, with out then
 * half filled.
 */
/* A page whose only paragraph has n bytes of text. */
int bodies_add_big(struct evbuffer *out, long n);
/* A page whose main element has n children. */
int bodies_add_dom(struct evbuffer *out, long n);
/* A page of about n bytes of text, packed as small as fixed codes can. */
int bodies_add_bomb(struct evbuffer *out, long n);
/* plain (drained) as a gzip file of stored blocks, RFC 1952 and 1951. */
int bodies_add_gzip(struct evbuffer *out, struct evbuffer *plain);

#endif
