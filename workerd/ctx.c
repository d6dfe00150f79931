/*
 * ctx: steps, progress, declarations and tasks as templates call them, by way
 * of prelude.lua. Runs in workerd only, in the template's coroutines.
 */
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "common/clock.h"
#include "model/run.h"
#include "page/browser.h"
#include "workerd/lua_json.h"
#include "workerd/outbox.h"
#include "workerd/redact.h"
#include "workerd/run.h"
#include "workerd/secret.h"

#define MAX_WARNINGS 100
#define MAX_META     8192

static struct run *
enter(lua_State *L)
{
	struct run *run = run_of(L);

	sched_check(run->sched, L);
	return run;
}

static int
step_start(lua_State *L)
{
	struct run *run = enter(L);
	size_t len;
	const char *name = luaL_checklstring(L, 1, &len);
	struct run_step *step;

	luaL_argcheck(L, len > 0 && len <= IPC_ID_MAX, 1, "1..64 bytes");
	if (run->nsteps == RUN_MAX_STEPS)
		return luaL_error(L, "more than %d open steps", RUN_MAX_STEPS);
	run_sent(L, report_step_start(run->out, name));
	step = &run->steps[run->nsteps++];
	strlcpy(step->name, name, sizeof(step->name));
	step->started_ms = clock_mono_ms();
	return 0;
}

/* The last open step of that name; removed from the list. */
static int64_t
take_step(struct run *run, const char *name)
{
	for (int i = run->nsteps - 1; i >= 0; i--) {
		int64_t started = run->steps[i].started_ms;

		if (strcmp(run->steps[i].name, name) != 0)
			continue;
		memmove(&run->steps[i], &run->steps[i + 1],
		    (size_t)(run->nsteps - i - 1) * sizeof(run->steps[0]));
		run->nsteps--;
		return clock_mono_ms() - started;
	}
	return -1;
}

/* step_end(name, ok, code or nil, meta or nil); also once stopped. */
static int
step_end(lua_State *L)
{
	struct run *run = run_of(L);
	const char *name = luaL_checkstring(L, 1);
	bool ok = lua_toboolean(L, 2);
	const char *code = luaL_optstring(L, 3, NULL);
	const char *meta = NULL;
	size_t meta_len = 0;
	int64_t ms;

	lua_settop(L, 4);
	if (!lua_isnil(L, 4)) {
		lua_json_encode(L, 4);
		secret_clean(L);
		meta = lua_tolstring(L, -1, &meta_len);
		if (meta_len > MAX_META)
			return luaL_error(L, "meta of a step above 8 KiB");
	}
	ms = take_step(run, name);
	if (ms < 0)
		return luaL_error(L, "no open step '%s'", name);
	if (!ok && run->failed_step[0] == '\0')
		strlcpy(run->failed_step, name, sizeof(run->failed_step));
	run_sent(
	    L, report_step_end(run->out, name, ms, ok, code, meta, meta_len));
	return 0;
}

static int
step_retry(lua_State *L)
{
	struct run *run = enter(L);

	run_sent(L,
	    report_step_retry(
		run->out, luaL_checkstring(L, 1), luaL_checkstring(L, 2)));
	return 0;
}

static int
phase(lua_State *L)
{
	struct run *run = enter(L);

	const char *name = luaL_checkstring(L, 1);

	luaL_argcheck(L, run_phase_is_templates(name), 1,
	    "preparing, acting or retrying");
	run_sent(L, report_phase(run->out, name));
	return 0;
}

/* progress{done=, total=, message=}; dropped while the outbox is busy. */
static int
progress(lua_State *L)
{
	struct run *run = enter(L);
	const char *message;
	int done, total;

	luaL_checktype(L, 1, LUA_TTABLE);
	done = run_field_int(L, 1, "done", 0, 1000000000, run->items_done);
	total = run_field_int(L, 1, "total", 0, 1000000000, 0);
	message = run_field(L, 1, "message", SIZE_MAX, "", NULL);
	if (outbox_is_busy(run->out))
		return 0;
	run_sent(L,
	    report_progress(
		run->out, done, total, *message == '\0' ? NULL : message));
	return 0;
}

static int
warning(lua_State *L)
{
	struct run *run = enter(L);
	const char *text = luaL_checkstring(L, 1);

	if (++run->warnings > MAX_WARNINGS)
		return 0;
	run_sent(L, report_warning(run->out, text));
	return 0;
}

static int
total(lua_State *L)
{
	struct run *run = enter(L);
	lua_Integer n = luaL_checkinteger(L, 1);

	luaL_argcheck(L, n >= 0 && n <= LIMIT_ITEMS, 1, "0..1000");
	run_sent(L, report_total(run->out, (int)n));
	return 0;
}

