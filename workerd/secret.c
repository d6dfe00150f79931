/*
 * secret: keeps a run's secret values and gives templates handles of them.
 * Runs in workerd only. The values come by a pipe of their own, so that they
 * are in no message and no document; memory they were in is wiped. It must
 * never make a Lua string of one: Lua would keep it where nobody can wipe it,
 * and a template could read it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>

#include "common/buf.h"
#include "common/secretname.h"
#include "json/schema.h"
#include "json/tape.h"
#include "model/limits.h"
#include "model/secrethosts.h"
#include "workerd/lua_json.h"
#include "workerd/redact.h"
#include "workerd/secret.h"
#include "workerd/vm.h"

#define SECRET_NAME   "secret"
#define SECRET_MEMBER "secret"
#define READ_BYTES    4096
#define BYTES_A_STEP  8 /* of redaction */

struct secrets {
	struct buf document;
	struct buf text; /* all values, a NUL behind each */
	size_t count;
	struct {
		size_t at;
		size_t len;
		char name[SECRETNAME_BYTES]; /* of a stored one, else "" */
		struct secret_hosts *hosts;  /* NULL: not known */
	} value[LIMIT_SECRETS];
};

/* What a userdata holds. */
struct secret {
	const struct secrets *owner;
	size_t index;
};

struct secrets *
secrets_new(void)
{
	struct secrets *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	buf_init_secret(&s->document, LIMIT_SECRETS_BYTES);
	/* No value is longer than its spelling, which has two quotes more. */
	buf_init_secret(&s->text, LIMIT_SECRETS_BYTES);
	return s;
}

void
secrets_free(struct secrets **secrets)
{
	struct secrets *s = *secrets;

	*secrets = NULL;
	if (s == NULL)
		return;
	for (size_t i = 0; i < LIMIT_SECRETS; i++)
		secret_hosts_free(&s->value[i].hosts);
	buf_clear(&s->document);
	buf_clear(&s->text);
	free(s);
}

/* What the caller sent: a JSON array of strings. */
static bool
split_sent(struct secrets *s, size_t len)
{
	struct json_limits limits = { LIMIT_SECRETS_BYTES, 1 };
	struct json_doc *doc = NULL;
	struct json_iter it;
	bool good;

	good = json_parse(
		   s->document.data, len, &limits, JSON_BORROW, &doc, NULL) &&
	    json_is_array(json_root(doc)) &&
	    json_len(json_root(doc)) <= LIMIT_SECRETS;
	for (it = json_iter(json_root(doc)); good && json_iter_next(&it);) {
		s->value[s->count].at = s->text.len;
		good = json_is_string(it.val) && json_str_add(it.val, &s->text);
		s->value[s->count].len = s->text.len - s->value[s->count].at;
		good = good && buf_add(&s->text, "", 1);
		s->count += good;
	}
	json_doc_free(&doc);
	return good;
}

/* A file that people write ends with a newline: it is no part of the value. */
static size_t
without_newline(const uint8_t *bytes, size_t len)
{
	return len > 0 && bytes[len - 1] == '\n' ? len - 1 : len;
}

/* Their length in four bytes, then so many bytes. */
static bool
split_bytes(const struct secrets *s, size_t *at, const uint8_t **ret_bytes,
    size_t *ret_len)
{
	const uint8_t *p = s->document.data + *at;
	size_t left = s->document.len - *at, len = 0;

	if (left < 4)
		return false;
	for (int i = 0; i < 4; i++)
		len |= (size_t)p[i] << (8 * i);
	if (left - 4 < len)
		return false;
	*at += 4 + len;
	*ret_bytes = p + 4;
	*ret_len = len;
	return true;
}

/* One that is stored: NUL, name, NUL, its value, its hosts. */
static bool
split_stored(struct secrets *s, size_t *at)
{
	const uint8_t *p = s->document.data + *at, *end, *value, *hosts;
	size_t left = s->document.len - *at, len, name, nhosts;
	char why[DOMAINS_WHY_BYTES];

	end = left == 0 ? NULL : memchr(p + 1, '\0', left - 1);
	if (end == NULL || *p != '\0' || s->count == LIMIT_SECRETS)
		return false;
	name = (size_t)(end - p); /* with its NUL */
	if (name > SECRETNAME_BYTES)
		return false;
	*at += 1 + name;
	if (!split_bytes(s, at, &value, &len) ||
	    !split_bytes(s, at, &hosts, &nhosts))
		return false;
	memcpy(s->value[s->count].name, p + 1, name);
	/* Patterns that make no sense allow no host. */
	(void)secret_hosts_parse(
	    (const char *)hosts, nhosts, &s->value[s->count].hosts, why);
	len = without_newline(value, len);
	s->value[s->count].at = s->text.len;
	s->value[s->count].len = len;
	s->count++;
	return buf_add(&s->text, value, len) && buf_add(&s->text, "", 1);
}

static bool
secrets_split(struct secrets *s)
{
	const uint8_t *end;
	size_t at = s->document.len;
	bool good;

	end = at == 0 ? NULL : memchr(s->document.data, '\0', at);
	if (end != NULL)
		at = (size_t)(end - s->document.data);
	good = s->document.len > 0 && (at == 0 || split_sent(s, at));
	while (good && at < s->document.len)
		good = split_stored(s, &at);
	buf_clear(&s->document);
	if (!good)
		s->count = 0;
	return good;
}

