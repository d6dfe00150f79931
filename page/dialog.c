/*
 * What a page puts in the way of its scripts and of us, in the worker: dialogs,
 * which are answered the moment they appear and told in the result, and windows.
 * Nobody is asked, and a page that does not stop is stopped.
 */
#include <string.h>

#include "json/writer.h"
#include "page/priv.h"

static void
page_stop_dialogs(struct page *p, struct json_span params)
{
	char frame[PAGE_ID_MAX + 1] = "";

	if (p->dialogs == PAGE_DIALOGS_MAX)
		browser_warn(p->browser,
		    "a page kept opening dialogs; its script was stopped");
	(void)page_member_str(params, "frameId", frame, sizeof(frame));
	if (frames_stop_one(p, frame))
		return;
	cdp_call(p->browser->cdp, p->session, "Runtime.terminateExecution",
	    NULL, 0, PAGE_CALL_MS, NULL, NULL);
	if (strcmp(frame, p->target) != 0)
		frames_stop(p);
}

/*
 * A script that opens one window after the other cannot be ended: the order is
 * lost on one that stands still for a window that is held.
 */
void
page_on_popup(struct page *p)
{
	if (++p->counters.popups == 1 && !p->browser->options.keep_popups)
		browser_warn(
		    p->browser, "a page opened a window, which was closed");
	if (p->op != OP_NONE && ++p->popups == PAGE_POPUPS_MAX)
		page_give_up(p,
		    p->op == OP_NAVIGATE ? PAGE_NAVIGATION_FAILED
					 : PAGE_SCRIPT_FAILED,
		    "the page keeps opening windows");
}

/* ---- what dialogs say, and what they are told ---- */

#define DIALOGS_KEPT   20
#define DIALOGS_WARNED 5
#define DIALOG_TEXT    500 /* bytes of a message that are kept */

static const char *const dialog_names[] = { "type", "message",
	"defaultPrompt" };

enum {
	DIALOG_TYPE,
	DIALOG_MESSAGE,
	DIALOG_PROMPT,
	DIALOG__MAX
};

/* The string, or as much of it as is kept. */
static void
dialog_text(struct json_span span, char dst[DIALOG_TEXT + 1])
{
	struct buf b;
	size_t n = 0;

	buf_init(&b, span.len * 3 + 1);
	if (span.ptr != NULL && json_span_str_add(span, &b)) {
		n = b.len <= DIALOG_TEXT ? b.len : DIALOG_TEXT;
		/* A character is not cut. */
		while (n > 0 && n < b.len && (b.data[n] & 0xc0) == 0x80)
			n--;
		if (n > 0)
			memcpy(dst, b.data, n);
	}
	dst[n] = '\0';
	buf_clear(&b);
}

static void
dialog_note(struct browser *b, const char *type, const char *message, bool yes)
{
	const char *answer = yes ? "accepted" : "dismissed";
	struct json_writer w;
	struct buf row;

	b->ndialogs++;
	if (!yes && strcmp(type, "alert") != 0 &&
	    b->warned_dialogs++ < DIALOGS_WARNED)
		browser_warn(b,
		    "the page asked \"%.400s\" and was told no: with the input "
		    "dialogs \"accept\" it is told yes",
		    message);
	if (b->ndialogs > DIALOGS_KEPT)
		return;
	buf_init(&row, 8 * DIALOG_TEXT);
	json_writer_init(&w, &row);
	json_write_begin_object(&w);
	json_put_str(&w, "type", type);
	json_put_str(&w, "message", message);
	json_put_str(&w, "answer", answer);
	json_write_end_object(&w);
	if (json_writer_finish(&w)) {
		buf_add_str(&b->dialogs, b->dialogs.len == 0 ? "[" : ",");
		buf_add(&b->dialogs, row.data, row.len);
	}
	buf_clear(&row);
}

/*
 * Nothing else of the page runs while a dialog is open, so it is answered at
 * once: leaving is allowed, an alert has one button, and all other questions get
 * the answer that the run gives them.
 */
void
dialog_answer(
    struct browser *b, struct cdp_session *session, struct json_span params)
{
	char type[32] = "", message[DIALOG_TEXT + 1];
	struct json_span member[DIALOG__MAX] = { { NULL, 0 } };
	struct json_writer w;
	struct iovec iov;
	struct buf out;
	bool yes;

	(void)json_span_members(params, dialog_names, DIALOG__MAX, member);
	(void)json_span_str_copy(member[DIALOG_TYPE], type, sizeof(type));
	dialog_text(member[DIALOG_MESSAGE], message);
	yes = b->accept_dialogs || strcmp(type, "beforeunload") == 0;
	dialog_note(b, type, message, yes);
	buf_init(&out, member[DIALOG_PROMPT].len + 128);
	json_writer_init(&w, &out);
	json_write_begin_object(&w);
	json_put_bool(&w, "accept", yes);
	if (yes && json_span_is_string(member[DIALOG_PROMPT]))
		json_put_raw(&w, "promptText", member[DIALOG_PROMPT].ptr,
		    member[DIALOG_PROMPT].len);
	json_write_end_object(&w);
	iov = (struct iovec){ out.data, out.len };
	if (json_writer_finish(&w))
		cdp_call(b->cdp, session, "Page.handleJavaScriptDialog", &iov,
		    1, PAGE_CALL_MS, NULL, NULL);
	buf_clear(&out);
}

void
page_on_dialog(struct page *p, struct json_span params)
{
	p->counters.dialogs++;
	if (++p->dialogs % PAGE_DIALOGS_MAX == 0)
		page_stop_dialogs(p, params);
	dialog_answer(p->browser, p->session, params);
}

void
browser_accept_dialogs(struct browser *b, bool accept)
{
	b->accept_dialogs = accept;
}

bool
browser_write_dialogs(const struct browser *b, struct buf *out)
{
	return b->dialogs.len > 0 &&
	    buf_add(out, b->dialogs.data, b->dialogs.len) &&
	    buf_add_str(out, "]");
}
