#include <stdlib.h>

#include "json/canon.h"
#include "json/number.h"
#include "json/tape_int.h"
#include "json/text.h"

/* An array or object being written: what of it is still to come. */
struct frame {
	bool object;
	bool filled;
	uint32_t next; /* a token (array) or a place in keys (object) */
	uint32_t end;
	size_t keys; /* how many keys were there before its own */
};

struct canon {
	const struct json_doc *doc;
	struct buf *out;
	uint32_t *keys; /* sorted keys of the open objects, one after another */
	size_t nkeys;
	size_t depth;
	struct frame frames[JSON_DEPTH_MAX];
};

static void
add_string(struct canon *c, uint64_t t)
{
	json_text_respell(c->doc->bytes + token_off(t), token_aux(t), c->out);
}

static void
add_number(struct canon *c, uint64_t t)
{
	struct json_decimal d;

	d = json_decimal_read(c->doc->bytes + token_off(t), token_aux(t));
	json_decimal_add(&d, c->out);
}

static void
open_frame(struct canon *c, uint32_t at)
{
	const uint64_t *tape = c->doc->tape;
	struct frame *f = &c->frames[c->depth++];

	f->object = token_type(tape[at]) == TOKEN_OBJECT;
	f->filled = false;
	f->keys = c->nkeys;
	buf_add_str(c->out, f->object ? "{" : "[");
	f->next = at + 1;
	f->end = token_aux(tape[at]);
	if (!f->object)
		return;
	f->next = (uint32_t)c->nkeys;
	for (uint32_t i = at + 1; i < token_aux(tape[at]);
	     i = tape_skip(tape, i + 1))
		c->keys[c->nkeys++] = i;
	f->end = (uint32_t)c->nkeys;
	tape_sort_keys(c->doc, c->keys + f->next, f->end - f->next);
}

static void
close_frame(struct canon *c)
{
	struct frame *f = &c->frames[--c->depth];

	buf_add_str(c->out, f->object ? "}" : "]");
	c->nkeys = f->keys;
}

static void
add_value(struct canon *c, uint32_t at)
{
	uint64_t t = c->doc->tape[at];

	switch (token_type(t)) {
	case TOKEN_ARRAY:
	case TOKEN_OBJECT:
		open_frame(c, at);
		break;
	case TOKEN_STRING:
		add_string(c, t);
		break;
	case TOKEN_NUMBER:
		add_number(c, t);
		break;
	default:
		buf_add(c->out, c->doc->bytes + token_off(t), token_aux(t));
		break;
	}
}

/* Adds the next element or member of the innermost frame. */
static void
add_next(struct canon *c, struct frame *f)
{
	uint32_t at = f->next++;

	if (f->filled)
		buf_add_str(c->out, ",");
	f->filled = true;
	if (!f->object) {
		f->next = tape_skip(c->doc->tape, at);
		add_value(c, at);
		return;
	}
	/* Equal keys stand in the order of the text: the last one counts. */
	while (f->next < f->end &&
	    tape_str_cmp(c->doc, c->keys[at], c->keys[f->next]) == 0)
		at = f->next++;
	add_string(c, c->doc->tape[c->keys[at]]);
	buf_add_str(c->out, ":");
	add_value(c, c->keys[at] + 1);
}

bool
json_canon_add(struct json_val v, struct buf *out)
{
	struct canon c;
	size_t ntokens;

	if (json_is_missing(v))
		return false;
	ntokens = tape_skip(v.doc->tape, v.at) - v.at;
	c.doc = v.doc;
	c.out = out;
	c.nkeys = c.depth = 0;
	c.keys = reallocarray(NULL, ntokens, sizeof(*c.keys));
	if (c.keys == NULL)
		return false;
	add_value(&c, v.at);
	while (c.depth != 0 && !out->failed) {
		struct frame *f = &c.frames[c.depth - 1];

		if (f->next == f->end)
			close_frame(&c);
		else
			add_next(&c, f);
	}
	free(c.keys);
	return !out->failed;
}
