/*
 * items: what a run produces, sent in chunks that wait when supervisord is
 * slower than the pages. Runs in workerd only, in the template's coroutines.
 * An item is journaled by supervisord when its end arrives; one that was
 * journaled is never sent again.
 */
#include <string.h>
#include <strings.h>

#include <sys/types.h>

#include <lauxlib.h>
#include <lua.h>
#include <nettle/sha2.h>

#include "workerd/lua_json.h"
#include "workerd/outbox.h"
#include "workerd/run.h"
#include "workerd/secret.h"

#define MAX_SLOTS 16

/* Where the values of a sending function lie on its stack. */
enum {
	ARG = 1,
	SENDING,
	RECORD,
	PARTS
};

struct sending {
	struct report_item item;
	int slot;
	int part;
	int last; /* part that has bytes, -1: none has */
	size_t offset;
};

/* A page may have put a secret into the key, and a digest tells a short one. */
static void
digest_of(lua_State *L, const char *text, size_t len,
    uint8_t ret[REPORT_DIGEST_BYTES])
{
	uint8_t whole[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;

	lua_pushlstring(L, text, len);
	secret_clean(L);
	text = lua_tolstring(L, -1, &len);
	sha256_init(&sha);
	sha256_update(&sha, len, (const uint8_t *)text);
	sha256_digest(&sha, SHA256_DIGEST_SIZE, whole);
	memcpy(ret, whole, REPORT_DIGEST_BYTES);
	lua_pop(L, 1);
}

/* item_done(index, key): journaled by an earlier attempt of this run? */
static int
item_done(lua_State *L)
{
	struct run *run = run_of(L);
	lua_Integer index = luaL_checkinteger(L, 1);
	size_t len;
	const char *key = luaL_checklstring(L, 2, &len);
	uint8_t digest[REPORT_DIGEST_BYTES];
	const struct run_item *item;

	luaL_argcheck(L, index >= 1 && index <= LIMIT_ITEMS, 1, "1..1000");
	item = &run->items[index - 1];
	digest_of(L, key, len, digest);
	lua_pushboolean(
	    L, item->done && memcmp(item->digest, digest, sizeof(digest)) == 0);
	return 1;
}

/*
 * Leaves the bytes of the value on top: a string as it is, else its JSON. There
 * are no secrets in what is text.
 */
static void
to_bytes(lua_State *L, bool text)
{
	if (lua_isnil(L, -1))
		return;
	if (lua_type(L, -1) != LUA_TSTRING) {
		lua_json_encode(L, -1);
		lua_remove(L, -2);
	}
	if (text)
		secret_clean(L);
}

/*
 * Finds the next bytes to send. False when they are the last ones and go with
 * the item's end, or when there are none.
 */
static bool
next_chunk(lua_State *L, struct sending *s, size_t room, const char **ret_data,
    size_t *ret_len)
{
	const char *data;
	size_t len;

	*ret_data = NULL;
	*ret_len = 0;
	for (; s->part <= s->last; s->part++, s->offset = 0) {
		data = lua_tolstring(L, PARTS + s->part, &len);
		if (data == NULL || s->offset == len)
			continue;
		len -= s->offset;
		*ret_data = data + s->offset;
		*ret_len = len < LIMIT_CHUNK_BYTES ? len : LIMIT_CHUNK_BYTES;
		return s->part < s->last || len > room;
	}
	return false;
}

static int
send_item(lua_State *L, void *arg)
{
	struct run *run = run_of(L);
	struct sending *s = lua_touserdata(L, SENDING);
	const char *record, *data;
	size_t record_len, len;

	(void)arg;
	record = lua_tolstring(L, RECORD, &record_len);
	while (next_chunk(L, s, LIMIT_CHUNK_BYTES - record_len, &data, &len)) {
		if (outbox_is_busy(run->out))
			return run_wait_drained(L, run, send_item);
		run_sent(L,
		    report_item_data(
			run->out, s->item.index, s->part, data, len));
		s->offset += len;
	}
	if (outbox_is_busy(run->out))
		return run_wait_drained(L, run, send_item);
	s->item.done = ++run->items_done;
	s->item.part = s->part;
	s->item.data = data;
	s->item.data_len = len;
	run_sent(L, report_item_end(run->out, &s->item, record, record_len));
	return 0;
}

/* Leaves the bytes of all parts on top; the last part that has some. */
static int
push_parts(lua_State *L)
{
	int last = -1;

	lua_getfield(L, ARG, "parts");
	for (int i = 0; i < LIMIT_ARTIFACT_PARTS; i++) {
		if (lua_istable(L, PARTS))
			lua_rawgeti(L, PARTS, i);
		else
			lua_pushnil(L);
		to_bytes(L, true);
		if (!lua_isnil(L, -1))
			last = i;
	}
	lua_remove(L, PARTS);
	return last;
}

/* Each part is sent in chunks of its own. */
static size_t
count_pieces(lua_State *L, int last)
{
	size_t n = 0, len;

	for (int part = 0; part <= last; part++)
		if (lua_tolstring(L, PARTS + part, &len) != NULL)
			n += (len + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES;
	return n;
}

/* item{index=, key=, ok=, record=, parts={[0]=...}} */
static int
item(lua_State *L)
{
	struct run *run = run_of(L);
	struct sending *s;
	const char *key;
	size_t len;
	int index;

	luaL_checktype(L, ARG, LUA_TTABLE);
	lua_settop(L, ARG);
	sched_check(run->sched, L);
	index = run_field_int(L, ARG, "index", 1, LIMIT_ITEMS, 0);
	luaL_argcheck(L, index > 0, ARG, "no index");
	key = run_field(L, ARG, "key", SIZE_MAX, NULL, &len);
	s = lua_newuserdatauv(L, sizeof(*s), 0);
	memset(s, 0, sizeof(*s));
	s->item.index = index - 1;
	digest_of(L, key, len, s->item.digest);
	lua_getfield(L, ARG, "ok");
	s->item.ok = lua_toboolean(L, -1);
	lua_pop(L, 1);
	lua_getfield(L, ARG, "record");
	lua_json_encode(L, -1);
	lua_remove(L, -2);
	secret_clean(L);
	(void)lua_tolstring(L, RECORD, &len);
	if (len > LIMIT_ITEM_RECORD_BYTES)
		return luaL_error(L, "record of item %d above 16 KiB", index);
	s->last = push_parts(L);
	if (count_pieces(L, s->last) > LIMIT_ITEM_PIECES)
		return luaL_error(L, "parts of item %d above %d bytes", index,
		    (int)(LIMIT_ITEM_PIECES * LIMIT_CHUNK_BYTES));
	if (run->items[s->item.index].done)
		return luaL_error(L, "item %d is done already", index);
	run->items[s->item.index].done = true;
	memcpy(run->items[s->item.index].digest, s->item.digest,
	    REPORT_DIGEST_BYTES);
	return send_item(L, NULL);
}

/* ---- artifacts and the result: one string in chunks ---- */

static int
send_artifact(lua_State *L, void *arg)
{
	struct run *run = run_of(L);
	struct sending *s = lua_touserdata(L, SENDING);
	size_t len, n;
	const char *data = lua_tolstring(L, RECORD, &len);

	(void)arg;
	while (s->offset < len) {
		if (outbox_is_busy(run->out))
			return run_wait_drained(L, run, send_artifact);
		n = len - s->offset;
		n = n < LIMIT_CHUNK_BYTES ? n : LIMIT_CHUNK_BYTES;
		run_sent(L,
		    report_artifact_data(
			run->out, s->slot, data + s->offset, n));
		s->offset += n;
	}
	run_sent(L,
	    report_artifact_end(run->out, s->slot,
		run_field(L, ARG, "kind", 32, NULL, NULL),
		run_field(L, ARG, "mime", 128, NULL, NULL),
		run_field(L, ARG, "name", 128, NULL, NULL)));
	run->artifact_slots &= ~(1u << s->slot);
	return 0;
}

/* Whether bytes that look like a secret can be one. */
static bool
is_text(const char *mime)
{
	static const char *const others[] = { "image/", "audio/", "video/",
		"font/", "application/pdf", "application/zip",
		"application/octet-stream" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncasecmp(mime, others[i], strlen(others[i])) == 0)
			return false;
	return true;
}

/* artifact{kind=, mime=, name=, data=} */
static int
artifact(lua_State *L)
{
	struct run *run = run_of(L);
	const char *mime;
	struct sending *s;
	int slot = 0;

	luaL_checktype(L, ARG, LUA_TTABLE);
	lua_settop(L, ARG);
	sched_check(run->sched, L);
	(void)run_field(L, ARG, "kind", 32, NULL, NULL);
	mime = run_field(L, ARG, "mime", 128, NULL, NULL);
	run_field_label(L, ARG);
	s = lua_newuserdatauv(L, sizeof(*s), 0);
	memset(s, 0, sizeof(*s));
	lua_getfield(L, ARG, "data");
	to_bytes(L, is_text(mime));
	if (lua_isnil(L, RECORD))
		return luaL_error(L, "an artifact without data");
	while (slot < MAX_SLOTS && (run->artifact_slots & (1u << slot)) != 0)
		slot++;
	if (slot == MAX_SLOTS)
		return luaL_error(L, "more than %d artifacts at once", slot);
	run->artifact_slots |= 1u << slot;
	s->slot = slot;
	return send_artifact(L, NULL);
}

static int
send_result(lua_State *L, void *arg)
{
	struct run *run = run_of(L);
	struct sending *s = lua_touserdata(L, SENDING);
	size_t len, n;
	const char *data = lua_tolstring(L, RECORD, &len);

	(void)arg;
	while (s->offset < len) {
		if (outbox_is_busy(run->out))
			return run_wait_drained(L, run, send_result);
		n = len - s->offset;
		n = n < LIMIT_CHUNK_BYTES ? n : LIMIT_CHUNK_BYTES;
		run_sent(L, report_result_data(run->out, data + s->offset, n));
		s->offset += n;
	}
	return 0;
}

/* result(value): once, by prelude.lua, when run(ctx) has returned. */
static int
result(lua_State *L)
{
	struct sending *s;

	lua_settop(L, ARG);
	s = lua_newuserdatauv(L, sizeof(*s), 0);
	memset(s, 0, sizeof(*s));
	lua_json_encode(L, ARG);
	secret_clean(L);
	return send_result(L, NULL);
}

void
items_open(lua_State *L)
{
	static const luaL_Reg functions[] = { { "artifact", artifact },
		{ "item", item }, { "item_done", item_done },
		{ "result", result }, { NULL, NULL } };

	luaL_setfuncs(L, functions, 0);
}
