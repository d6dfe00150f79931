/*
 * The hands of the tests of page/: callbacks that note what they were told and
 * waiting for them. For tests only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "json/tape.h"
#include "visit.h"

struct visit visit;

void
visit_wait(void)
{
	while (!visit.done)
		event_base_loop(visit.base, EVLOOP_ONCE);
	visit.done = false;
}

static void
on_ready(struct browser *b, const char *product, const char *why, void *ctx)
{
	visit.ready = product != NULL;
	visit.done = true;
	printf("# %s\n", product != NULL ? product : why);
}

static void
on_gone(struct browser *b, const char *why, void *ctx)
{
	visit.gone++;
	visit.done = true;
}

static void
on_warning(struct browser *b, const char *text, void *ctx)
{
	visit.warnings++;
	printf("# warning: %s\n", text);
}

static void
on_stuck(struct browser *b, const char *why, void *ctx)
{
	visit.stuck++;
}

static const struct browser_ops ops = { on_ready, on_gone, on_warning,
	on_stuck };

void
visit_on_page(
    struct page *p, enum page_status status, const char *message, void *arg)
{
	visit.status = status;
	strlcpy(visit.message, message, sizeof(visit.message));
	visit.done = true;
}

void
visit_on_nav(struct page *p, const struct page_nav *nav, void *arg)
{
	if (arg != NULL)
		--*(int *)arg;
	visit.status = nav->status;
	strlcpy(visit.message, nav->message, sizeof(visit.message));
	strlcpy(visit.url, nav->final_url, sizeof(visit.url));
	strlcpy(visit.mime, nav->mime, sizeof(visit.mime));
	visit.http_status = nav->http_status;
	visit.redirected = nav->redirected;
	visit.partial = nav->partial;
	visit.elapsed_ms = nav->elapsed_ms;
	free(visit.json);
	visit.json = nav->doc != NULL ? strndup(nav->doc, nav->doc_len) : NULL;
	visit.json_len = nav->doc_len;
	visit.done = true;
}

void
visit_on_result(struct page *p, const struct page_result *r, void *arg)
{
	visit.status = r->status;
	strlcpy(visit.message, r->message, sizeof(visit.message));
	free(visit.json);
	/* It may be a picture. */
	visit.json = r->json != NULL ? malloc(r->len + 1) : NULL;
	if (visit.json != NULL) {
		memcpy(visit.json, r->json, r->len);
		visit.json[r->len] = '\0';
	}
	visit.json_len = r->len;
	visit.done = true;
}

struct page *
visit_open(void)
{
	struct page *p = page_open(visit.browser, visit_on_page, NULL);

	if (p == NULL)
		return NULL;
	visit_wait();
	return visit.status == PAGE_OK ? p : NULL;
}

const char *
visit_at(const char *path)
{
	static char url[256];

	snprintf(
	    url, sizeof(url), "http://127.0.0.1:%d%s", visit.site.port, path);
	return url;
}

enum page_status
visit_url(struct page *p, const char *url, int timeout_ms)
{
	struct page_nav_options opts = { .timeout_ms = timeout_ms };

	if (!page_navigate(p, url, &opts, visit_on_nav, NULL))
		return PAGE__MAX;
	visit_wait();
	return visit.status;
}

enum page_status
visit_go(struct page *p, const char *path, int timeout_ms)
{
	return visit_url(p, visit_at(path), timeout_ms);
}

enum page_status
visit_read(struct page *p, const char *path, int timeout_ms)
{
	struct page_nav_options opts = { .timeout_ms = timeout_ms };
	struct page_extract_options all = { .page_info = true,
		.content = true };

	if (!page_read(p, visit_at(path), &opts, &all, visit_on_nav, NULL))
		return PAGE__MAX;
	visit_wait();
	return visit.status;
}

enum page_status
visit_eval(struct page *p, const char *source, const char *args, int timeout_ms)
{
	if (!page_eval(p, source, strlen(source), args,
		args != NULL ? strlen(args) : 0, timeout_ms, visit_on_result,
		NULL))
		return PAGE__MAX;
	visit_wait();
	return visit.status;
}

void
visit_shut(struct page *p)
{
	if (p == NULL)
		return;
	page_close(p, visit_on_page, NULL);
	visit_wait();
}

/* The JSON text of a member reached by names, compared as a string. */
bool
visit_json_is(const char *path, const char *want)
{
	struct json_doc *doc = NULL;
	struct json_val v;
	char copy[128], *save, *word, got[256] = "";
	bool same = false;

	if (visit.json == NULL ||
	    !json_parse((const uint8_t *)visit.json, visit.json_len, NULL, 0,
		&doc, NULL))
		return false;
	v = json_root(doc);
	strlcpy(copy, path, sizeof(copy));
	for (word = strtok_r(copy, ".", &save); word != NULL;
	     word = strtok_r(NULL, ".", &save))
		v = json_is_array(v)
		    ? json_arr_get(v, (size_t)(int)strtol(word, NULL, 10))
		    : json_obj_get(v, word);
	if (json_is_string(v)) {
		(void)json_str_copy(v, got, sizeof(got));
		same = json_str_eq(v, want);
	} else {
		const uint8_t *raw;
		size_t len;

		if (json_raw(v, &raw, &len))
			snprintf(got, sizeof(got), "%.*s", (int)len,
			    (const char *)raw);
		same = strcmp(got, want) == 0;
	}
	if (!same)
		printf("# %s: %s\n", path, got);
	json_doc_free(&doc);
	return same;
}

void
visit_extract(struct page *p, struct page_extract_options opts)
{
	page_extract(p, &opts, visit_on_result, NULL);
	visit_wait();
}

void
visit_attach(uint32_t generation)
{
	struct browser_options options = { .allow_data_urls = true,
		.generation = generation };

	visit.base = event_base_new();
	visit.browser = browser_new(visit.base, dup(visit.chrome.read_fd),
	    dup(visit.chrome.write_fd), &options, &ops, NULL);
	if (visit.undrawn)
		browser_set_undrawn(visit.browser);
	visit_wait();
}

void
visit_drop(void)
{
	browser_free(&visit.browser);
	event_base_free(visit.base);
}

bool
visit_launch(enum live_program program, const char *pages, const char **ret_why)
{
	memset(&visit, 0, sizeof(visit));
	visit.undrawn = program != LIVE_DRAWN;
	if (!live_site_start(&visit.site, pages, ret_why))
		return false;
	if (live_browser_start(&visit.chrome, program, ret_why))
		return true;
	live_site_stop(&visit.site);
	return false;
}

void
visit_stop(void)
{
	free(visit.json);
	live_browser_stop(&visit.chrome);
	live_site_stop(&visit.site);
}

bool
visit_start(enum live_program program, const char *pages, const char **ret_why)
{
	if (!visit_launch(program, pages, ret_why))
		return false;
	visit_attach(0);
	close(visit.chrome.read_fd);
	close(visit.chrome.write_fd);
	return true;
}

void
visit_end(void)
{
	visit_drop();
	visit_stop();
}
