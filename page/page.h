/*
 * page: one tab in a window of its own, in the worker. Navigates, waits until
 * the page is stable, runs scripts in an isolated world and extracts. All that
 * is known about Chromium's habits (lost load events, silent crashes, dialogs
 * that block, pages that never end loading) is handled here once, so that a
 * template sees: it worked, or one status saying what happened.
 *
 * One operation at a time per page; every operation ends by its callback, which
 * comes from the event loop, exactly once, with borrowed results. Inside a
 * callback every function of this header may be called. A page is valid until
 * its page_close() callback has returned, its page_open() callback reported a
 * failure, or browser_free().
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct browser;
struct page;

#define PAGE_URL_MAX_BYTES       8192
#define PAGE_NAVIGATE_TIMEOUT_MS 30000
#define PAGE_EXTRACT_TIMEOUT_MS  10000

enum page_status {
	PAGE_OK,
	PAGE_BAD_URL,           /* not parsable, or a scheme not allowed */
	PAGE_NAVIGATION_FAILED, /* the message holds net::ERR_... */
	PAGE_NAVIGATION_TIMEOUT,
	PAGE_DOWNLOAD,      /* the address is a file, not a page */
	PAGE_CRASHED,       /* the renderer died; the tab is lost */
	PAGE_TIMEOUT,       /* a script did not end in time */
	PAGE_SCRIPT_FAILED, /* a script threw; the message says what */
	PAGE_CLOSED,        /* page_close() or the browser closed the tab */
	PAGE_GONE,          /* the whole browser is gone */
	PAGE_NO_ELEMENT,    /* no element fits the locator */
	PAGE_NOT_OPERABLE,  /* it is hidden, disabled or covered */
	PAGE_NOT_MET,       /* a condition was not met in time */
	PAGE_BAD_LOCATOR,   /* a locator, condition, key or value is wrong */
	PAGE_FORM_INVALID,  /* the form refuses what was filled in */
	PAGE_REFUSED,       /* the policy lets nobody there */
	PAGE_UNTRUSTED,     /* the run's trust level does not reach there */
	PAGE__MAX
};

/* The name in the error table of the model, "" for PAGE_OK. */
const char *page_status_error(enum page_status);
/*
 * True when the tab cannot be trusted after this status and a retry wants a
 * fresh one: crash, timeout, closed.
 */
bool page_status_needs_fresh(enum page_status);

struct page_result {
	enum page_status status;
	const char *message; /* never NULL; for people */
	const char *json;    /* PAGE_OK of eval and extract; else NULL */
	size_t len;
};

/*
 * What a page still waits for. Timers and connections are seen only where the
 * browser draws no frames, see pending.js.
 */
struct page_pending {
	int requests;    /* of its scripts, that were not answered */
	int timers;      /* that are due soon, and repeated ones */
	int connections; /* WebSockets and event streams, open or opening */
	int refresh_ms;  /* after which it says it loads a document; 0: none */
};

/*
 * How a navigation went. page_read() gives doc or doc_error; both are NULL when
 * nothing was to be read.
 */
struct page_nav {
	enum page_status status;
	const char *message;   /* never NULL */
	const char *final_url; /* never NULL; the asked one when unknown */
	const char *mime;      /* never NULL; "" when unknown */
	int http_status;       /* 0 when unknown (data:, about:blank) */
	bool redirected;
	bool partial; /* read although it had not finished loading */
	int elapsed_ms;
	struct page_pending pending;
	const char *doc; /* JSON as of page_extract() */
	size_t doc_len;
	const char *doc_error; /* for people: why there is no doc */
};

/* What has to rest for a second before a page is stable, beside its document. */
enum page_settle {
	PAGE_SETTLE_NONE,
	PAGE_SETTLE_NETWORK, /* no new requests */
	PAGE_SETTLE_TEXT     /* its text */
};

