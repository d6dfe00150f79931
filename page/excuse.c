/*
 * Why an address could not be loaded, in the worker. Browsers reach the network
 * through a proxy, egressd, and know no more than that it did not connect;
 * egressd says why, to supervisord and so to us, before the browser hears of it.
 * The two tales meet here: by the host, which after redirects is not the one
 * that was asked for; the page that Chromium shows instead names it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/panic.h"
#include "page/priv.h"

#define EXCUSE_WAIT_MS 250 /* for what egressd says */

/* How each outcome ends a navigation, and Chromium's name of it. */
static const struct {
	enum page_status status;
	const char *name; /* NULL: egressd's own words */
} endings[EGRESS__MAX] = {
	[EGRESS_REFUSED] = { PAGE_REFUSED, NULL },
	[EGRESS_TRUST] = { PAGE_UNTRUSTED, NULL },
	[EGRESS_DNS] = { PAGE_NAVIGATION_FAILED, "net::ERR_NAME_NOT_RESOLVED" },
	[EGRESS_CONNECT] = { PAGE_NAVIGATION_FAILED,
	    "net::ERR_CONNECTION_REFUSED" },
	[EGRESS_TIMEOUT] = { PAGE_NAVIGATION_FAILED,
	    "net::ERR_CONNECTION_TIMED_OUT" },
	[EGRESS_UNREACHABLE] = { PAGE_NAVIGATION_FAILED,
	    "net::ERR_ADDRESS_UNREACHABLE" },
	[EGRESS_LIMIT] = { PAGE_NAVIGATION_FAILED, NULL },
	[EGRESS_PROXY] = { PAGE_NAVIGATION_FAILED, NULL },
};

/* The host of an address as Chromium writes it, without brackets, and port. */
static bool
split_url(const char *url, char ret_host[LIMIT_HOST_BYTES + 1], int *ret_port)
{
	const char *host = strstr(url, "://"), *at;
	size_t len, host_len;

	if (host == NULL)
		return false;
	*ret_port = strncasecmp(url, "https:", 6) == 0 ||
		strncasecmp(url, "wss:", 4) == 0
	    ? 443
	    : 80;
	host += 3;
	len = strcspn(host, "/?#");
	at = memrchr(host, '@', len);
	if (at != NULL) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	if (*host == '[') {
		host++;
		host_len = strcspn(host, "]");
		at = host + host_len + 1;
	} else {
		host_len = strcspn(host, ":/?#");
		at = host + host_len;
	}
	if (host_len == 0 || host_len > LIMIT_HOST_BYTES || host_len > len)
		return false;
	if (*at == ':')
		*ret_port = (int)strtol(at + 1, NULL, 10);
	memcpy(ret_host, host, host_len);
	ret_host[host_len] = '\0';
	return true;
}

/* Whether the page that is shown stands for this failure, not for one before. */
static bool
is_shown(const struct page *p)
{
	const struct page_load *l = &p->load;

	return l->failed[0] != '\0' &&
	    (p->op == OP_ACT || strcmp(p->loader, l->loader) == 0);
}

/* The latest of what was said of where it goes. */
static const struct browser_notice *
find_notice(const struct page *p)
{
	const struct browser_notice *all = p->browser->notices, *best = NULL;
	const struct page_load *l = &p->load;
	char host[LIMIT_HOST_BYTES + 1];
	int port;

	if (!split_url(is_shown(p) ? l->failed : l->asked, host, &port))
		return NULL;
	for (size_t i = 0; i < BROWSER_NOTICES_MAX; i++)
		if (all[i].at_ms != 0 && all[i].port == port &&
		    strcasecmp(all[i].host, host) == 0 &&
		    (best == NULL || all[i].at_ms >= best->at_ms))
			best = &all[i];
	return best;
}

static void
excuse_finish(struct page *p, const struct browser_notice *n)
{
	char words[PAGE_MESSAGE_MAX];

	if (endings[n->outcome].name != NULL)
		page_load_error(endings[n->outcome].name, words, sizeof(words));
	else
		snprintf(words, sizeof(words), "%s: %s", n->host, n->text);
	page_finish(p, endings[n->outcome].status, words);
}

/* Ends the operation if what is known is enough. */
static bool
excuse_look(struct page *p)
{
	const struct browser_notice *n = is_shown(p) ? find_notice(p) : NULL;

	if (n == NULL)
		return false;
	excuse_finish(p, n);
	return true;
}

bool
excuse_begin(struct page *p, const char *name, struct json_span result)
{
	if (strncmp(name, "net::ERR_SOCKS_", 15) != 0 &&
	    strcmp(name, "net::ERR_PROXY_CONNECTION_FAILED") != 0)
		return false;
	p->load.excusing = true;
	(void)page_member_str(
	    result, "loaderId", p->load.loader, sizeof(p->load.loader));
	if (!excuse_look(p))
		page_pause(p, EXCUSE_WAIT_MS);
	return true;
}

/*
 * An action that led there has no answer of Chromium's that says why: it waits
 * for egressd's word, which there is none of when something else went wrong.
 */
bool
excuse_on_document(struct page *p, struct json_span url)
{
	struct page_load *l = &p->load;

	if (!json_span_str_copy(url, l->failed, sizeof(l->failed)))
		l->failed[0] = '\0';
	if (l->excusing)
		return excuse_look(p);
	if (p->op != OP_ACT)
		return false;
	l->excusing = true;
	if (!excuse_look(p))
		page_pause(p, EXCUSE_WAIT_MS);
	return true;
}

void
excuse_on_pause(struct page *p)
{
	const struct browser_notice *n = find_notice(p);

	if (n != NULL)
		excuse_finish(p, n);
	else
		page_finish(p, PAGE_NAVIGATION_FAILED,
		    p->op == OP_ACT ? "where it leads could not be loaded"
				    : "the network did not connect");
}

void
browser_note_egress(struct browser *b, const char *host, int port,
    enum egress_outcome outcome, const char *text)
{
	struct browser_notice *n = &b->notices[0];
	struct page *p, *next;

	MAGIC_CHECK(b, BROWSER_MAGIC);
	for (size_t i = 1; i < BROWSER_NOTICES_MAX; i++)
		if (b->notices[i].at_ms < n->at_ms)
			n = &b->notices[i];
	n->at_ms = clock_mono_ms();
	n->port = port;
	n->outcome = outcome;
	strlcpy(n->host, host, sizeof(n->host));
	strlcpy(n->text, text, sizeof(n->text));
	for (p = TAILQ_FIRST(&b->pages); p != NULL; p = next) {
		next = TAILQ_NEXT(p, next);
		if (page_is_loading(p) && p->load.excusing)
			(void)excuse_look(p);
	}
}
