/*
 * worker_lua: the confined Lua state: what is not there, what kills it and
 * cannot be caught, and that the counted matcher agrees with Lua's own.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "common/buf.h"
#include "t/unit/tap.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
/* Five times what the slowest program took, and sanitizers take. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define KILLED_MS 25000
#else
#define KILLED_MS 5000
#endif
#include "templates/builtin.h"
#include "workerd/describe.h"
#include "workerd/lua_json.h"
#include "workerd/program.h"
#include "workerd/vm.h"

static const struct vm_limits small = { 2 << 20, 3000000, 3000000 };

static int
run_text(lua_State *L)
{
	const char *text = lua_touserdata(L, 1);

	lua_json_open(L);
	lua_json_push_lib(L);
	lua_setglobal(L, "json");
	lua_json_push_null(L);
	lua_setglobal(L, "null");
	if (vm_load_text(L, "=test", text, strlen(text)) != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 0);
	return 0;
}

/* Runs text in a state of its own; how it was killed, if it was. */
static enum vm_killed
try_text(const char *text, bool *ret_ok, char *why, size_t size)
{
	struct vm *vm = vm_new(&small);
	enum vm_killed killed;
	union {
		const char *c;
		void *p;
	} arg = { .c = text };

	*why = '\0';
	*ret_ok = vm_protect(vm, run_text, arg.p, why, size);
	killed = vm_killed(vm);
	vm_free(&vm);
	return killed;
}

static void
lua_ok(const char *text)
{
	char why[300];
	bool good;
	enum vm_killed killed = try_text(text, &good, why, sizeof(why));

	if (!ok(good && killed == VM_ALIVE, "%.60s", text))
		printf("#   %s\n", why);
}

static void
test_confinement(void)
{
	static const char *const absent[] = { "io", "os", "package", "debug",
		"load", "loadfile", "loadstring", "dofile", "require",
		"collectgarbage", "print", "warn", "string.dump",
		"coroutine.running" };
	char text[120], why[300];
	bool good;

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		snprintf(text, sizeof(text), "assert(%s == nil)", absent[i]);
		lua_ok(text);
	}
	lua_ok("for k in pairs(_G) do assert(({_G=1,_VERSION=1,assert=1,"
	       "error=1,getmetatable=1,ipairs=1,next=1,pairs=1,pcall=1,"
	       "rawequal=1,rawget=1,rawlen=1,rawset=1,select=1,"
	       "setmetatable=1,tonumber=1,tostring=1,type=1,xpcall=1,"
	       "string=1,table=1,math=1,utf8=1,coroutine=1,json=1,"
	       "null=1})[k], k) end");
	lua_ok("assert(not pcall(setmetatable, {}, {__gc = function() end}))");
	lua_ok("assert(getmetatable(json.raw('1')) == false)");
	(void)try_text("\033Lua", &good, why, sizeof(why));
	ok(!good && strstr(why, "binary") != NULL, "bytecode is refused");
}

static void
test_language(void)
{
	lua_ok("local ok, e = pcall(error, {code = 7}); "
	       "assert(not ok and e.code == 7)");
	lua_ok("assert(select('#', pcall(function() return 1, nil end)) == 3)");
	lua_ok("local ok, e = xpcall(function(a) error(a .. '!', 0) end, "
	       "function(m) return m .. '?' end, 'x'); "
	       "assert(not ok and e == 'x!?')");
	lua_ok("local ok, a, b = xpcall(function(...) return ... end, error, "
	       "1, 2); assert(ok and a == 1 and b == 2)");
	lua_ok("local f = coroutine.wrap(function(a) local b = "
	       "coroutine.yield(a + 1); return b * 2 end); "
	       "assert(f(1) == 2 and f(4) == 8 and not pcall(f))");
	lua_ok("local c = coroutine.create(function() error('x', 0) end); "
	       "local ok, e = coroutine.resume(c); assert(not ok and e == 'x')"
	       " assert(coroutine.status(c) == 'dead')");
	lua_ok("local c = coroutine.create(function() pcall(coroutine.yield, 5)"
	       " return 6 end); local _, v = coroutine.resume(c); "
	       "assert(v == 5); _, v = coroutine.resume(c); assert(v == 6)");
	lua_ok("local n = 0 do local x <close> = setmetatable({}, "
	       "{__close = function() n = 1 end}) end assert(n == 1)");
	lua_ok("assert((''):rep(1 << 60) == '' and ('ab'):rep(2, '-') == "
	       "'ab-ab')");
	lua_ok("local t = {3, 1, 2}; table.sort(t); table.insert(t, 4); "
	       "table.insert(t, 1, 0); assert(table.concat(t, ',') == "
	       "'0,1,2,3,4' and table.remove(t) == 4)");
	lua_ok("local t = table.move({1, 2, 3}, 1, 3, 2); "
	       "assert(table.concat(t) == '1123')");
}