struct page_nav_options {
	int timeout_ms;        /* 0: PAGE_NAVIGATE_TIMEOUT_MS */
	int stable_timeout_ms; /* 0: 3000; how long mutations are waited out */
	int settle_ms;         /* at least so long after its load */
	enum page_settle settle;
	int load_grace_ms; /* 0: 5000, or a quarter of timeout_ms if that is
				* less; from DOMContentLoaded to going on
				* without the load event (partial) */
};

struct page_extract_options {
	bool page_info;
	bool content;
	bool readability;
	bool ids;               /* one for each element */
	bool rects;             /* where each element is */
	int max_elements;       /* 0: 50; 1..1000 */
	int max_content_length; /* 0: 4000; 1..50000, in characters */
	int timeout_ms;         /* 0: PAGE_EXTRACT_TIMEOUT_MS */
};

struct page_counters {
	unsigned dialogs;
	unsigned popups;
	unsigned downloads;
};

typedef void
page_cb(struct page *, enum page_status, const char *message, void *arg);
typedef void page_nav_cb(struct page *, const struct page_nav *, void *arg);
typedef void
page_result_cb(struct page *, const struct page_result *, void *arg);

/*
 * Opens a tab at about:blank (10 s). Returns the page at once, for
 * page_close(); NULL when the browser is gone or its limit of tabs is reached.
 */
struct page *page_open(struct browser *, page_cb *, void *arg);

/*
 * The functions below return false, and call nothing back, when the page is
 * not open or another operation is under way.
 */

/*
 * Loads url and waits until the page is stable. An HTTP error page is a page
 * that was read (PAGE_OK with its status). opts may be NULL, is copied.
 */
bool page_navigate(struct page *, const char *url,
    const struct page_nav_options *opts, page_nav_cb *, void *arg);
/*
 * page_navigate() and page_extract() in one, which saves a round trip and finds
 * the page as it was when it became stable. What is extracted comes with the
 * page_nav; that it failed does not fail the navigation.
 */
bool page_read(struct page *, const char *url, const struct page_nav_options *,
    const struct page_extract_options *, page_nav_cb *, void *arg);
/* The same of the page as it is now, when it is stable. */
bool page_read_again(struct page *, const struct page_nav_options *,
    const struct page_extract_options *, page_nav_cb *, void *arg);
/* Waits until the page as it is now is stable. */
bool page_wait_stable(
    struct page *, const struct page_nav_options *, page_nav_cb *, void *arg);
/*
 * Calls the JavaScript function given as source, "(arg) => value" (it may be
 * async), in an isolated world with one argument, the JSON text args (NULL:
 * undefined). The result is the JSON text of its value ("null" for undefined).
 * source and args are borrowed for the call only.
 */
bool page_eval(struct page *, const char *source, size_t source_len,
    const char *args, size_t args_len, int timeout_ms, page_result_cb *,
    void *arg);
/*
 * One round trip. JSON: {"pageInfo":{...},"content":{...},"readability":{...}}
 * with the parts asked for, compact, valid UTF-8.
 */
bool page_extract(struct page *, const struct page_extract_options *,
    page_result_cb *, void *arg);
/*
 * Closes the tab; an operation under way is answered PAGE_CLOSED first. The
 * callback (may be NULL) comes within 2 s whatever the page does and is the
 * last: the page is freed after it.
 */
void page_close(struct page *, page_cb *, void *arg);

/*
 * Switches the scripts of the documents loaded from now on off or on; our own
 * run either way.
 */
void page_set_scripts(struct page *, bool on);
bool page_is_open(const struct page *);
/* True while an operation is under way. */
bool page_is_busy(const struct page *);
const struct page_counters *page_counters(const struct page *);
/* Whether url may be navigated to; ret_why (may be NULL) gets a reason. */
bool page_url_allowed(const char *url, bool allow_data, const char **ret_why);
/* Whether Mozilla's Readability was compiled in. */
bool page_has_readability(void);

#endif