enum secrets_status
secrets_read(struct secrets *s, int fd)
{
	uint8_t piece[READ_BYTES];
	ssize_t n;
	bool fits = true;

	while (fits && (n = read(fd, piece, sizeof(piece))) > 0)
		fits = buf_add(&s->document, piece, (size_t)n);
	explicit_bzero(piece, sizeof(piece));
	if (!fits)
		return SECRETS_LOST;
	if (n == -1)
		return errno == EAGAIN || errno == EINTR ? SECRETS_MORE
							 : SECRETS_LOST;
	return secrets_split(s) ? SECRETS_COMPLETE : SECRETS_LOST;
}

size_t
secrets_count(const struct secrets *s)
{
	return s->count;
}

const char *
secrets_name(const struct secrets *s, size_t i)
{
	return s->value[i].name;
}

bool
secrets_may_fill(const struct secrets *s, size_t i, const char *origin)
{
	if (s->value[i].name[0] == '\0')
		return true;
	return s->value[i].hosts != NULL &&
	    secret_hosts_allow(s->value[i].hosts, origin);
}

const char *
secrets_value(const struct secrets *s, size_t i, size_t *ret_len)
{
	*ret_len = s->value[i].len;
	return (const char *)s->text.data + s->value[i].at;
}

/* ---- in Lua ---- */

static int
secret_shown(lua_State *L)
{
	lua_pushliteral(L, REDACT_SHOWN);
	return 1;
}

void
secret_open(lua_State *L)
{
	luaL_newmetatable(L, SECRET_NAME);
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pushcfunction(L, secret_shown);
	lua_setfield(L, -2, "__tostring");
	lua_pop(L, 1);
}

/* The only member of the table at index, pushed; false, and nothing, else. */
static bool
push_only(lua_State *L, int index, const char *name)
{
	int members = 0;

	lua_pushnil(L);
	while (lua_next(L, index) != 0) {
		lua_pop(L, 1);
		members++;
	}
	if (members != 1)
		return false;
	lua_pushstring(L, name);
	lua_rawget(L, index);
	return true;
}

/* The number of the secret that the table at index stands for, or -1. */
static lua_Integer
placeholder_index(lua_State *L, int index)
{
	lua_Integer n = -1;
	int is_int = 0;

	if (!push_only(L, index, SECRET_MEMBER))
		return -1;
	if (lua_type(L, -1) == LUA_TNUMBER)
		n = lua_tointegerx(L, -1, &is_int);
	lua_pop(L, 1);
	return is_int ? n : -1;
}

/* The same for a stored one. What has another name is a value like others. */
static lua_Integer
ref_index(lua_State *L, int index, const struct secrets *s)
{
	lua_Integer n = -1;
	const char *name;

	if (!push_only(L, index, SCHEMA_SECRET_REF))
		return -1;
	name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
	for (size_t i = 0; name[0] != '\0' && n == -1 && i < s->count; i++)
		if (strcmp(s->value[i].name, name) == 0)
			n = (lua_Integer)i;
	lua_pop(L, 1);
	return n;
}

static void
push_secret(lua_State *L, const struct secrets *owner, lua_Integer n)
{
	struct secret *s;

	if (n < 0 || (lua_Unsigned)n >= owner->count)
		luaL_error(L, "the inputs name a secret that was not given");
	s = lua_newuserdatauv(L, sizeof(*s), 0);
	s->owner = owner;
	s->index = (size_t)n;
	luaL_setmetatable(L, SECRET_NAME);
}

void
secret_place(lua_State *L, const struct secrets *owner)
{
	int table = lua_gettop(L);
	lua_Integer n;

	luaL_checkstack(L, 8, "inputs too deep");
	if (!lua_istable(L, table))
		return;
	lua_pushnil(L);
	while (lua_next(L, table) != 0) {
		if (lua_istable(L, -1)) {
			n = placeholder_index(L, lua_gettop(L));
			if (n < 0)
				n = ref_index(L, lua_gettop(L), owner);
			if (n >= 0) {
				/* Assigning to a key that is there is safe. */
				lua_pushvalue(L, -2);
				push_secret(L, owner, n);
				lua_rawset(L, table);
			} else {
				secret_place(L, owner);
			}
		}
		lua_pop(L, 1);
	}
}

int
secret_number(lua_State *L, int index, const struct secrets **ret_owner)
{
	const struct secret *s = luaL_testudata(L, index, SECRET_NAME);

	if (s == NULL)
		return -1;
	*ret_owner = s->owner;
	return (int)s->index;
}

const char *
secret_text(lua_State *L, int index, size_t *ret_len)
{
	const struct secret *s = luaL_testudata(L, index, SECRET_NAME);

	return s == NULL ? NULL : secrets_value(s->owner, s->index, ret_len);
}

void
secret_clean(lua_State *L)
{
	const struct redact *r = redact_installed();
	const char *text;
	struct buf *b;
	size_t len;

	if (r == NULL)
		return;
	text = lua_tolstring(L, -1, &len);
	vm_charge(L, len / BYTES_A_STEP);
	b = lua_json_push_buf(L, 2 * len + sizeof(REDACT_SHOWN));
	if (!redact_add(r, text, len, b))
		luaL_error(L, "out of memory");
	lua_pushlstring(L, (const char *)b->data, b->len);
	buf_clear(b);
	lua_replace(L, -3);
	lua_pop(L, 1);
}
