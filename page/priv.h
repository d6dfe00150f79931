/* priv: what the sources and the tests of page/ share, and nobody else. */
#ifndef PAGE_PRIV_H
#define PAGE_PRIV_H

#include <sys/queue.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "common/buf.h"
#include "json/writer.h"
#include "model/limits.h"
#include "page/act.h"
#include "page/browser.h"
#include "page/page.h"

#define PAGE_MAGIC            0x70616731u
#define BROWSER_MAGIC         0x62727731u

#define BROWSER_UNCLAIMED_MAX 32
#define BROWSER_NOTICES_MAX   16
#define PAGE_ID_MAX           CDP_SESSION_ID_MAX
#define PAGE_MIME_MAX         128
#define PAGE_NUMBER_MAX       32
#define PAGE_KEY_MAX          32
#define PAGE_MESSAGE_MAX      512
#define PAGE_OPEN_MS          10000
#define PAGE_CALL_MS          5000
#define PAGE_INPUT_MS         5000 /* what a page may take for an input */
#define PAGE_RECOVER_MS       1000
#define PAGE_LEAVE_MS         1000
#define PAGE_CLOSE_MS         5000 /* for the browser to close a tab */
#define PAGE_STABLE_MS        3000
#define PAGE_SETTLE_MS        10000
#define PAGE_GRACE_MS         5000
#define PAGE_DIALOGS_MAX      20 /* of one operation, then its script is stopped */
#define PAGE_POPUPS_MAX       64 /* of one operation, then it fails */
#define PAGE_FLIGHTS_MAX      32
#define PAGE_COOKIES_MAX      256
#define PAGE_ORIGIN_MAX       272 /* a scheme, a name of 253 bytes, a port */
#define BROWSER_ORIGINS_MAX   64
#define PAGE_JSON_MAX         ((size_t)32 << 20)

enum page_state {
	STATE_OPENING,
	STATE_OPEN,
	STATE_LOST
};

enum page_op {
	OP_NONE,
	OP_OPEN,
	OP_NAVIGATE,
	OP_STABLE,
	OP_EVAL,
	OP_EXTRACT,
	OP_ACT
};

struct page_load {
	struct page_nav_options opts;
	int64_t started_ms;
	unsigned restarts;
	bool replied;    /* Page.navigate was answered */
	bool committed;  /* the document it asked for is there */
	bool error_page; /* empty body with an error status */
	bool reading;    /* it extracts what p->extract_opts say, too */
	bool granted;    /* it got the time for that */
	bool scripting;  /* the stable script is under way */
	bool settled;    /* it ended; something else is waited for */
	bool leaving;    /* the page itself asked for another document */
	bool asking;     /* its frames whether they still live */
	bool waiting;    /* for requests of the page's scripts */
	bool patient;    /* a navigation that began is waited for to its end */
	bool loading;    /* it has begun */
	bool excusing;   /* it failed; why is still to be told */
	bool redirected;
	bool stopped; /* its scripts, at the end of its time; it is read */
	bool partial;
	int http_status;
	struct page_pending pending; /* but for requests */
	int64_t quiet_by_ms; /* when waiting for quiet ends; 0: not loaded */
	char asked[PAGE_URL_MAX_BYTES + 1];
	char loader[PAGE_ID_MAX + 1];
	char url[PAGE_URL_MAX_BYTES + 1];
	char failed[PAGE_URL_MAX_BYTES + 1]; /* what could not be loaded */
	char mime[PAGE_MIME_MAX];
};

/* Requests of a page's scripts that were not answered yet. */
struct page_flights {
	unsigned n;
	int64_t ended_ms; /* when one of them last was; 0: none of them */
	struct {
		int64_t started_ms;
		char id[PAGE_ID_MAX + 1];
	} list[PAGE_FLIGHTS_MAX];
};

/* An action, see act.c. */
#define PAGE_FILLED_MAX 320

