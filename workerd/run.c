/*
 * run: from run.begin to run.end. Runs in workerd only. The template's program
 * may fail, hang, flood or be killed in any way; the run must still end with
 * one run.end that says why.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "common/clock.h"
#include "common/panic.h"
#include "model/mime.h"
#include "model/run.h"
#include "page/page.h"
#include "templates/builtin.h"
#include "workerd/lua_json.h"
#include "workerd/outbox.h"
#include "workerd/program.h"
#include "workerd/redact.h"
#include "workerd/run.h"
#include "workerd/secret.h"

#define RUN_MAGIC        0x72554e21u
#define JOURNAL_ROW      12
#define STEPS_RUN        UINT64_C(4000000000)
#define STEPS_SLICE      UINT64_C(50000000)
#define STEPS_SLICE_STOP UINT64_C(2000000)

static const char run_key;

static const char prelude[] = {
#include "workerd/prelude.lua.inc"
};

struct run *
run_new(struct outbox *out, run_ended_fn *ended, void *ctx)
{
	struct run *run;

	run = calloc(1, sizeof(*run));
	if (run == NULL)
		return NULL;
	run->magic = RUN_MAGIC;
	run->out = out;
	run->ended = ended;
	run->ctx = ctx;
	buf_init(&run->inputs, LIMIT_INPUT_BYTES);
	return run;
}

void
run_free(struct run **runp)
{
	struct run *run = *runp;

	if (run == NULL)
		return;
	MAGIC_CHECK(run, RUN_MAGIC);
	sched_free(&run->sched);
	vm_free(&run->vm);
	tab_free_all(run);
	redact_install(NULL);
	redact_free(&run->redact);
	secrets_free(&run->secrets);
	buf_clear(&run->inputs);
	run->magic = 0;
	free(run);
	*runp = NULL;
}

/* ---- what supervisord says ---- */

bool
run_begin(struct run *run, const struct ipc_params *p, const char **ret_why)
{
	if (run->id[0] != '\0') {
		*ret_why = "a second run.begin";
		return false;
	}
	strlcpy(run->id, ipc_str(p, F_RUN_ID), sizeof(run->id));
	strlcpy(
	    run->session_id, ipc_str(p, F_SESSION_ID), sizeof(run->session_id));
	strlcpy(run->template_id, ipc_str(p, F_TEMPLATE_ID),
	    sizeof(run->template_id));
	strlcpy(run->trace_id, ipc_str(p, F_TRACE_ID), sizeof(run->trace_id));
	strlcpy(
	    run->resources, ipc_str(p, F_RESOURCES), sizeof(run->resources));
	strlcpy(run->trust, ipc_str(p, F_TRUST), sizeof(run->trust));
	run->keep = ipc_bool(p, F_KEEP, false);
	run->attempt = (int)ipc_int(p, F_ATTEMPT, 1);
	run->max_tabs = (int)ipc_int(p, F_MAX_TABS, 1);
	run->memory_bytes = (size_t)ipc_int(p, F_MEMORY_BYTES, 1);
	run->limit_ms = ipc_int(p, F_LIMIT_MS, 0);
	run->secrets_complete = !ipc_bool(p, F_SECRETS, false);
	if (run->secrets_complete)
		return true;
	*ret_why = "no memory for secrets";
	run->secrets = secrets_new();
	return run->secrets != NULL;
}

bool
run_input(struct run *run, const struct ipc_params *p, const char **ret_why)
{
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (run->inputs_complete || !buf_add(&run->inputs, data, len)) {
		*ret_why = "more inputs than there may be";
		return false;
	}
	run->inputs_complete = ipc_bool(p, F_LAST, false);
	return true;
}

bool
run_journal(struct run *run, const struct ipc_params *p, const char **ret_why)
{
	size_t len;
	const uint8_t *row = ipc_bin(p, F_ENTRIES, &len);
	uint32_t index;

	*ret_why = "a bad journal";
	if (run->journal_complete || len % JOURNAL_ROW != 0)
		return false;
	for (; len > 0; len -= JOURNAL_ROW, row += JOURNAL_ROW) {
		index = (uint32_t)row[0] << 24 | (uint32_t)row[1] << 16 |
		    (uint32_t)row[2] << 8 | row[3];
		if (index >= LIMIT_ITEMS || run->items[index].done)
			return false;
		run->items[index].done = true;
		memcpy(run->items[index].digest, row + 4, REPORT_DIGEST_BYTES);
		run->items_done++;
	}
	run->journal_complete = ipc_bool(p, F_LAST, false);
	return true;
}

/* ---- the end ---- */

static void
set_end(struct run *run, bool ok, const char *code, const char *message,
    const char *cause)
{
	if (run->over)
		return;
	run->over = true;
	run->end.ok = ok;
	strlcpy(run->end_code, code, sizeof(run->end_code));
	strlcpy(run->end_message, message, sizeof(run->end_message));
	strlcpy(run->end_cause, cause, sizeof(run->end_cause));
	run->ended(run->ctx);
}

