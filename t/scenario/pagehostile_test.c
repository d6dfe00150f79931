/*
 * Clicks on pages that do not hold still: what was meant is pressed once, or
 * there is an error that says why not; nothing else is ever pressed, and no
 * page keeps an action longer than it may. With the real browser.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "page/act.h"
#include "t/unit/tap.h"
#include "visit.h"

static const struct {
	const char *name; /* of the case in hostile.html */
	int timeout_ms;
	enum page_status want;
	const char *says; /* the title afterwards, or a part of the error */
} rows[] = {
	{ "plain", 5000, PAGE_OK, "1" },
	{ "late", 5000, PAGE_OK, "1" },
	{ "lateclass", 5000, PAGE_OK, "1" },
	{ "disabled", 5000, PAGE_OK, "1" },
	{ "disabledforever", 1500, PAGE_NOT_OPERABLE, "is disabled" },
	{ "hidden", 1500, PAGE_NOT_OPERABLE, "is not visible" },
	{ "moving", 5000, PAGE_OK, "1" },
	{ "movingforever", 3000, PAGE_NOT_OPERABLE, "is moving" },
	{ "covered", 5000, PAGE_OK, "1" },
	{ "coveredforever", 1500, PAGE_NOT_OPERABLE,
	    "is covered by <div class=cover>" },
	{ "coverfades", 5000, PAGE_OK, "1" },
	{ "transparent", 5000, PAGE_OK, "1" },
	{ "coveronhover", 3000, PAGE_NOT_OPERABLE, "cover" },
	{ "jumponhover", 5000, PAGE_OK, "1" },
	{ "replacedonhover", 5000, PAGE_OK, "1" },
	{ "detached", 5000, PAGE_OK, "1" },
	{ "detachedonclick", 5000, PAGE_OK, "1" },
	{ "alert", 5000, PAGE_OK, "1" },
	{ "alertdown", 5000, PAGE_OK, "1" },
	{ "spin", 1000, PAGE_TIMEOUT, "in time" },
	{ "spindown", 1000, PAGE_TIMEOUT, "in time" },
	{ "mutate", 5000, PAGE_OK, "1" },
	{ "busy", 5000, PAGE_OK, "done" },
	{ "elsewhere", 5000, PAGE_OK, "1" },
	{ "sticky", 5000, PAGE_OK, "1" },
	{ "scrolled", 5000, PAGE_OK, "1" },
	{ "shadow", 5000, PAGE_OK, "1" },
	{ "frame", 5000, PAGE_OK, "1" },
	{ "lines", 5000, PAGE_OK, "1" },
	{ "inner", 5000, PAGE_OK, "1" },
	{ "label", 5000, PAGE_OK, "true" },
	{ "div", 5000, PAGE_OK, "1" },
	{ "hang", 5000, PAGE_NAVIGATION_TIMEOUT, "within 1500 ms" },
	{ "dead", 5000, PAGE_NAVIGATION_FAILED, "could not be loaded" },
	{ "empty", 5000, PAGE_OK, "0" },
	{ "mail", 5000, PAGE_OK, "0" },
	{ "script", 5000, PAGE_OK, "1" },
	{ "fragment", 5000, PAGE_OK, "0" },
	{ "push", 5000, PAGE_OK, "1" },
	{ "later", 5000, PAGE_OK, "Next" },
	{ "fetch", 5000, PAGE_OK, "Next" },
	{ "chain", 5000, PAGE_OK, "Next" },
	{ "blank", 5000, PAGE_OK, "Next" },
	{ "opener", 5000, PAGE_OK, "Next" },
	{ "written", 5000, PAGE_OK, "Written" },
	{ "two", 5000, PAGE_OK, "Next" },
};

static void
run(struct page **pp, const char *name, int timeout_ms, enum page_status want,
    const char *says)
{
	static const char args[] =
	    "{\"locator\":{\"mode\":\"semantic\",\"query\":\"go on\"}}";
	struct page_act_options o = { .args = args,
		.args_len = sizeof(args) - 1,
		.timeout_ms = timeout_ms,
		.nav_timeout_ms = 1500,
		.stable_timeout_ms = 1500 };
	char path[64];
	int64_t began;

	if (*pp == NULL || !page_is_open(*pp))
		*pp = visit_open();
	snprintf(path, sizeof(path), "/hostile?%s", name);
	if (*pp == NULL || visit_go(*pp, path, 0) != PAGE_OK) {
		ok(false, "%s is opened", name);
		return;
	}
	began = clock_mono_ms();
	if (!page_act(*pp, PAGE_ACT_CLICK, &o, visit_on_result, NULL)) {
		ok(false, "%s is begun", name);
		return;
	}
	visit_wait();
	printf("# %s: %d ms, %s\n", name, (int)(clock_mono_ms() - began),
	    visit.status == PAGE_OK ? visit.json : visit.message);
	is_int(visit.status, want, name);
	if (want != PAGE_OK) {
		ok(strstr(visit.message, says) != NULL, "says %s", says);
		return;
	}
	o = (struct page_act_options){ .timeout_ms = 2000 };
	if (page_act(*pp, PAGE_ACT_INFO, &o, visit_on_result, NULL))
		visit_wait();
	ok(visit_json_is("title", says), "the title is %s", says);
}

int
main(void)
{
	const char *src = getenv("srcdir"), *why = "", *only = getenv("ONLY");
	char pages[512];
	struct page *p;

	snprintf(pages, sizeof(pages), "%s/t/pageact", src != NULL ? src : ".");
	if (!visit_start(LIVE_DRAWN, pages, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	p = visit_open();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (only == NULL || strcmp(only, rows[i].name) == 0)
			run(&p, rows[i].name, rows[i].timeout_ms, rows[i].want,
			    rows[i].says);
	}
	visit_end();
	return done_testing();
}
