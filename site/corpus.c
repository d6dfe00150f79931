/*
 * corpus: builds the generated articles: navigation, article, tables, related
 * cards, comments, footer, with about as many elements per byte as real pages
 * have. Runs in demosite. A page must depend on its number alone.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/panic.h"
#include "site/corpus.h"
#include "site/prose.h"

#define PAGE_MAX_BYTES   (1 << 20)
#define SMALL_PAGE_BYTES 24000

static struct {
	char *html;
	size_t len;
} pages[CORPUS_PAGES];

/*
 * The size page k should have: numbers are spread over the quartiles that
 * 100 saved articles of the open web had.
 */
static size_t
page_target_bytes(unsigned k)
{
	static const unsigned quartile[5] = { 15500, 49000, 86000, 134000,
		217000 };
	unsigned rank = k * 37 % CORPUS_PAGES;
	unsigned q = rank / 25, part = rank % 25;

	return quartile[q] + (quartile[q + 1] - quartile[q]) * part / 25;
}

static unsigned
other_page(struct prose *p, unsigned k)
{
	return (k + prose_below(p, CORPUS_PAGES - 1)) % CORPUS_PAGES + 1;
}

static void
add_link(struct prose *p, struct buf *b, unsigned k, const char *class)
{
	buf_addf(
	    b, "<a class=\"%s\" href=\"/corpus/%u\">", class, other_page(p, k));
	prose_phrase(p, b);
	buf_add_str(b, "</a>");
}

/* What pages carry for their scripts: bytes that are neither text nor nodes. */
static void
add_state(struct prose *p, struct buf *b, unsigned words)
{
	buf_add_str(b, " data-state=\"");
	for (unsigned i = 0; i < words; i++)
		buf_addf(b, "%08x", prose_below(p, UINT32_MAX));
	buf_add_str(b, "\"");
}

static void
add_head(struct prose *p, struct buf *b, unsigned k)
{
	buf_add_str(b,
	    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	    "<meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<title>");
	prose_title(p, b);
	buf_addf(b,
	    " (%u) - The Corpus Journal</title>\n"
	    "<meta name=\"description\" content=\"",
	    k);
	prose_sentence(p, b);
	buf_addf(b,
	    "\">\n<link rel=\"canonical\" href=\"/corpus/%u\">\n"
	    "<link rel=\"icon\" href=\"/favicon.ico\">\n"
	    "<link rel=\"stylesheet\" href=\"/css/corpus.css\">\n"
	    "</head>\n<body class=\"layout-article theme-plain\">\n",
	    k);
}

static void
add_nav(struct prose *p, struct buf *b, unsigned k)
{
	buf_add_str(b,
	    "<header class=\"site-header\"><a class=\"brand\" href=\"/\">The "
	    "Corpus Journal</a>\n<nav class=\"main-nav\" "
	    "aria-label=\"Main\"><ul>\n");
	for (int i = 0; i < 14; i++) {
		buf_add_str(b, "<li class=\"nav-item\">");
		add_link(p, b, k, "nav-link");
		buf_add_str(b, "</li>\n");
	}
	buf_add_str(b, "</ul></nav></header>\n");
}

static void
add_paragraph(struct prose *p, struct buf *b, unsigned k)
{
	buf_add_str(b, "<p class=\"body-text\"");
	add_state(p, b, 12);
	buf_add_str(b, ">");
	prose_sentences(p, b, 1 + prose_below(p, 3));
	if (prose_below(p, 3) == 0) {
		buf_add_str(b, " See also ");
		add_link(p, b, k, "inline-link");
		buf_add_str(b, ", <em class=\"term\">");
		prose_phrase(p, b);
		buf_add_str(b, "</em>.");
	}
	buf_add_str(b, " ");
	prose_sentences(p, b, 1 + prose_below(p, 2));
	buf_add_str(b, "</p>\n");
}

