/* device: what the sessions of pages and frames are told of their reader. */
#ifndef PAGE_DEVICE_H
#define PAGE_DEVICE_H

struct browser;
struct cdp_session;
struct page;

/* The size of the window: of a page's own session. */
void device_tell_size(struct page *);
/* All else: of a page's session, and of each of its frames of other sites. */
void device_tell(struct browser *, struct cdp_session *);

#endif