struct page_acting {
	enum page_action action;
	const char *step; /* that is under way inside the page */
	int timeout_ms;
	int input_ms; /* what the page may take for an input */
	int64_t end_ms;
	struct page_nav_options nav;
	bool secret;
	bool (*may_fill)(void *guard, const char *origin, char *why, size_t);
	void *guard;
	char origin[PAGE_FILLED_MAX]; /* that was asked about; "": none yet */
	int64_t world;                /* of the document of that origin */
	bool sent;      /* something was done that cannot be done again */
	bool by_script; /* by the page's script, not by the browser */
	bool typed;     /* only text was put in */
	bool asking;    /* the page what it made of it */
	bool settling;  /* the rest is navigate.c's */
	bool leaving;   /* the page asked for another document */
	bool loading;   /* which the browser has begun to load */
	bool navigated;
	char x[PAGE_NUMBER_MAX];
	char y[PAGE_NUMBER_MAX];
	char key[PAGE_KEY_MAX];
	char old_target[PAGE_ID_MAX + 1]; /* the tab before the pop-up */
	struct buf args;
	struct buf value;
	struct buf element;
	struct buf warnings;
	bool jpeg;
	struct buf shot;
};

struct page_frame;
TAILQ_HEAD(page_frames, page_frame);
TAILQ_HEAD(page_openers, page_opener);

/* Of cookies that may keep a session, see cookies.c. */
struct page_cookies {
	size_t n;
	uint64_t hashes[PAGE_COOKIES_MAX];
};

struct page {
	uint32_t magic;
	TAILQ_ENTRY(page) next;
	struct browser *browser;
	struct cdp_session *session;
	enum page_state state;
	enum page_op op;
	union {
		page_cb *open;
		page_nav_cb *nav;
		page_result_cb *result;
	} cb;
	void *arg;
	bool closing;
	bool scripts_off;
	bool staged;        /* its requests are answered here */
	unsigned long used; /* the greatest is the page used last */
	page_cb *close_cb;
	void *close_arg;
	struct event *deadline;       /* of the operation */
	struct event *pause;          /* a wait inside it */
	struct event *farewell;       /* ends a close that needs no answer */
	unsigned dialogs;             /* since the operation began */
	unsigned popups;              /* likewise */
	enum page_status late_status; /* what the recovery will report */
	char late_message[PAGE_MESSAGE_MAX];
	int64_t context; /* isolated world of the current document; 0: none */
	char loader[PAGE_ID_MAX + 1];     /* document that is shown */
	char target[PAGE_ID_MAX + 1];     /* also the id of its main frame */
	char origin[PAGE_ORIGIN_MAX + 1]; /* of the document; "" if of none */
	struct buf script; /* expression kept until its world exists */
	struct buf doc;    /* what page_read() has read */
	char doc_error[PAGE_MESSAGE_MAX];
	int script_timeout_ms;
	struct page_extract_options extract_opts;
	struct page_load load;
	struct page_acting act;
	bool secret_used; /* one was filled in, in this page or one before */
	struct page_flights flights;
	struct page_cookies cookies; /* when they were counted last */
	struct page_frames frames;   /* of other sites */
	struct page_openers openers; /* tabs that it has left, the last first */
	int nframes;
	struct page_counters counters;
};

TAILQ_HEAD(page_list, page);

struct stage;
struct takeover;

