/* Values inside a document; the adapter's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/pointer.h"

#define TOKEN_MAX 1024

/* The list that a document is about. */
static struct json_val
list_of(struct json_val v)
{
	static const char *const names[] = { "items", "pages" };
	struct json_val result = json_obj_get(v, "result"), list;

	if (json_is_array(v))
		return v;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		list = json_obj_get(v, names[i]);
		if (json_is_missing(list))
			list = json_obj_get(result, names[i]);
		if (json_is_array(list))
			return list;
	}
	return json_obj_get(v, "items");
}

bool
pointer_item(struct json_val document, int64_t index, struct json_val *ret,
    char ret_why[POINTER_WHY_MAX])
{
	struct json_val list = list_of(document);

	if (!json_is_array(list)) {
		snprintf(ret_why, POINTER_WHY_MAX,
		    "/item: the artifact is no list: use select, or neither");
		return false;
	}
	if (index < 0 || (uint64_t)index >= json_len(list)) {
		snprintf(ret_why, POINTER_WHY_MAX,
		    "/item: the list has %zu items, numbered from 0",
		    json_len(list));
		return false;
	}
	*ret = json_arr_get(list, (size_t)index);
	return true;
}

/* The next token, decoded; NULL: it is too long. Moves the pointer behind it. */
static const char *
next_token(const char **pointer, char token[TOKEN_MAX])
{
	const char *p = *pointer + 1;
	size_t n = 0;

	for (; *p != '\0' && *p != '/'; p++) {
		if (n == TOKEN_MAX - 1)
			return NULL;
		token[n] = *p;
		if (*p == '~' && (p[1] == '0' || p[1] == '1'))
			token[n] = *++p == '0' ? '~' : '/';
		n++;
	}
	token[n] = '\0';
	*pointer = p;
	return token;
}

static struct json_val
step(struct json_val v, const char *token)
{
	char *end;
	unsigned long index;

	if (!json_is_array(v))
		return json_obj_get(v, token);
	index = strtoul(token, &end, 10);
	if (token[0] < '0' || token[0] > '9' || *end != '\0')
		return json_obj_get(v, token);
	return json_arr_get(v, index);
}

bool
pointer_get(struct json_val document, const char *pointer, struct json_val *ret,
    char ret_why[POINTER_WHY_MAX])
{
	const char *p = pointer, *at;
	struct json_val v = document, next;
	char token[TOKEN_MAX];

	while (*p != '\0') {
		at = p;
		if (*p != '/' || next_token(&p, token) == NULL) {
			snprintf(ret_why, POINTER_WHY_MAX,
			    "/select: expected a JSON pointer such as "
			    "/0/title");
			return false;
		}
		next = step(v, token);
		if (json_is_missing(next)) {
			snprintf(ret_why, POINTER_WHY_MAX,
			    "/select: nothing is at %.*s; %.*s is %s of %zu",
			    (int)(p - pointer > 80 ? 80 : p - pointer), pointer,
			    at == pointer           ? 80
				: at - pointer > 80 ? 80
						    : (int)(at - pointer),
			    at == pointer ? "the document" : pointer,
			    json_is_array(v)        ? "a list"
				: json_is_object(v) ? "an object"
						    : "a plain value",
			    json_len(v));
			return false;
		}
		v = next;
	}
	*ret = v;
	return true;
}

static bool
at_character(uint8_t byte)
{
	return (byte & 0xc0) != 0x80;
}

bool
pointer_chunk(
    const struct buf *text, size_t from, size_t limit, size_t *ret_len)
{
	size_t end = from + limit;

	if (from > text->len ||
	    (from < text->len && !at_character(text->data[from])))
		return false;
	if (limit >= text->len - from) {
		*ret_len = text->len - from;
		return true;
	}
	while (end > from && !at_character(text->data[end]))
		end--;
	if (end == from)
		do
			end++;
		while (end < text->len && !at_character(text->data[end]));
	*ret_len = end - from;
	return true;
}
