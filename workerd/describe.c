/*
 * describe: what `workerd --describe` sends. Runs in workerd only, in a cell
 * without browser; supervisord never executes Lua itself.
 */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "common/log.h"
#include "model/limits.h"
#include "templates/builtin.h"
#include "workerd/describe.h"
#include "workerd/lua_json.h"
#include "workerd/outbox.h"
#include "workerd/program.h"
#include "workerd/report.h"
#include "workerd/vm.h"

#define DESCRIBE_STEPS  UINT64_C(10000000)
#define DESCRIBE_MEMORY ((size_t)16 << 20)
#define TEXT_NAME       "template" /* of a text, in messages */

struct describe {
	const struct builtin *template;
	struct buf *out;
	bool named; /* its id must be the one it is known by */
};

static int
describe(lua_State *L)
{
	struct describe *d = lua_touserdata(L, 1);
	const struct builtin *t = d->template;
	const char *text;
	size_t len;

	lua_json_open(L);
	program_push(L, t);
	if (!lua_istable(L, -1))
		return luaL_error(L, "the program returns no table");
	lua_getfield(L, -1, "run");
	if (!lua_isfunction(L, -1))
		return luaL_error(L, "the table has no function run");
	lua_pop(L, 1);
	lua_pushnil(L);
	lua_setfield(L, -2, "run");
	if (d->named) {
		lua_getfield(L, -1, "id");
		text = lua_tostring(L, -1);
		if (text == NULL || strcmp(text, t->id) != 0)
			return luaL_error(L, "the id is not %s", t->id);
		lua_pop(L, 1);
	}
	lua_json_encode(L, -1);
	text = lua_tolstring(L, -1, &len);
	if (!buf_add(d->out, text, len))
		return luaL_error(L, "the metadata is too long");
	return 0;
}

static bool
describe_run(struct describe *d, char *errbuf, size_t errsize)
{
	const struct vm_limits limits = { DESCRIBE_MEMORY, DESCRIBE_STEPS,
		DESCRIBE_STEPS };
	struct vm *vm;
	bool ok;

	vm = vm_new(&limits);
	if (vm == NULL) {
		strlcpy(errbuf, "out of memory", errsize);
		return false;
	}
	ok = vm_protect(vm, describe, d, errbuf, errsize);
	vm_free(&vm);
	return ok;
}

bool
describe_template(const struct builtin *template, struct buf *out, char *errbuf,
    size_t errsize)
{
	struct describe d = { template, out, true };

	return describe_run(&d, errbuf, errsize);
}

static bool
send_chunks(struct outbox *out, const struct buf *doc)
{
	size_t offset = 0;

	while (offset < doc->len) {
		size_t n = doc->len - offset;

		n = n < LIMIT_CHUNK_BYTES ? n : LIMIT_CHUNK_BYTES;
		if (!report_meta(
			out, doc->data + offset, n, offset + n == doc->len))
			return false;
		offset += n;
	}
	return true;
}

bool
describe_send(struct outbox *out)
{
	const struct builtin *t;
	struct buf doc;
	char why[256];
	bool ok = true;

	buf_init(&doc, DESCRIBE_MAX_BYTES);
	for (size_t i = 0; ok && (t = builtin_at(i)) != NULL; i++) {
		buf_reset(&doc);
		if (describe_template(t, &doc, why, sizeof(why)))
			ok = send_chunks(out, &doc);
		else
			log_err("template %s: %s", t->id, why);
	}
	buf_clear(&doc);
	return ok && report_describe_done(out);
}

/* "template:12: text" has the line; other messages have none. */
static bool
send_fault(struct outbox *out, const char *why)
{
	static const char head[] = TEXT_NAME ":";
	char *rest = NULL;
	long line = 0;

	if (strncmp(why, head, strlen(head)) == 0)
		line = strtol(why + strlen(head), &rest, 10);
	if (line < 1 || line > INT32_MAX || rest == NULL || rest[0] != ':')
		return report_template_error(out, 0, why);
	rest += strspn(rest, ": ");
	return report_template_error(out, line, rest);
}

static bool
describe_send_text(struct outbox *out, const struct buf *text)
{
	const struct builtin t = { TEXT_NAME, (const char *)text->data,
		text->len };
	struct buf doc;
	struct describe d = { &t, &doc, false };
	char why[1024];
	bool ok;

	buf_init(&doc, DESCRIBE_MAX_BYTES);
	if (describe_run(&d, why, sizeof(why)))
		ok = send_chunks(out, &doc);
	else
		ok = send_fault(out, why);
	buf_clear(&doc);
	return ok && report_describe_done(out);
}

bool
describe_take_text(struct outbox *out, struct buf *text,
    const struct ipc_params *p, const char **ret_why)
{
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (!buf_add(text, data, len)) {
		*ret_why = "the template is too long";
		return false;
	}
	if (!ipc_bool(p, F_LAST, false))
		return true;
	if (!describe_send_text(out, text)) {
		*ret_why = "the description could not be sent";
		return false;
	}
	outbox_finish(out);
	return true;
}