struct browser {
	uint32_t magic;
	struct event_base *base;
	struct cdp *cdp;
	const struct browser_ops *ops;
	void *ctx;
	struct browser_options options;
	struct page_list pages;
	int npages;
	struct { /* attached before anybody said whose they are */
		char target[PAGE_ID_MAX + 1];
		char session[PAGE_ID_MAX + 1];
	} unclaimed[BROWSER_UNCLAIMED_MAX];
	unsigned next_unclaimed;
	struct takeover *takeover; /* under way */
	struct stage *stage;       /* NULL: not needed yet */
	struct page *taken;        /* for browser_take_tab() */
	struct page *kept;         /* not closed any more: the next worker's */
	unsigned long uses;        /* operations of all pages so far */
	unsigned norigins;         /* of documents that tabs have shown */
	char origins[BROWSER_ORIGINS_MAX][PAGE_ORIGIN_MAX + 1];
	struct browser_notice {
		int64_t at_ms; /* 0: none */
		int port;
		enum egress_outcome outcome;
		char host[LIMIT_HOST_BYTES + 1];
		char text[PAGE_MESSAGE_MAX - LIMIT_HOST_BYTES - 2];
	} notices[BROWSER_NOTICES_MAX];
	bool accept_dialogs;
	unsigned ndialogs;
	unsigned warned_dialogs;
	struct buf dialogs; /* rows of JSON, as of an array that is not ended */
	bool undrawn;       /* see browser_set_undrawn() */
	struct browser_device device;
	bool ready;
	bool gone;
	bool stuck;
	char why[PAGE_MESSAGE_MAX];
};

