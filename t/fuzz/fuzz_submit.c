/*
 * Documents that clients send to the supervisor: a text is read as the options
 * of a submission and as the metadata of a template. What is taken is within
 * its limits, what is not gets a reason, and a template is installed exactly
 * when the check finds no fault in it.
 */
#include <string.h>

#include "common/panic.h"
#include "json/writer.h"
#include "supervisord/metacheck.h"
#include "supervisord/options.h"
#include "supervisord/registry.h"
#include "t/fuzz/fuzz.h"

struct found {
	int faults;
	int warnings;
};

static void
on_fault(void *arg, bool warning, const char *path, const char *message)
{
	struct found *f = arg;

	ASSERT(path[0] == '\0' || path[0] == '/');
	ASSERT(message[0] != '\0');
	if (warning)
		f->warnings++;
	else
		f->faults++;
}

static void
check_options(struct json_val v, const struct template *t)
{
	struct refusal r = { ERR_NONE, "" };
	struct options o, before;
	struct settings s;
	int64_t ms;

	memset(&o, 0x5a, sizeof(o));
	before = o;
	if (!options_read(v, &o, &r)) {
		ASSERT(r.code == ERR_INVALID_PARAMETER);
		ASSERT(strncmp(r.message, "/options", 8) == 0);
		ASSERT(memcmp(&o, &before, sizeof(o)) == 0);
		return;
	}
	ASSERT(r.code == ERR_NONE);
	ASSERT(o.timeout_ms >= 0 && o.timeout_ms <= LIMIT_TIMEOUT_MS);
	ASSERT(strnlen(o.key, sizeof(o.key)) < sizeof(o.key));
	ASSERT(o.trace_id[0] == '\0' || options_trace_valid(o.trace_id));
	ASSERT(o.facts_snapshot_id[0] == '\0' ||
	    strlen(o.facts_snapshot_id) == 64);
	if (t == NULL) {
		options_clear(&o);
		return;
	}
	settings_default(&s);
	ms = options_limit(&o, t, &s, options_mode(&o, t, v, false));
	ASSERT(ms >= 1 && ms <= s.asyncTimeoutMs && ms <= t->max_timeout_ms);
	options_clear(&o);
}

static void
check_template(const struct template *t)
{
	ASSERT(t->id[0] >= 'a' && t->id[0] <= 'z');
	ASSERT(t->version[0] >= '0' && t->version[0] <= '9');
	ASSERT(t->max_timeout_ms >= 1);
	ASSERT(t->max_timeout_ms <= LIMIT_TIMEOUT_MS);
	ASSERT(t->threshold >= 0 && t->threshold <= 1);
	ASSERT(t->sync_max >= 0 && t->inputs != NULL);
}

/* The template, if it was taken. */
static const struct template *
check_metadata(struct registry *r, struct json_val v)
{
	struct found f = { 0, 0 };
	char why[256] = "", id[TEMPLATE_ID_CHARS + 1];
	const struct template *t;
	struct json_writer w;
	const uint8_t *raw;
	struct buf b;
	size_t len;

	metacheck(v, r, on_fault, &f);
	ASSERT(json_raw(v, &raw, &len));
	if (!registry_add(r, raw, len, why, sizeof(why))) {
		ASSERT(f.faults > 0 || len > TEMPLATE_META_BYTES_MAX);
		ASSERT(why[0] != '\0' && registry_count(r) == 0);
		return NULL;
	}
	ASSERT(f.faults == 0);
	ASSERT(registry_count(r) == 1);
	ASSERT(json_str_copy(json_obj_get(v, "id"), id, sizeof(id)));
	t = registry_find(r, id);
	ASSERT(t != NULL);
	check_template(t);
	buf_init(&b, 1 << 20);
	json_writer_init(&w, &b);
	registry_write(r, NULL, &w);
	ASSERT(json_writer_finish(&w));
	buf_clear(&b);
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct registry *r;
	struct json_doc *doc = NULL;
	struct json_val root;

	if (!json_parse(bytes, size, NULL, JSON_DUP_ERROR, &doc, NULL))
		return 0;
	r = registry_new();
	ASSERT(r != NULL);
	root = json_root(doc);
	check_options(root, check_metadata(r, root));
	registry_free(&r);
	json_doc_free(&doc);
	return 0;
}
