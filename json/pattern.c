#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>
#include <stdlib.h>

#include "common/panic.h"
#include "json/pattern.h"
#include "json/schema.h"

#define PATTERN_MAGIC 0x70617474
/* KiB of heap and depth of backtracking per match. */
#define HEAP_LIMIT  4096
#define DEPTH_LIMIT 10000

struct pattern {
	uint32_t magic;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

/* What one search has cost. */
struct work {
	size_t used;
	size_t budget;
	size_t at; /* offset in the text */
};

static pcre2_code *
compile_translated(const struct buf *b, const char **ret_why)
{
	int error;
	PCRE2_SIZE offset;
	pcre2_code *code;

	code =
	    pcre2_compile(b->data == NULL ? (PCRE2_SPTR) "" : b->data, b->len,
		PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
		    PCRE2_AUTO_CALLOUT,
		&error, &offset, NULL);
	if (code == NULL)
		*ret_why = "not a supported regular expression";
	return code;
}

bool
pattern_compile(
    const char *source, size_t len, struct pattern **ret, const char **ret_why)
{
	struct pattern *p = calloc(1, sizeof(*p));
	struct buf b;

	buf_init(&b, 1 << 20);
	*ret_why = "out of memory";
	if (p == NULL || !pattern_translate(source, len, &b, ret_why)) {
		free(p);
		buf_clear(&b);
		return false;
	}
	p->magic = PATTERN_MAGIC;
	p->code = compile_translated(&b, ret_why);
	buf_clear(&b);
	if (p->code == NULL) {
		pattern_free(&p);
		return false;
	}
	p->data = pcre2_match_data_create(1, NULL);
	p->context = pcre2_match_context_create(NULL);
	if (p->data == NULL || p->context == NULL) {
		*ret_why = "out of memory";
		pattern_free(&p);
		return false;
	}
	pcre2_set_match_limit(p->context, SCHEMA_MATCH_LIMIT);
	pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(p->context, HEAP_LIMIT);
	*ret = p;
	return true;
}

void
pattern_free(struct pattern **pp)
{
	struct pattern *p = *pp;

	if (p == NULL)
		return;
	MAGIC_CHECK(p, PATTERN_MAGIC);
	p->magic = 0;
	pcre2_match_context_free(p->context);
	pcre2_match_data_free(p->data);
	pcre2_code_free(p->code);
	free(p);
	*pp = NULL;
}

size_t
pattern_bytes(const struct pattern *p)
{
	size_t size = 0;

	MAGIC_CHECK(p, PATTERN_MAGIC);
	pcre2_pattern_info(p->code, PCRE2_INFO_SIZE, &size);
	return sizeof(*p) + size;
}

/*
 * PCRE2's own limit is counted anew at every place of the text and does not see
 * long runs of one element, so the way through the text is added up here.
 */
static int
count_work(pcre2_callout_block *block, void *arg)
{
	struct work *w = arg;
	size_t at = block->current_position;

	w->used += 1 + (at > w->at ? at - w->at : w->at - at);
	w->at = at;
	return w->used > w->budget ? PCRE2_ERROR_CALLOUT : 0;
}

enum pattern_result
pattern_search(struct pattern *p, const char *text, size_t len, size_t budget,
    size_t *ret_work)
{
	struct work work = { 0, budget, 0 };
	int n;

	MAGIC_CHECK(p, PATTERN_MAGIC);
	pcre2_set_callout(p->context, count_work, &work);
	n = pcre2_match(
	    p->code, (PCRE2_SPTR)text, len, 0, 0, p->data, p->context);
	*ret_work = work.used;
	if (n >= 0)
		return PATTERN_MATCH;
	return n == PCRE2_ERROR_NOMATCH ? PATTERN_NO_MATCH : PATTERN_LIMIT;
}