void
run_abort(struct run *run, enum err_code code, const char *message)
{
	MAGIC_CHECK(run, RUN_MAGIC);
	set_end(run, false, err_name(code), message, "");
}

/* A string field without calling anything that could raise. */
static const char *
error_text(lua_State *L, const char *name, const char *otherwise)
{
	const char *text = NULL;

	lua_pushstring(L, name);
	lua_rawget(L, -2);
	if (lua_type(L, -1) == LUA_TSTRING)
		text = lua_tostring(L, -1);
	lua_pop(L, 1);
	return text == NULL ? otherwise : text;
}

/*
 * Errors of ctx and of templates are tables {code, cause?, message}; a cause,
 * being finer, is what is reported. Codes that the model does not know are a
 * template's own. Any other value is a fault of the program.
 */
static int
take_error(lua_State *L)
{
	struct run *run = lua_touserdata(L, 1);
	const char *code, *cause, *message;

	lua_settop(L, 2);
	if (lua_type(L, 2) == LUA_TSTRING) {
		set_end(run, false, err_name(ERR_TEMPLATE_FAULT),
		    lua_tostring(L, 2), "");
		return 0;
	}
	if (lua_type(L, 2) != LUA_TTABLE) {
		set_end(run, false, err_name(ERR_TEMPLATE_FAULT),
		    "the template raised no error text, or yielded outside of "
		    "a coroutine of its own",
		    "");
		return 0;
	}
	code = error_text(L, "code", err_name(ERR_TEMPLATE_FAULT));
	cause = error_text(L, "cause", "");
	message = error_text(L, "message", code);
	if (err_by_name(cause) != ERR_NONE)
		set_end(run, false, cause, message, "");
	else if (err_by_name(code) != ERR_NONE)
		set_end(run, false, code, message, cause);
	else
		set_end(run, false, err_name(ERR_STEP_EXECUTION_FAILED),
		    message, code);
	return 0;
}

static void
on_done(lua_State *L, bool ok, int nres, void *ctx)
{
	struct run *run = ctx;
	const char *message;
	enum err_code stop = sched_stop_reason(run->sched, &message);

	if (stop != ERR_NONE)
		run_abort(run, stop, message);
	else if (vm_killed(run->vm) != VM_ALIVE)
		run_abort(run, ERR_TEMPLATE_LIMIT,
		    vm_killed_text(vm_killed(run->vm)));
	else if (ok)
		set_end(run, true, "", "", "");
	else {
		/* The thread is dead: its error is read on the main one. */
		lua_State *main = vm_main(run->vm);

		lua_pushcfunction(main, take_error);
		lua_pushlightuserdata(main, run);
		lua_xmove(L, main, 1);
		if (lua_pcall(main, 2, 0, 0) != LUA_OK) {
			lua_pop(main, 1);
			run_abort(run, ERR_TEMPLATE_FAULT, "error");
		}
	}
}

static void
close_steps(struct run *run)
{
	const char *code = run->end_code;

	if (run->nsteps > 0 && run->failed_step[0] == '\0')
		strlcpy(run->failed_step, run->steps[run->nsteps - 1].name,
		    sizeof(run->failed_step));
	while (run->nsteps > 0) {
		struct run_step *step = &run->steps[--run->nsteps];

		(void)report_step_end(run->out, step->name,
		    clock_mono_ms() - step->started_ms, false, code, NULL, 0);
	}
}

bool
run_report_end(struct run *run)
{
	MAGIC_CHECK(run, RUN_MAGIC);
	ASSERT(run->over);
	if (!run->end.ok) {
		close_steps(run);
		run->end.code = run->end_code;
		run->end.message = run->end_message;
		run->end.cause = run->end_cause;
		run->end.step = run->failed_step;
	}
	return report_run_end(run->out, &run->end);
}

/* ---- the program ---- */

struct run *
run_of(lua_State *L)
{
	struct run *run;

	lua_rawgetp(L, LUA_REGISTRYINDEX, &run_key);
	run = lua_touserdata(L, -1);
	lua_pop(L, 1);
	MAGIC_CHECK(run, RUN_MAGIC);
	return run;
}

static void
set_str(lua_State *L, const char *name, const char *value)
{
	lua_pushstring(L, value);
	lua_setfield(L, -2, name);
}

static void
set_int(lua_State *L, const char *name, int64_t value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, name);
}

