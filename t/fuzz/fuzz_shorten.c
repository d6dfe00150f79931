/*
 * Results that workers send, cut for the supervisor's answers: the first byte
 * chooses the room, the rest is a JSON text. What comes out is JSON of the same
 * type, within the room but for the few bytes that say what was cut.
 */
#include "common/panic.h"
#include "json/tape.h"
#include "model/limits.h"
#include "supervisord/shorten.h"
#include "t/fuzz/fuzz.h"

#define TEXT_MAX (64u << 10)
#define SAID_MAX 160 /* {"truncated":...} alone */

static void
shorten_one(struct json_val v, size_t room, bool result)
{
	static const struct ulid id = { { 1 } };
	struct json_limits limits = { 0, LIMIT_JSON_DEPTH + 1 };
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct buf b;

	buf_init(&b, 4 * TEXT_MAX);
	json_writer_init(&w, &b);
	if (result)
		shorten_result(v, room, &id, &w);
	else
		shorten_write(v, room, &w);
	ASSERT(json_writer_finish(&w));
	ASSERT(b.len <= room || b.len <= (result ? SAID_MAX : 2));
	ASSERT(json_parse(b.data, b.len, &limits, 0, &doc, NULL));
	ASSERT(json_is_array(json_root(doc)) == json_is_array(v));
	ASSERT(!result || json_is_array(v) ||
	    json_is_object(json_obj_get(json_root(doc), "truncated")));
	json_doc_free(&doc);
	buf_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct json_limits limits = { TEXT_MAX, LIMIT_JSON_DEPTH };
	struct json_doc *doc = NULL;
	size_t room;

	if (size < 1 ||
	    !json_parse(
		bytes + 1, size - 1, &limits, JSON_REPAIR_UTF8, &doc, NULL))
		return 0;
	room = 8 * (size_t)bytes[0];
	shorten_one(json_root(doc), room, false);
	if (!json_is_array(json_root(doc)))
		shorten_one(json_root(doc), room, true);
	json_doc_free(&doc);
	return 0;
}