static void
test_kills(void)
{
	static const char *const texts[] = {
		"while true do end",
		"while true do pcall(function() while true do end end) end",
		"local function f() return pcall(f) end while true do f() end",
		"pcall(pcall, pcall, function() repeat until false end)",
		"xpcall(function() while true do end end, "
		"function() while true do end end) while true do end",
		"pcall(coroutine.wrap(function() while true do end end)) "
		"while true do end",
		"coroutine.resume(coroutine.create(function() "
		"repeat until false end)) while true do end",
		"local function f() coroutine.wrap(f)() end "
		"while true do pcall(f) end",
		"while true do coroutine.wrap(function() for i = 1, 100 do end "
		"end)() end",
		"local function f(n) for i = 1, 100 do if n > 0 then "
		"pcall(coroutine.wrap(f), n - 1) end end end f(150)",
		"do local x <close> = setmetatable({}, {__close = function() "
		"while true do end end}) while true do end end",
		"pcall(function() local x <close> = setmetatable({}, {__close = "
		"function() while true do end end}) error('x') end)",
		"while true do pcall(string.rep, 'x', 1 << 30) end",
		"local t = {} pcall(function() while true do t[#t + 1] = "
		"('x'):rep(1000) .. #t end end) while true do end",
		"local s = 'x' while true do pcall(function() s = s .. s "
		"end) end",
		"local t = {} coroutine.wrap(function() for i = 1, 1e9 do "
		"t[i] = i end end)()",
		"('a'):rep(5000):find(('a-'):rep(30) .. 'b')",
		"('a'):rep(3000):match('(.-)(.-)(.-)(.-)b')",
		"pcall(string.gsub, ('a'):rep(9000), ('a*'):rep(20) .. 'b', '')"
		" while true do end",
		"for _ in ('a'):rep(5000):gmatch(('a-'):rep(9) .. 'b') do end",
		"table.move({}, 1, 1 << 60, 2)",
		"table.concat(setmetatable({}, {__index = function() "
		"return '' end}), '', 1, 1 << 60)",
		"table.sort({3, 2, 1}, function() while true do end end)",
		"('x'):gsub('x', function() while true do end end)",
		"tostring(setmetatable({}, {__tostring = function() while true "
		"do end end}))",
		"local t = setmetatable({}, {__index = function(t, k) return "
		"t[k + 1] end}) while true do pcall(function() return t[1] "
		"end) end",
		"json.encode(setmetatable({}, {})) local t = {} t[1] = t "
		"while true do pcall(json.encode, t) end",
		"while true do json.decode('[1,2,3]') end",
		"for w in string.gmatch(('ab '):rep(1e4), '%a+') do "
		"for v in string.gmatch(('ab '):rep(1e4), '%a+') do end end",
	};
	char why[300];
	bool good;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		/* Time of this process: others may use the machine, too. */
		clock_t start = clock();
		enum vm_killed killed =
		    try_text(texts[i], &good, why, sizeof(why));
		clock_t ms = (clock() - start) / (CLOCKS_PER_SEC / 1000);

		ok(!good && killed != VM_ALIVE && ms < KILLED_MS,
		    "killed after %ld ms: %.50s", (long)ms, texts[i]);
	}
}

