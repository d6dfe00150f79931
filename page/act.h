/*
 * act: what a person does with a page, in the worker: find, click, fill, press
 * keys, submit, wait for something. Elements are named by locators and waited
 * for until they are there and can be operated; input comes from the browser,
 * so that pages take it for a person's. After an action that may lead to
 * another document the tab settles: a navigation that began is waited for until
 * its page is stable, else the page until it is quiet.
 */
#ifndef PAGE_ACT_H
#define PAGE_ACT_H

#include <stdbool.h>
#include <stddef.h>

#include "page/page.h"

#define PAGE_ACT_TIMEOUT_MS 10000

enum page_action {
	PAGE_ACT_FIND,
	PAGE_ACT_CLICK,
	PAGE_ACT_FILL,
	PAGE_ACT_PRESS,
	PAGE_ACT_SUBMIT,
	PAGE_ACT_WAIT,
	PAGE_ACT_INFO,
	PAGE_ACT_LIST,
	PAGE_ACT_SIGNS,
	PAGE_ACT_SHOT,
	PAGE_ACT__MAX
};

/*
 * The texts are JSON and borrowed for the call only; args is an object with the
 * members that the action knows:
 *
 *	locator   {"mode":"selector","selector":S} or
 *	          {"mode":"semantic","query":Q,"kind":field|button|link|any};
 *	          of find, click, fill; submit may do without
 *	mask      an array of locators, and fullPage, a boolean, of shot
 *	go        "mark", "scroll" or "changed" of list, see page/list.js
 *	signs     {"login":B,"document":D,"known":[texts]}, of signs
 *	condition {"type":selector|urlContains|textIncludes,"value":V} of wait
 *
 * value is what fill puts into the field: a string, number, boolean, or an
 * array of strings for a list.
 */
struct page_act_options {
	const char *args; /* NULL: none */
	size_t args_len;
	const char *value;
	size_t value_len;
	bool secret; /* value is to be seen by nobody */
	/*
	 * Asked with the origin of the field's document before value is sent
	 * there; false: PAGE_REFUSED, with *why. NULL: anywhere. guard is its
	 * argument and lives as long as the action.
	 */
	bool (*may_fill)(void *guard, const char *origin, char *why, size_t);
	void *guard;
	bool jpeg;
	const char *key;    /* of press: Enter, a, Control+a, ...; borrowed */
	int timeout_ms;     /* until it can be done; 0: PAGE_ACT_TIMEOUT_MS */
	int nav_timeout_ms; /* 0: PAGE_NAVIGATE_TIMEOUT_MS */
	int stable_timeout_ms; /* as in page_nav_options */
};

/*
 * The result's JSON: of find the element or null when there is none (it does
 * not wait unless a time is given), of info {"url","title"}, of wait
 * {"met":true}, of list {"nextUrl"}, {"moved"} or {"document","changed",
 * "appended"}, of signs what the page says about what was sent to it (see
 * signs.js; it waits until that decides something, at most the time that is
 * given); else {"element","navigated","newTab","url","warnings"}, url
 * only when the tab settled, element where one was named. A page that was
 * opened in a new tab takes the place of the tab's own. Of shot it is no JSON
 * but the bytes of an image, a JPEG if jpeg is set, else a PNG; what secrets
 * were filled in is covered in it.
 *
 * PAGE_NO_ELEMENT, PAGE_NOT_OPERABLE, PAGE_NOT_MET: not in time.
 * PAGE_BAD_LOCATOR: the locator, condition, key or value makes no sense.
 * PAGE_FORM_INVALID: the page's form refuses what was filled in.
 * Returns false, and calls nothing back, as the functions of page.h do.
 */
bool page_act(struct page *, enum page_action, const struct page_act_options *,
    page_result_cb *, void *arg);

#endif