static void
add_list(struct prose *p, struct buf *b)
{
	const char *tag = prose_below(p, 3) == 0 ? "ol" : "ul";
	unsigned n = 4 + prose_below(p, 6);

	buf_addf(b, "<%s class=\"list\">\n", tag);
	for (unsigned i = 0; i < n; i++) {
		buf_add_str(b, "<li class=\"list-item\">");
		prose_sentence(p, b);
		buf_add_str(b, "</li>\n");
	}
	buf_addf(b, "</%s>\n", tag);
}

static void
add_table(struct prose *p, struct buf *b)
{
	unsigned rows = 5 + prose_below(p, 8);

	buf_add_str(b, "<table class=\"data\"><caption>");
	prose_title(p, b);
	buf_add_str(b,
	    "</caption>\n<thead><tr><th scope=\"col\">Subject</th>"
	    "<th scope=\"col\">Count</th><th scope=\"col\">Change</th>"
	    "<th scope=\"col\">Recorded by</th></tr></thead>\n<tbody>\n");
	for (unsigned i = 0; i < rows; i++) {
		buf_add_str(b, "<tr><th scope=\"row\">");
		prose_phrase(p, b);
		buf_addf(b,
		    "</th><td class=\"num\">%u</td><td class=\"num\">"
		    "%u.%u %%</td><td>",
		    prose_below(p, 90000), prose_below(p, 60),
		    prose_below(p, 10));
		prose_name(p, b);
		buf_add_str(b, "</td></tr>\n");
	}
	buf_add_str(b, "</tbody></table>\n");
}

static void
add_figure(struct prose *p, struct buf *b)
{
	buf_add_str(b,
	    "<figure class=\"plate\"><img src=\"/img/plate.svg\" width=\"640\" "
	    "height=\"360\" alt=\"");
	prose_phrase(p, b);
	buf_add_str(b, "\"><figcaption>");
	prose_sentence(p, b);
	buf_add_str(b, "</figcaption></figure>\n");
}

static void
add_section(struct prose *p, struct buf *b, unsigned k, unsigned section,
    unsigned paragraphs)
{
	buf_addf(b, "<h2 id=\"section-%u\">", section);
	prose_title(p, b);
	buf_add_str(b, "</h2>\n");
	for (unsigned i = 0; i < paragraphs; i++) {
		add_paragraph(p, b, k);
		if (i % 7 == 3) {
			buf_add_str(b, "<h3>");
			prose_title(p, b);
			buf_add_str(b, "</h3>\n");
		}
	}
	switch (section % 4) {
	case 0:
		add_list(p, b);
		break;
	case 1:
		add_table(p, b);
		break;
	case 2:
		add_figure(p, b);
		break;
	default:
		buf_add_str(b, "<blockquote class=\"quote\"><p>");
		prose_sentences(p, b, 2);
		buf_add_str(b, "</p></blockquote>\n");
	}
}

static void
add_article(struct prose *p, struct buf *b, unsigned k, unsigned paragraphs)
{
	unsigned section = 1;

	buf_add_str(b,
	    "<main class=\"content\"><article class=\"article\">\n"
	    "<h1 class=\"headline\">");
	prose_title(p, b);
	buf_add_str(b,
	    "</h1>\n<p class=\"byline\">By <a rel=\"author\" "
	    "href=\"/corpus/1\">");
	prose_name(p, b);
	buf_addf(b, "</a>, <time datetime=\"2024-%02u-%02u\">2024</time></p>\n",
	    1 + prose_below(p, 12), 1 + prose_below(p, 28));
	while (paragraphs > 0) {
		unsigned n = paragraphs < 8 ? paragraphs : 8;

		add_section(p, b, k, section++, n);
		paragraphs -= n;
	}
	buf_add_str(b, "</article>\n");
}