/* A killed state cannot be used any more. */
static void
test_after_kill(void)
{
	struct vm *vm = vm_new(&small);
	char loop[] = "while true do end", nothing[] = "return";
	char why[100];
	lua_State *co;
	int n;

	ok(!vm_protect(vm, run_text, loop, why, sizeof(why)), "killed");
	is_int(vm_killed(vm), VM_KILLED_STEPS, "for its instructions");
	is_str(why, vm_killed_text(VM_KILLED_STEPS), "and says so");
	(void)nothing;
	co = lua_newthread(vm_main(vm));
	is_int(vm_resume(vm, co, 0, &n), VM_FAILED, "no thread runs again");
	vm_free(&vm);
	ok(vm == NULL, "freed");
	vm_free(&vm);
}

/* The same text in a stock state: what it returns as one string. */
static const char patterns[] =
    "local out = {}\n"
    "local function add(...)\n"
    "  for i = 1, select('#', ...) do\n"
    "    out[#out + 1] = tostring((select(i, ...))) end\n"
    "  out[#out + 1] = '|'\n"
    "end\n"
    "local subjects = {'', 'a', 'hello world', 'key = value', '  trim  ',\n"
    "  'THE (quick) fox', 'x^2+y$', 'a.b-c%d', '2024-01-31', 'f(a(b)c)d',\n"
    "  'aaab', '\\0a\\0b', 'abcabc', '[x]]', 'caf\\u{e9}', '\"q\" \"r\"'}\n"
    "local pats = {'', 'a', '.', '^a', 'a$', '^$', '.*', '.-', 'a*', 'a-b',\n"
    "  'a+b', 'l?l', '(.)(.)', '()', '()ll()', '%a+', '%s*(.-)%s*$',\n"
    "  '(%w+) = (%w+)', '%((%a+)%)', '%bxy', '%b()', '%f[%w]%w+', '[a-c]+',\n"
    "  '[^a-c]+', '[]]', '[^]]', '[%]x]+', '(%d+)-(%d+)-(%d+)', '(a)%1',\n"
    "  '[%a_][%w_]*', '%%', '%.', '\\0', '[\\0-\\1]', '(\"[^\"]*\")',\n"
    "  '(abc)%1', '[a-]', '[+-]', '$', 'a$b', '^', '%u', '%U+', '%p', '%g+',\n"
    "  '%x+', '%c', '%l+', '(a*(.)%w(%s*))', '((a))', 'b*$', '%S+$',\n"
    "  '[', '%', '(', ')', '(()', '%f', '%b', '%1', '[a', '[%', '(a)%2'}\n"
    "local repls = {'<%0>', '%1', 'x', '%%', '%2', '%z', {hello = 1, a = "
    "false},\n"
    "  function(a, b) return b and a .. b end}\n"
    "for _, s in ipairs(subjects) do for _, p in ipairs(pats) do\n"
    "  for _, i in ipairs {1, 2, -1, -3, 100} do\n"
    "    local ok, a, b, c = pcall(string.find, s, p, i)\n"
    "    if ok then add(a, b, c) else add('error') end\n"
    "    ok, a, b, c = pcall(string.match, s, p, i)\n"
    "    if ok then add(a, b, c) else add('error') end\n"
    "  end\n"
    "  add(pcall(string.find, s, p, 1, true))\n"
    "  add((pcall(function() for a, b in s:gmatch(p) do add(a, b) end "
    "end)))\n"
    "  for _, r in ipairs(repls) do\n"
    "    local ok, a, b = pcall(string.gsub, s, p, r)\n"
    "    if ok then add(a, b) else add('error') end\n"
    "    ok, a, b = pcall(string.gsub, s, p, r, 1)\n"
    "    if ok then add(a, b) else add('error') end\n"
    "  end\n"
    "end end\n"
    "result = table.concat(out, '\\1')\n";

struct pattern_run {
	size_t len;
	char *bytes;
};

static int
run_patterns(lua_State *L)
{
	struct pattern_run *r = lua_touserdata(L, 1);
	const char *s;

	if (vm_load_text(L, "=p", patterns, sizeof(patterns) - 1) != LUA_OK)
		return lua_error(L);
	lua_call(L, 0, 0);
	lua_getglobal(L, "result");
	s = lua_tolstring(L, -1, &r->len);
	r->bytes = malloc(r->len + 1);
	memcpy(r->bytes, s, r->len + 1);
	return 0;
}

