/*
 * A browser that draws no frames, as for runs of text: pages that build
 * themselves in frames, or once something comes into view or has come to an
 * end, are read whole all the same. With the real browser.
 */
#include <stdlib.h>
#include <string.h>

#include "t/unit/tap.h"
#include "visit.h"

#define TRIES 5

static const struct {
	const char *path;
	const char *texts[8]; /* that are read; then those that are not */
	const char *never[4];
} rows[] = {
	{ "/animationframe.html", { "All was built." }, { NULL } },
	{ "/intersection.html",
	    { "Loaded: near.", "Loaded: far.", "Loaded: hidden." },
	    { "Told for nothing" } },
	{ "/endless.html", { "Entry 51" }, { "Entry 1000" } },
	{ "/resize.html", { "First size.", "Second size." }, { NULL } },
	{ "/animation.html",
	    { "The transition ended.", "The animation ended.",
		"The handler was told.", "The promise was kept.",
		"Hidden for a while.", "It turns for ever." },
	    { NULL } },
	{ "/idle.html",
	    { "Idle at last.", "Fonts are ready.", "The view changed." },
	    { NULL } },
	{ "/loop.html", { "Frames for ever." }, { NULL } },
	{ "/timer.html",
	    { "Soon after.", "Late after.", "A chain of ten.", "From a text." },
	    { "Cleared in vain." } },
	{ "/timerlate.html", { "Late after." }, { NULL } },
	{ "/messages.html", { "Twenty steps.", "Twenty messages." }, { NULL } },
	{ "/removed.html", { "Late after." }, { NULL } },
	{ "/worker.html",
	    { "A word of a worker.", "A blob of text.", "A module." },
	    { NULL } },
	{ "/still.html", { "At once." }, { "They look made." } },
	{ "/opened.html", { "Another text.", "Late." }, { NULL } },
};

/* What the page's own world says of what is to come, as stable.js asks it. */
#define ASK                                                               \
	"()=>{let said='nothing';"                                        \
	"document.addEventListener('browsertask-said',e=>said=e.detail);" \
	"document.dispatchEvent("                                         \
	"new CustomEvent('browsertask-ask',{detail:0}));"                 \
	"return typeof said==='number'?Math.sign(said):said}"

static const struct {
	const char *path, *answer, *name;
} asked[] = {
	{ "/still.html", "-1", "there was never anything" },
	{ "/removed.html", "0", "it is over" },
	{ "/messages.html", "0", "its messages have come" },
	{ "/loop.html", "1", "it goes on" },
	{ "/worker.html", "1", "nobody knows" },
	{ "/opened.html", "\"nothing\"", "a document opened anew" },
};

static bool
said(const char *text)
{
	return visit.json != NULL && strstr(visit.json, text) != NULL;
}

static bool
said_all(const char *const texts[])
{
	for (size_t k = 0; texts[k] != NULL; k++)
		if (!said(texts[k]))
			return false;
	return true;
}

/* How long it waits is bounded: a busy machine may need another try. */
static enum page_status
read_whole(struct page *p, const char *path, const char *const texts[])
{
	enum page_status status = visit_read(p, path, 0);

	for (int i = 1; i < TRIES && status == PAGE_OK && !said_all(texts); i++)
		status = visit_read(p, path, 0);
	return status;
}

/* What was due last is over for two frames after some time. */
static enum page_status
ask_until(struct page *p, const char *answer)
{
	enum page_status status = PAGE_OK;

	for (int i = 0; i < TRIES; i++) {
		visit_eval(
		    p, "() => new Promise((d) => setTimeout(d, 100))", NULL, 0);
		status = visit_eval(p, ASK, NULL, 0);
		if (status != PAGE_OK ||
		    (visit.json != NULL && strcmp(visit.json, answer) == 0))
			break;
	}
	return status;
}

static void
test_pages(struct page *p)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(read_whole(p, rows[i].path, rows[i].texts), PAGE_OK,
		    rows[i].path);
		printf("# %d ms\n", visit.elapsed_ms);
		for (size_t k = 0; rows[i].texts[k] != NULL; k++)
			ok(said(rows[i].texts[k]), "  %s", rows[i].texts[k]);
		for (size_t k = 0; rows[i].never[k] != NULL; k++)
			ok(!said(rows[i].never[k]), "  not: %s",
			    rows[i].never[k]);
	}
}

static void
test_asked(struct page *p)
{
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		is_int(visit_read(p, asked[i].path, 0), PAGE_OK, asked[i].path);
		is_int(ask_until(p, asked[i].answer), PAGE_OK, "  is asked");
		ok(visit.json != NULL &&
			strcmp(visit.json, asked[i].answer) == 0,
		    "  %s: %s", asked[i].name,
		    visit.json == NULL ? "no answer" : visit.json);
	}
}

static void
test_browser(enum live_program program, const char *pages)
{
	const char *why = "";
	struct page *p;

	if (!visit_start(program, pages, &why)) {
		printf("# skipped: %s\n", why);
		return;
	}
	p = visit_open();
	ok(p != NULL, "a tab opens");
	if (p != NULL) {
		test_pages(p);
		test_asked(p);
	}
	visit_end();
}

int
main(void)
{
	const char *srcdir = getenv("srcdir");
	char pages[512];

	snprintf(pages, sizeof(pages), "%s/t/pageframes",
	    srcdir != NULL ? srcdir : ".");
	test_browser(LIVE_SHELL, pages);
	test_browser(LIVE_FULL, pages);
	return done_testing();
}
