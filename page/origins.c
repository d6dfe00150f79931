/*
 * Which origins the documents of a browser's tabs came from, in the worker:
 * what a site keeps in its local storage can only be asked for by origin. The
 * ones seen last are remembered; none is ever taken from a page's own words.
 */
#include <string.h>

#include "page/priv.h"

static void
origins_add(struct browser *b, const char *origin)
{
	for (unsigned i = 0; i < b->norigins; i++) {
		if (strcmp(b->origins[i], origin) == 0)
			return;
	}
	if (b->norigins == BROWSER_ORIGINS_MAX)
		memmove(b->origins[0], b->origins[1],
		    sizeof(b->origins[0]) * --b->norigins);
	strlcpy(b->origins[b->norigins++], origin, sizeof(b->origins[0]));
}

void
origins_note(struct page *p, struct json_span frame)
{
	p->origin[0] = '\0';
	if (!page_member_str(
		frame, "securityOrigin", p->origin, sizeof(p->origin)) ||
	    (strncmp(p->origin, "http://", 7) != 0 &&
		strncmp(p->origin, "https://", 8) != 0)) {
		p->origin[0] = '\0';
		return;
	}
	origins_add(p->browser, p->origin);
}