static void
test_patterns(void)
{
	const struct vm_limits large = { 64 << 20, 1 << 30, 1 << 30 };
	struct pattern_run ours = { 0, NULL }, theirs = { 0, NULL };
	struct vm *vm = vm_new(&large);
	lua_State *L = luaL_newstate();
	char why[300] = "";
	size_t i = 0;

	luaL_openlibs(L);
	lua_pushcfunction(L, run_patterns);
	lua_pushlightuserdata(L, &theirs);
	if (lua_pcall(L, 1, 0, 0) != LUA_OK)
		printf("# %s\n", lua_tostring(L, -1));
	if (!vm_protect(vm, run_patterns, &ours, why, sizeof(why)))
		printf("# %s\n", why);
	ok(ours.len > 100000, "%zu bytes of matches", ours.len);
	while (
	    i < ours.len && i < theirs.len && ours.bytes[i] == theirs.bytes[i])
		i++;
	if (!ok(i == ours.len && i == theirs.len, "as Lua's own matcher") &&
	    ours.bytes != NULL && theirs.bytes != NULL) {
		i = i < 40 ? 0 : i - 40;
		printf("#  ours: %.80s\n# theirs: %.80s\n", ours.bytes + i,
		    theirs.bytes + i);
	}
	free(ours.bytes);
	free(theirs.bytes);
	lua_close(L);
	vm_free(&vm);
}

static void
test_json(void)
{
	lua_ok("local t = json.decode('{\"b\":[],\"a\":{},\"c\":[1,null,2.5,"
	       "\"\\\\u0000x\"]}') assert(json.encode(t) == "
	       "'{\"a\":{},\"b\":[],\"c\":[1,null,2.5,\"\\\\u0000x\"]}') "
	       "assert(t.c[2] == null)");
	lua_ok("assert(json.encode{} == '{}' and json.encode(json.array()) == "
	       "'[]' and json.encode{1, 2} == '[1,2]')");
	lua_ok("local v = json.raw('{\"a\":{\"b\":[10,20]}}') "
	       "assert(v:get('a', 'b', 2) == 20 and v:len('a', 'b') == 2 and "
	       "v:get('x', 'y') == nil and v:text('a') == '{\"b\":[10,20]}')");
	lua_ok(
	    "local v = json.raw('[\"\\\\u65e5\\\\ud800\\\\ud83d\\\\ude00\"]') "
	    "assert(json.encode({v}) == "
	    "'[[\"\\u{65e5}\\u{fffd}\\u{1f600}\"]]' and #v:text() == 14)");
	lua_ok("local v = json.raw('[{\"k\": 1}]'):at(1) "
	       "assert(json.encode{x = v} == '{\"x\":{\"k\":1}}' or "
	       "json.encode{x = v} == '{\"x\":{\"k\": 1}}')");
	lua_ok("assert(not pcall(json.decode, '[1') and "
	       "not pcall(json.encode, {[1] = 1, x = 2}) and "
	       "not pcall(json.encode, {function() end}))");
	lua_ok("local t = {} t.t = t assert(not pcall(json.encode, t))");
	lua_ok("assert(json.encode('\\xff') == '\"\\u{fffd}\"')");
}

#define KIT "local json, kit = select(1, ...) "

static int
run_program(lua_State *L)
{
	lua_json_open(L);
	program_push(L, lua_touserdata(L, 1));
	return 0;
}

/* The text is a template's, which has json and kit. */
static void
kit_ok(const char *text)
{
	struct builtin t = { "kit_test", text, strlen(text) };
	struct vm *vm = vm_new(&small);
	char why[300] = "";

	if (!ok(vm_protect(vm, run_program, &t, why, sizeof(why)), "%.60s",
		text + strlen(KIT)))
		printf("#   %s\n", why);
	vm_free(&vm);
}

