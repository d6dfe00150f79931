/*
 * browser: one Chromium as the worker sees it: the root CDP session, the
 * settings that hold for all its tabs, and the list of these tabs.
 */
#ifndef PAGE_BROWSER_H
#define PAGE_BROWSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/egress.h"

#define DIALOGS_MAX_BYTES ((size_t)64 << 10) /* of what is told of them */

struct event_base;
struct browser;
struct buf;
struct cdp;

struct browser_options {
	bool allow_data_urls; /* data: beside http, https and about:blank */
	bool keep_popups;     /* default: a pop-up is closed at once */
	int max_pages;        /* tabs of one session; 0: 20 */
	/*
	 * How many workers spoke to this browser before; 0: none. With others
	 * it must answer within 1 s, its tabs are looked through, and the one
	 * used last is kept for browser_take_tab(); all others are closed.
	 */
	uint32_t generation;
};

struct browser_ops {
	/*
	 * The first answer, once: product is for example
	 * "HeadlessChrome/156.0.8078.79"; NULL when the browser did not answer
	 * within 20 s or refused (why says it), and then on_gone does not come.
	 */
	void (*on_ready)(
	    struct browser *, const char *product, const char *why, void *ctx);
	/* The browser is gone; all pages were told PAGE_GONE before. */
	void (*on_gone)(struct browser *, const char *why, void *ctx);
	/*
	 * Something a run should say as a warning: a pop-up was closed, a
	 * download was refused. The text is for people. May be NULL.
	 */
	void (*on_warning)(struct browser *, const char *text, void *ctx);
	/*
	 * A tab could not even be closed: only the end of the cell helps. The
	 * worker reports it and ends its run. Comes once.
	 */
	void (*on_stuck)(struct browser *, const char *why, void *ctx);
};

/*
 * Takes the descriptors of the CDP pipes and asks the browser for its version.
 * options (copied) may be NULL; ops is borrowed for the browser's life. NULL
 * when memory ran out.
 */
struct browser *browser_new(struct event_base *, int read_fd, int write_fd,
    const struct browser_options *, const struct browser_ops *, void *ctx);
/* Frees it with all its pages, calling nobody back; not from a callback. */
void browser_free(struct browser **);
/*
 * The open tab that the worker before left behind, with the document it shows;
 * the caller's from now on. NULL when there was none that answers. From on_ready
 * on, once.
 */
struct page *browser_take_tab(struct browser *);
/*
 * For a browser that lives on without this worker: the open tab that was used
 * last stays, whoever closes its page from now on, and asks nobody any more
 * before it sends a request or opens a window. Right before the end.
 */
void browser_leave(struct browser *);
/*
 * The browser draws no frames: its tabs, also those that are open, give what
 * pages do in frames another way from their next document on. See undrawn.js.
 */
void browser_set_undrawn(struct browser *);
/*
 * What egressd says of a connection that did not come about, in words that go
 * on behind the host: navigations that failed by it are told in them.
 */
void browser_note_egress(struct browser *, const char *host, int port,
    enum egress_outcome, const char *text);
/* Whether confirm() and prompt() are accepted; by default they are not. */
void browser_accept_dialogs(struct browser *, bool accept);
/*
 * Appends the first 20 dialogs as JSON, [{"type","message","answer"}, ...];
 * false, and nothing appended, when there were none.
 */
bool browser_write_dialogs(const struct browser *, struct buf *out);
/*
 * Who reads pages, as they are told; 0 and "" leave what the browser is by
 * itself.
 */
struct browser_device {
	int width, height;    /* of the window, in pixels */
	char user_agent[513]; /* printable ASCII */
	char locale[36];      /* for example "de-DE" */
	char timezone[65];    /* for example "Europe/Berlin" */
};
/* Holds for all tabs, open ones as well, from their next document on. */
void browser_set_device(struct browser *, const struct browser_device *);
bool browser_is_gone(const struct browser *);
/* For counters and for what page/ does not offer; borrowed. */
struct cdp *browser_cdp(struct browser *);

#endif