/* browser.c */
void browser_warn(struct browser *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The tab of a page has its name now: adopts it if it was attached before. */
void browser_claim_target(struct browser *, struct page *);
void browser_report_stuck(struct browser *, const char *why);
/* Sends what holds for all tabs; browser_report_ready() follows. */
void browser_set_up(struct browser *);
void browser_report_ready(struct browser *, const char *product);
void browser_close_target(struct browser *, const char *target);
/* A request that was stopped; true: it was refused for its scheme. */
bool scheme_on_paused(struct page *, struct cdp_session *, const char *id,
    struct json_span params);
/* A frame's new document; false: its tab must be closed, which is told. */
bool scheme_allows(struct page *, struct json_span frame);
/* The same, and closes the page's tab. */
bool scheme_on_document(struct page *, struct json_span frame);

/* takeover.c */
uint32_t takeover_first_id(uint32_t generation);
/* False when memory ran out. */
bool takeover_begin(struct browser *);
void takeover_free(struct takeover **);
/* A tab was attached; info is its targetInfo. */
void takeover_note(struct takeover *, const char *session, const char *target,
    const char *opener, struct json_span info);
/* All tabs were noted: keeps one, closes the others, reports ready. */
void takeover_choose(struct takeover *, const char *product);

/* stage.c */
/* Ends the addresses of its documents, which no site ever gets to see. */
#define STAGE_MARK "#browsertask-stage"
/*
 * Calls the JavaScript function source (static) with args (JSON, copied) in an
 * empty document of that origin, as page_eval() does. One at a time; false when
 * it cannot begin. Close it when nothing is left to do.
 */
bool stage_visit(struct browser *, const char *origin, const char *source,
    const void *args, size_t args_len, page_result_cb *, void *arg);
/* Nobody is called back any more. */
void stage_forget(struct browser *);
void stage_close(struct browser *);
/* Has it closed without waiting for anything: right before the end. */
void stage_leave(struct browser *);
void stage_free(struct stage **);
/* A request of its tab waits for an answer. */
void stage_on_paused(struct page *, const char *request_id);

/* origins.c */
/* The tab shows another document; frame is its main frame. */
void origins_note(struct page *, struct json_span frame);

/* page.c */
/* A page that is opening, not of any tab yet; NULL when memory ran out. */
struct page *page_new(struct browser *, int timeout_ms, page_cb *, void *arg);
void page_be_undrawn(struct page *);
void page_adopt(struct page *, const char *session, size_t len);
/*
 * The page is another tab from now on, a fresh one or one that it was before;
 * the browser answers cb when it has been attached. False when it stays the one
 * it was.
 */
bool page_move(struct page *, const char *session, const char *target,
    bool fresh, cdp_reply_cb *);

/* openers.c */
/* The page has left that tab for a window; false: it cannot come back. */
bool openers_add(struct page *, const char *session, const char *target);
/* Whether it was the session of one, which is gone then. */
bool openers_on_detached(struct page *, const struct cdp_session *);
/*
 * The page's window has closed itself: it is the tab again that it has left
 * last, and the operation goes on there if it can. False: there is none.
 */
bool openers_return(struct page *);
/* They are not needed any more. */
void openers_close(struct page *);

/* Of Target.targetCrashed. */
void page_on_crash(struct page *, struct json_span params);
void page_on_lost(struct page *, enum page_status, const char *message);
void page_free(struct page **);
void page_begin(struct page *, enum page_op, int timeout_ms, void *arg);
/* Ends the operation under way and calls its callback: the last thing done. */
void page_finish(struct page *, enum page_status, const char *message);
void page_finish_json(struct page *, const char *json, size_t len);
/* As page_finish, but from the loop. */
void page_finish_later(struct page *, enum page_status, const char *message);
void page_pause(struct page *, int ms);
/* Sends {"key":"value"} or nothing with a NULL key. */
void page_send(struct page *, const char *method, const char *key,
    const char *value, int timeout_ms, cdp_reply_cb *);
bool page_member_str(struct json_span, const char *key, char *dst, size_t);

/* dialog.c */
/* Answers one of that session, and notes what it said. */
void
dialog_answer(struct browser *, struct cdp_session *, struct json_span params);
void page_on_dialog(struct page *, struct json_span params);
/* Another window was opened; with too many the operation fails. */
void page_on_popup(struct page *);

/* excuse.c */
/* Takes a navigation that failed over, if the network's own word is wanted. */
bool excuse_begin(struct page *, const char *name, struct json_span result);
/*
 * The browser shows a page of its own in place of that address. Whether that is
 * taken care of.
 */
bool excuse_on_document(struct page *, struct json_span url);
void excuse_on_pause(struct page *);

/* recover.c */
void page_recover(struct page *, enum page_status, const char *message);
/* Fails the operation under way and closes the tab, whatever it does. */
void page_give_up(struct page *, enum page_status, const char *message);
/*
 * Ends what runs in a document that is to be left if it does not answer, and
 * pauses the navigation once more.
 */
void page_unstick(struct page *);
void page_close_target(struct page *, cdp_reply_cb *);

/* navigate.c */
#define LOAD_RETRY_MS 100
void load_on_navigate(struct cdp *, const struct cdp_reply *, void *arg);
/* Looks at a document for the first time, or again after it went wrong. */
void load_start_script(struct page *);
/* The stable script has ended: is the page stable? */
void load_settle(struct page *);
/* The stable script did not get to its end: once more, a little later. */
void load_retry(struct page *);
void load_on_event(struct page *, const struct cdp_event *);
void load_on_pause(struct page *);
void load_on_deadline(struct page *);
/*
 * Whether a page that has no time left may be read without its scripts, and does
 * it, once these were stopped.
 */
bool load_may_be_read(const struct page *);
void load_look_stopped(struct page *);
/* A request of the page's scripts was answered, or failed. */
void load_on_landed(struct page *);
/* The frames were checked; those that hung were stopped. */
void load_on_frames(struct page *);
void load_result(
    const struct page *, enum page_status, const char *, struct page_nav *);

/*
 * The end of an action: waits until the page is stable, or the document that it
 * asked for (leaving), which the browser may already be loading.
 */
void load_begin_settling(
    struct page *, const struct page_nav_options *, bool leaving, bool loading);

/* act.c */
void act_init(struct page *);
void act_clear(struct page *);
/* The isolated world is there: runs the step in it. */
void act_on_world(struct page *);
void act_on_pause(struct page *);
/* Of the main frame, as long as the action does not settle. */
void act_on_document(struct page *);
void act_on_leaving(struct page *, bool loading);
void act_on_stopped(struct page *);
/* The operation has ended; the callback is the last thing done. */
void act_finish(struct page *, enum page_status, const char *message);
/* A pop-up that the action opened; false when it is not to be taken. */
bool act_take_popup(
    struct page *, const char *session, const char *target, bool loading);
/* The page is another tab again: the action goes on there. */
void act_on_returned(struct page *);

/* input.c */
/* At the place that is kept in p->act. */
void input_click(struct page *, cdp_reply_cb *);
/* A text as JSON. */
void input_text(struct page *, const void *json, size_t len, cdp_reply_cb *);
bool input_key_exists(const char *name);
void input_key(struct page *, const char *name, cdp_reply_cb *);

/* stable.c */
/* Runs the stable script; its isolated world is there. */
void load_on_world(struct page *);

/* flight.c */
/* Has the requests of the tab's scripts reported from now on. */
void flight_watch(struct page *);
void flight_on_paused(struct page *, struct json_span params);
/* Lets a request of that session go; false: it was refused. */
bool
flight_let_go(struct page *, struct cdp_session *, struct json_span params);
/* Another document is shown: what the one before asked for is forgotten. */
void flight_on_commit(struct page *);
/*
 * Until when to wait, on the monotonic clock, if no request is waited for
 * longer than patience_ms after it began; 0: nothing is in flight.
 */
int64_t flight_wait_until(const struct page *, int patience_ms);

/* frames.c */
/* Opens a session in each frame of another site below that of session. */
void frames_watch(struct page *, struct cdp_session *);
/* Those that were attached while the page was another tab are told anew. */
void frames_watch_again(struct page *);
void frames_on_event(struct page *, const struct cdp_event *);
/* Forgets all frames: another document is shown, or the page ends. */
void frames_clear(struct page *);
/* Ends what runs in a frame; false when it is none of another site. */
bool frames_stop_one(struct page *, const char *frame_id);
void frames_stop(struct page *);
/*
 * Stops the script of each frame that does not answer at once, and calls
 * load_on_frames() from the loop; false when there are no frames.
 */
bool frames_check(struct page *);

/* script.c */
/* Whether navigate.c has the operation. */
static inline bool
page_is_loading(const struct page *p)
{
	return p->op == OP_NAVIGATE || p->op == OP_STABLE ||
	    (p->op == OP_ACT && p->act.settling);
}

/* Makes the isolated world of the current document, then goes on by op. */
void script_need_world(struct page *);
void script_on_world(struct page *);
/*
 * What Runtime.callFunctionOn takes before the function: awaited, its value
 * wanted, with one argument, an object whose members are written in between.
 */
void
script_begin_argument(const struct page *, struct json_writer *, struct buf *);
void script_end_argument(struct json_writer *);
/*
 * The extraction that p->extract_opts ask for, as "parts return extract(opts)",
 * the body of a JavaScript function inside a JSON string. Fills iov from n on,
 * with room for SCRIPT_EXTRACT_IOV, and tail; returns the new n.
 */
#define SCRIPT_EXTRACT_IOV  9
#define SCRIPT_EXTRACT_TAIL 160
int script_add_extract(const struct page *, struct iovec *iov, int n,
    char tail[SCRIPT_EXTRACT_TAIL]);
/*
 * Takes the options with their standard values filled in; false when they want
 * what this program was built without.
 */
#define SCRIPT_NO_READABILITY "this program was built without Readability"
bool script_set_extract(struct page *, const struct page_extract_options *);
/*
 * The value in the result of Runtime.evaluate when it is an object or array,
 * found without walking it.
 */
bool script_split_value(struct json_span result, struct json_span *ret);
/* What a page's script said when it failed; never NULL. */
enum page_status script_failure(struct json_span result, char *dst, size_t);

/* status.c */
/* Chromium's name of why loading failed, in words that a person understands. */
void page_load_error(const char *name, char *ret_text, size_t size);

#endif