static void
add_related(struct prose *p, struct buf *b, unsigned k, int cards)
{
	buf_add_str(b,
	    "<aside class=\"related\" aria-label=\"Related\">"
	    "<h2>Related</h2>\n<div class=\"cards\">\n");
	for (int i = 0; i < cards; i++) {
		buf_addf(b,
		    "<div class=\"card card--compact\" data-rank=\"%d\" "
		    "data-track=\"related:%u:%d\"><img class=\"thumb\" "
		    "src=\"/img/plate.svg\" width=\"96\" height=\"54\" "
		    "alt=\"\"><h3 class=\"card-title\">",
		    i, k, i);
		add_link(p, b, k, "card-link");
		buf_add_str(b, "</h3><p class=\"card-text\">");
		prose_phrase(p, b);
		buf_add_str(b, "</p></div>\n");
	}
	buf_add_str(b, "</div></aside>\n</main>\n");
}

static void
add_comment(struct prose *p, struct buf *b, unsigned k, unsigned i)
{
	buf_addf(b,
	    "<li class=\"comment comment--depth-%u\" id=\"comment-%u-%u\" "
	    "data-thread=\"t%u\" data-author=\"u%05u\"",
	    i % 3, k, i, i / 5, prose_below(p, 100000));
	add_state(p, b, 90);
	buf_add_str(b,
	    "><div class=\"comment-head\"><img class=\"avatar\" "
	    "src=\"/img/plate.svg\" width=\"32\" height=\"32\" alt=\"\">"
	    "<span class=\"comment-author\">");
	prose_name(p, b);
	buf_addf(b,
	    "</span> <a class=\"permalink\" href=\"#comment-%u-%u\">"
	    "<time datetime=\"2024-06-%02u\">%u June</time></a></div>"
	    "<div class=\"comment-body\"><p>",
	    k, i, 1 + i % 30, 1 + i % 30);
	prose_sentences(p, b, 1 + prose_below(p, 3));
	buf_add_str(b,
	    "</p></div><div class=\"comment-tools\"><button type=\"button\" "
	    "class=\"btn btn--quiet\" aria-label=\"Reply\">Reply</button>"
	    "<button type=\"button\" class=\"btn btn--quiet\">Report</button>"
	    "</div></li>\n");
}

static void
add_footer(struct prose *p, struct buf *b, unsigned k)
{
	buf_add_str(b,
	    "</ol></section>\n<footer class=\"site-footer\"><nav "
	    "aria-label=\"Footer\"><ul class=\"footer-list\">\n");
	for (int i = 0; i < 24; i++) {
		buf_add_str(b, "<li>");
		add_link(p, b, k, "footer-link");
		buf_add_str(b, "</li>\n");
	}
	buf_addf(b,
	    "</ul></nav><p class=\"colophon\">Page %u of %d.</p></footer>\n"
	    "</body>\n</html>\n",
	    k, CORPUS_PAGES);
}

static void
page_build(struct buf *b, unsigned k)
{
	size_t target = page_target_bytes(k);
	bool small = target < SMALL_PAGE_BYTES;
	unsigned paragraphs = (unsigned)(small ? 20 : 20 + target / 2500);
	struct prose p;

	prose_init(&p, k);
	add_head(&p, b, k);
	add_nav(&p, b, k);
	add_article(&p, b, k, paragraphs);
	add_related(&p, b, k, small ? 4 : 16);
	buf_add_str(b,
	    "<section class=\"comments\"><h2>Comments</h2>"
	    "<ol class=\"comment-list\">\n");
	for (unsigned i = 0; b->len + 3400 < target && !b->failed; i++)
		add_comment(&p, b, k, i);
	add_footer(&p, b, k);
}

const char *
corpus_page(unsigned k, size_t *ret_len)
{
	struct buf b;

	ASSERT(k >= 1 && k <= CORPUS_PAGES);
	if (pages[k - 1].html == NULL) {
		buf_init(&b, PAGE_MAX_BYTES);
		page_build(&b, k);
		if (b.failed) {
			buf_clear(&b);
			return NULL;
		}
		pages[k - 1].html = (char *)buf_take(&b, &pages[k - 1].len);
		if (pages[k - 1].html == NULL)
			return NULL;
	}
	*ret_len = pages[k - 1].len;
	return pages[k - 1].html;
}

void
corpus_free(void)
{
	for (unsigned i = 0; i < CORPUS_PAGES; i++) {
		free(pages[i].html);
		pages[i].html = NULL;
	}
}
