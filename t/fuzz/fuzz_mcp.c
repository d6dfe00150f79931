/*
 * What a client of the adapter writes: the bytes are its standard input, in
 * two reads, with no service there. Every line that is written is one JSON
 * message or batch of the protocol, every request that has an id gets one
 * answer, and the adapter is left without calls.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/panic.h"
#include "mcp/adapter.h"
#include "mcp/call.h"
#include "mcp/lines.h"
#include "mcp/link.h"
#include "mcp/method.h"
#include "mcp/out.h"
#include "t/fuzz/fuzz.h"

#define TURNS_MAX 1000

struct run {
	struct adapter adapter;
	struct lines lines;
	size_t expected; /* lines at most */
};

static void
on_line(void *ctx, const uint8_t *line, size_t len)
{
	struct run *r = ctx;

	ASSERT(len > 0 && memchr(line, '\n', len) == NULL);
	r->expected++;
	method_line(&r->adapter, line, len);
}

static void
on_long(void *ctx, const struct lines_cut *cut)
{
	struct run *r = ctx;

	r->expected++;
	method_long_line(&r->adapter, cut);
}

static void
on_nothing(void *ctx)
{
}

static void
check_message(struct json_val m)
{
	ASSERT(json_is_object(m));
	ASSERT(json_str_eq(json_obj_get(m, "jsonrpc"), "2.0"));
	if (!json_is_missing(json_obj_get(m, "method")))
		return;
	ASSERT(json_is_missing(json_obj_get(m, "result")) !=
	    json_is_missing(json_obj_get(m, "error")));
}

static void
check_line(const uint8_t *line, size_t len)
{
	struct json_doc *doc;
	struct json_iter it;

	ASSERT(len <= ADAPTER_ANSWER_MAX);
	ASSERT(json_parse(line, len, NULL, 0, &doc, NULL));
	if (json_is_array(json_root(doc)))
		for (it = json_iter(json_root(doc)); json_iter_next(&it);)
			check_message(it.val);
	else
		check_message(json_root(doc));
	json_doc_free(&doc);
}

static void
check_output(const struct run *r, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	const uint8_t *text, *p, *end, *nl;
	size_t n = 0;

	if (size <= 0)
		return;
	text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT(text != MAP_FAILED);
	end = text + size;
	for (p = text; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		ASSERT(nl != NULL);
		check_line(p, (size_t)(nl - p));
		n++;
	}
	ASSERT(n <= r->expected);
	munmap((void *)(uintptr_t)text, (size_t)size);
}

static struct event_base *
make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	event_config_require_features(config, EV_FEATURE_FDS);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct out_ops ops = { on_nothing, on_nothing };
	static const struct link_config config = {
		.socket = "/nonexistent/client.sock"
	};
	struct run r = { .expected = 0 };
	struct adapter *a = &r.adapter;
	int fd = memfd_create("out", MFD_CLOEXEC), turns = 0;

	a->base = make_base();
	ASSERT(fd != -1 && a->base != NULL);
	TAILQ_INIT(&a->calls);
	a->out = out_new(a->base, fd, &ops, NULL);
	a->link = link_new(a->base, &config);
	ASSERT(a->out != NULL && a->link != NULL);
	lines_init(&r.lines, RPC_LINE_BYTES_MAX, on_line, on_long, &r);
	lines_feed(&r.lines, bytes, size / 2);
	lines_feed(&r.lines, bytes + size / 2, size - size / 2);
	lines_end(&r.lines);
	while (a->ncalls > 0 || out_queued(a->out) > 0) {
		ASSERT(turns++ < TURNS_MAX);
		event_base_loop(a->base, EVLOOP_ONCE);
	}
	check_output(&r, fd);
	calls_drop_all(a);
	link_free(&a->link);
	out_free(&a->out);
	lines_free(&r.lines);
	event_base_free(a->base);
	close(fd);
	return 0;
}