/* What stands around items is the template's own. */
static void
refuse_secret(lua_State *L, const char *text, size_t len)
{
	const struct redact *r = redact_installed();

	if (r != NULL && redact_finds(r, text, len))
		luaL_error(L, "a secret in what is around the items");
}

static int
collect(lua_State *L)
{
	struct run *run = enter(L);
	struct report_collect c;

	luaL_checktype(L, 1, LUA_TTABLE);
	c.part = run_field_int(L, 1, "part", 0, LIMIT_ARTIFACT_PARTS - 1, 0);
	c.kind = run_field(L, 1, "kind", 32, NULL, NULL);
	c.mime = run_field(L, 1, "mime", 128, NULL, NULL);
	c.name = run_field(L, 1, "name", 128, NULL, NULL);
	run_field_label(L, 1);
	c.prefix = run_field(L, 1, "prefix", 4096, "", &c.prefix_len);
	c.separator = run_field(L, 1, "separator", 256, "", &c.separator_len);
	c.suffix = run_field(L, 1, "suffix", 4096, "", &c.suffix_len);
	refuse_secret(L, c.prefix, c.prefix_len);
	refuse_secret(L, c.separator, c.separator_len);
	refuse_secret(L, c.suffix, c.suffix_len);
	run_sent(L, report_collect(run->out, &c));
	return 0;
}

static int
spawn(lua_State *L)
{
	struct run *run = enter(L);

	luaL_checktype(L, 1, LUA_TFUNCTION);
	lua_settop(L, 1);
	sched_spawn(run->sched, L, 0);
	return 0;
}

static int
join(lua_State *L)
{
	return sched_join(run_of(L)->sched, L);
}

/* dialogs(accept): how dialogs are answered from now on */
static int
set_dialogs(lua_State *L)
{
	browser_accept_dialogs(enter(L)->browser, lua_toboolean(L, 1));
	return 0;
}

/* What dialogs said, or nil. */
static int
get_dialogs(lua_State *L)
{
	struct run *run = enter(L);
	struct buf *b = lua_json_push_buf(L, DIALOGS_MAX_BYTES);

	if (!browser_write_dialogs(run->browser, b))
		return 0;
	lua_json_push_view(L, (const char *)b->data, b->len);
	return 1;
}

#define DEVICE_PIXELS_MAX 4000

/* A member of the table at 1, if it is a text that fits. */
static void
copy_text(lua_State *L, const char *name, char *dst, size_t size)
{
	size_t len;
	const char *text;

	if (lua_getfield(L, 1, name) == LUA_TSTRING) {
		text = lua_tolstring(L, -1, &len);
		if (len < size)
			strlcpy(dst, text, size);
	}
	lua_pop(L, 1);
}

/* A side of the table on top. */
static int
copy_side(lua_State *L, const char *name)
{
	lua_Integer n;

	lua_getfield(L, -1, name);
	n = lua_tointeger(L, -1);
	lua_pop(L, 1);
	return n > 0 && n <= DEVICE_PIXELS_MAX ? (int)n : 0;
}

/* device({window = {width, height}, userAgent, locale, timezone}) */
static int
set_device(lua_State *L)
{
	struct run *run = enter(L);
	struct browser_device d = { 0 };

	luaL_checktype(L, 1, LUA_TTABLE);
	if (lua_getfield(L, 1, "window") == LUA_TTABLE) {
		d.width = copy_side(L, "width");
		d.height = copy_side(L, "height");
	}
	lua_pop(L, 1);
	copy_text(L, "userAgent", d.user_agent, sizeof(d.user_agent));
	copy_text(L, "locale", d.locale, sizeof(d.locale));
	copy_text(L, "timezone", d.timezone, sizeof(d.timezone));
	browser_set_device(run->browser, &d);
	return 0;
}

static int
clock_ms(lua_State *L)
{
	lua_pushinteger(L, clock_mono_ms());
	return 1;
}

void
ctx_open(lua_State *L)
{
	static const luaL_Reg functions[] = { { "clock", clock_ms },
		{ "collect", collect }, { "device", set_device },
		{ "dialogs", get_dialogs }, { "dialogs_are", set_dialogs },
		{ "join", join }, { "phase", phase }, { "progress", progress },
		{ "spawn", spawn }, { "step_end", step_end },
		{ "step_retry", step_retry }, { "step_start", step_start },
		{ "total", total }, { "warn", warning }, { NULL, NULL } };

	luaL_setfuncs(L, functions, 0);
}