/* Pushes what prelude.lua takes: host, facts. */
static void
push_host(lua_State *L, struct run *run)
{
	lua_newtable(L);
	ctx_open(L);
	items_open(L);
	tab_open(L);
	lua_json_push_lib(L);
	lua_setfield(L, -2, "json");
	lua_json_push_null(L);
	lua_setfield(L, -2, "null");

	lua_newtable(L);
	lua_json_push_view(L, (const char *)run->inputs.data, run->inputs.len);
	lua_getfield(L, -1, "get");
	lua_insert(L, -2);
	lua_call(L, 1, 1);
	if (run->secrets != NULL)
		secret_place(L, run->secrets);
	lua_setfield(L, -2, "inputs");
	lua_newtable(L);
	set_int(L, "timeoutMs", run->limit_ms);
	set_int(L, "maxTabs", run->max_tabs);
	set_int(L, "maxItems", LIMIT_ITEMS);
	lua_setfield(L, -2, "limits");
	set_str(L, "runId", run->id);
	set_str(L, "sessionId", run->session_id);
	set_str(L, "traceId", run->trace_id);
	set_str(L, "resources", run->resources);
	set_str(L, "trustLevel", run->trust);
	set_int(L, "attempt", run->attempt);
}

static int
load_program(lua_State *L)
{
	struct run *run = lua_touserdata(L, 1);
	const struct builtin *t = builtin_template(run->template_id);

	lua_pushlightuserdata(L, run);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &run_key);
	lua_json_open(L);
	secret_open(L);
	if (vm_load_text(L, "=prelude", prelude, sizeof(prelude)) != LUA_OK)
		return lua_error(L);
	push_host(L, run);
	program_push(L, t);
	/* prelude(host, facts, template) gives the main function. */
	lua_call(L, 3, 1);
	sched_spawn(run->sched, L, 0);
	return 0;
}

void
run_go(struct run *run, struct browser *browser, struct page *spare)
{
	struct vm_limits limits = { 0, STEPS_RUN, STEPS_SLICE };
	char why[512];

	MAGIC_CHECK(run, RUN_MAGIC);
	run->browser = browser;
	run->spare = spare;
	if (builtin_template(run->template_id) == NULL) {
		run_abort(run, ERR_TEMPLATE_NOT_FOUND,
		    "the worker has no such template");
		return;
	}
	limits.memory_bytes = run->memory_bytes;
	run->vm = vm_new(&limits);
	if (run->vm != NULL)
		run->sched = sched_new(run->vm, on_done, run);
	if (run->sched == NULL) {
		run_abort(run, ERR_INTERNAL, "out of memory");
		return;
	}
	if (!vm_protect(run->vm, load_program, run, why, sizeof(why))) {
		run_abort(run, ERR_TEMPLATE_FAULT, why);
		return;
	}
	sched_run(run->sched);
}

void
run_stop(struct run *run, enum err_code code, const char *message)
{
	MAGIC_CHECK(run, RUN_MAGIC);
	if (run->over)
		return;
	if (run->sched == NULL) {
		run_abort(run, code, message);
		return;
	}
	vm_set_slice_steps(run->vm, STEPS_SLICE_STOP);
	sched_stop(run->sched, code, message);
}

/* ---- arguments and errors ---- */

int
run_raise(lua_State *L, enum err_code code, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	sched_push_error(L, code, message);
	return lua_error(L);
}

void
run_sent(lua_State *L, bool sent)
{
	struct run *run;

	if (sent)
		return;
	run = run_of(L);
	run_raise(L, ERR_WORKER_PROTOCOL, "a message could not be sent: %s",
	    outbox_reason(run->out));
}

const char *
run_field(lua_State *L, int index, const char *name, size_t max,
    const char *absent, size_t *ret_len)
{
	const char *text;
	size_t len;

	lua_getfield(L, index, name);
	if (lua_isnil(L, -1) && absent != NULL) {
		lua_pop(L, 1);
		if (ret_len != NULL)
			*ret_len = strlen(absent);
		return absent;
	}
	/* A number would be converted into a string nobody keeps. */
	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "'%s' must be a string", name);
	text = lua_tolstring(L, -1, &len);
	if (len > max)
		luaL_error(L, "'%s' is longer than %d bytes", name, (int)max);
	lua_pop(L, 1);
	if (ret_len != NULL)
		*ret_len = len;
	return text;
}

void
run_field_label(lua_State *L, int index)
{
	const char *mime = run_field(L, index, "mime", 128, NULL, NULL);
	const char *name = run_field(L, index, "name", 128, NULL, NULL);

	if (!mime_is_valid(mime))
		luaL_error(L, "'mime' must be a media type, as text/csv");
	if (!artifact_name_is_valid(name))
		luaL_error(L,
		    "'name' must be a file name of the characters "
		    "A-Z a-z 0-9 . _ - and blanks");
}

int
run_field_int(
    lua_State *L, int index, const char *name, int min, int max, int absent)
{
	lua_Integer n;
	int is_int;

	lua_getfield(L, index, name);
	if (lua_isnil(L, -1)) {
		lua_pop(L, 1);
		return absent;
	}
	n = lua_tointegerx(L, -1, &is_int);
	if (!is_int || n < min || n > max)
		luaL_error(L, "'%s' must be an integer %d..%d", name, min, max);
	lua_pop(L, 1);
	return (int)n;
}
