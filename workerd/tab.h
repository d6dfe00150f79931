/*
 * tab: what the two sources of the tabs that templates see share: tab.c (life,
 * navigation, extracts) and tab_act.c (actions).
 */
#ifndef WORKERD_TAB_H
#define WORKERD_TAB_H

#include <stdbool.h>
#include <stdint.h>

#include <lua.h>

#include "page/page.h"
#include "workerd/sched.h"

struct run;
struct secrets;

#define TAB_MAX_TIME_MS 600000

struct tab {
	struct run *run;
	struct tab *next;
	struct page *page;
	uint64_t op;                   /* 0: nothing under way */
	const struct secrets *filling; /* whose number that is filled in */
	size_t filling_number;
	bool open;
	bool reading;   /* what the page is opened for: read() or navigate() */
	bool collected; /* Lua forgot it: freed when its page is closed */
};

/* What an operation's callback hands to the resumed coroutine. */
struct outcome {
	enum page_status status;
	const char *message;
	const struct page_nav *nav;
	const struct page_result *result;
};

/* All but the callback are for protected mode only. */

/* The tab that a method was called on; raises unless it may be used now. */
struct tab *tab_check(lua_State *);
/* nil and the error that the status stands for; also where there is no page. */
int tab_push_failure(lua_State *, enum page_status, const char *message);
int tab_no_page(lua_State *);
/* The operation is under way: "return tab_await(...)". */
int tab_await(lua_State *, struct tab *, sched_resume_fn *);
/* Waits until the page is stable, then answers as navigate() does. */
int
tab_await_stable(lua_State *, struct tab *, const struct page_nav_options *);
/* The page's answer as a view, or as a value; arg is a struct outcome. */
int tab_push_view(lua_State *, void *arg);
int tab_push_evaluated(lua_State *, void *arg);
/* arg is the tab. */
page_result_cb tab_on_result;

/* tab_options.c: of the table at index, or of none. */
struct page_nav_options tab_nav_options(lua_State *, int index);
struct page_extract_options tab_extract_options(lua_State *, int index);

/* Adds the methods of tab_act.c to the table on top of the stack. */
void tab_act_open(lua_State *);

#endif