static void
test_kit(void)
{
	kit_ok(KIT "assert(kit.cut('abc', 3) == 'abc' and kit.cut('abc', 2) "
		   "== 'ab' and kit.cut(nil, 1) == nil)");
	kit_ok(
	    KIT "local s = 'a\\u{00e9}\\u{4e2d}' assert(kit.cut(s, 2) == 'a' "
		"and kit.cut(s, 3) == 'a\\u{00e9}' and kit.cut(s, 5) == "
		"'a\\u{00e9}' and kit.cut(s, 6) == s and kit.cut(s, 0) == "
		"'')");
	kit_ok(KIT "local v = json.raw('{\"a\":[1,2]}') "
		   "assert(kit.fit(v, 11) == v and kit.fit(nil, 1) == nil)");
	kit_ok(
	    KIT "local t = { n = 7, list = {}, s = string.rep('x', 5000), "
		"url = string.rep('u', 300) } for i = 1, 500 do t.list[i] = "
		"{ i = i, href = 'h' } end local f = kit.fit(json.raw("
		"json.encode(t)), 2000) assert(#json.encode(f) <= 2000 and "
		"f.truncated and f.n == 7 and #f.url == 300 and #f.list >= 1 "
		"and f.list[1].i == 1 and f.list[1].href == 'h')");
	kit_ok(KIT "local t = { url = string.rep('u', 300) } local f = "
		   "kit.fit(json.raw(json.encode(t)), 10) assert(#f.url == "
		   "300)");
	kit_ok(KIT "local ok, e = pcall(kit.must, nil, { code = 'X' }) "
		   "assert(not ok and e.code == 'X' and kit.must(false) == "
		   "false and kit.must(3) == 3)");
	kit_ok(
	    KIT "local e = kit.error { code = 'A', cause = 'B', message = "
		"string.rep('m', 2000), needsFresh = true } "
		"assert(e.errorCode == 'A' and e.cause == 'B' and #e.message "
		"== 1024 and e.needsFresh == nil)");
	kit_ok(KIT "local t = kit.target(nil, 'field', 'search') "
		   "assert(t.mode == 'semantic' and t.query == 'search' and "
		   "t.kind == 'field') t = kit.target({ mode = 'selector', "
		   "selector = '#x' }, 'link', 'q') assert(t.selector == '#x' "
		   "and t.query == nil and t.kind == 'link')");
	kit_ok(KIT "local n, done = 0, {} local ctx = { progress = "
		   "function(_, t) done[#done + 1] = t.done .. '/' .. t.total "
		   "end, step = function(_, name, fn) n = n + 1 return fn() "
		   "end } local step = kit.stepper(ctx, 2) assert(step('a', "
		   "function() return 5 end) == 5) step('b', function() end) "
		   "assert(n == 2 and table.concat(done, ' ') == "
		   "'0/2 1/2 2/2')");
}

static void
test_describe(void)
{
	const struct builtin bad[] = { { "x", "return 1", 8 },
		{ "x", "return {id='x'}", 15 },
		{ "x", "return {id='y',run=function() end}", 34 },
		{ "x", "while true do end", 17 }, { "x", "syntax", 6 } };
	const struct builtin *t;
	struct json_doc *doc = NULL;
	struct buf out;
	char why[256];

	buf_init(&out, DESCRIBE_MAX_BYTES);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!describe_template(&bad[i], &out, why, sizeof(why)),
		    "no metadata: %s", why);
	is_int(out.len, 0, "and nothing is written");
	for (size_t i = 0; (t = builtin_at(i)) != NULL; i++) {
		struct json_val v;

		buf_reset(&out);
		if (!ok(describe_template(t, &out, why, sizeof(why)),
			"%s describes itself", t->id))
			printf("# %s\n", why);
		ok(json_parse(
		       out.data, out.len, NULL, JSON_DUP_ERROR, &doc, NULL),
		    "as JSON");
		v = json_root(doc);
		ok(json_str_eq(json_obj_get(v, "id"), t->id), "with its id");
		ok(json_is_object(json_obj_get(v, "inputs")) &&
			json_is_object(json_obj_get(v, "outputs")) &&
			json_is_array(json_obj_get(v, "trustLevelSupport")) &&
			json_is_string(json_obj_get(v, "version")),
		    "and what a caller needs");
		json_doc_free(&doc);
	}
	buf_clear(&out);
}

int
main(void)
{
	test_confinement();
	test_language();
	test_kills();
	test_after_kill();
	test_patterns();
	test_json();
	test_kit();
	test_describe();
	return done_testing();
}
