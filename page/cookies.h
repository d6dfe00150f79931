/*
 * cookies: what a page's site has set.
 */
#ifndef PAGE_COOKIES_H
#define PAGE_COOKIES_H

#include <stdbool.h>

#include "page/page.h"

/*
 * The cookies that the page and its frames send: {"count","changed"}. changed
 * counts those that a session may be kept in (no script can read them, or their
 * name says so) and that are new or have another value than at the call before
 * on this tab.
 * Returns false, and calls nothing back, as the functions of page.h do.
 */
bool page_count_cookies(struct page *, page_result_cb *, void *arg);
/*
 * Has the browser read what it keeps of cookies, which its first request would
 * wait for. Nothing tells of it, and nothing waits.
 */
void page_load_cookies(struct page *);

#endif
