/*
 * The rules of a template's metadata, in supervisord: a table of members, and
 * what members demand of each other. Pure: reads, and tells by a callback.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json/schema.h"
#include "model/limits.h"
#include "supervisord/metacheck.h"
#include "supervisord/registry.h"

struct metacheck {
	struct json_val meta;
	metacheck_fn *fn;
	void *arg;
};

enum need {
	REQUIRED,
	OPTIONAL
};

struct rule;
typedef void
rule_fn(const struct metacheck *, const struct rule *, struct json_val);

struct rule {
	const char *key;
	enum need need;
	rule_fn *fn;
	double min, max;       /* numbers, and texts' lengths */
	const char *choice[5]; /* texts; NULL: any */
};

static void __attribute__((format(printf, 4, 5)))
tell(const struct metacheck *m, bool warning, const char *path, const char *fmt,
    ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->fn(m->arg, warning, path, text);
}

static void
tell_rule(const struct metacheck *m, const struct rule *r, const char *message)
{
	char path[300];

	snprintf(path, sizeof(path), "/%s", r->key);
	tell(m, false, path, "%s", message);
}

static bool
is_choice(const struct rule *r, struct json_val v)
{
	if (r->choice[0] == NULL)
		return true;
	for (size_t i = 0; r->choice[i] != NULL; i++)
		if (json_str_eq(v, r->choice[i]))
			return true;
	return false;
}

static void
tell_choices(const struct metacheck *m, const struct rule *r)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "expected one of");

	for (size_t i = 0; r->choice[i] != NULL; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %s",
		    i == 0 ? "" : ",", r->choice[i]);
	tell_rule(m, r, text);
}

static void
rule_text(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	char text[128];

	if (!json_is_string(v)) {
		snprintf(text, sizeof(text), "expected a string, got %s",
		    json_type_name(json_type_of(v)));
		tell_rule(m, r, text);
	} else if (json_str_len(v) < (size_t)r->min ||
	    json_str_len(v) > (size_t)r->max) {
		snprintf(text, sizeof(text), "expected %.0f to %.0f bytes",
		    r->min, r->max);
		tell_rule(m, r, text);
	} else if (!is_choice(r, v)) {
		tell_choices(m, r);
	}
}

static void
rule_id(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	char id[TEMPLATE_ID_CHARS + 1], set[64];

	snprintf(set, sizeof(set), "%s0123456789_", letters);
	if (!json_str_copy(v, id, sizeof(id)) || id[0] == '\0' ||
	    strchr(letters, id[0]) == NULL || id[strspn(id, set)] != '\0')
		tell_rule(m, r,
		    "expected up to 64 of a-z, 0-9 and _, "
		    "beginning with a letter");
}

static void
rule_version(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	char text[TEMPLATE_VERSION_CHARS + 1];
	const char *p = text;
	size_t len;

	if (!json_str_copy(v, text, sizeof(text)))
		text[0] = '\0';
	for (int i = 0; i < 3; i++) {
		len = strspn(p, "0123456789");
		if (len == 0 || (len > 1 && *p == '0') ||
		    (i < 2 && p[len] != '.')) {
			tell_rule(m, r, "expected a version as \"1.0.0\"");
			return;
		}
		p += len + (i < 2);
	}
	if (*p != '\0' && *p != '-' && *p != '+')
		tell_rule(m, r, "expected a version as \"1.0.0\"");
}

static void
rule_bool(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	if (!json_is_bool(v))
		tell_rule(m, r, "expected true or false");
}

static void
rule_number(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	double d;
	char text[128];

	if (json_get_double(v, &d) && d >= r->min && d <= r->max)
		return;
	snprintf(text, sizeof(text), "expected a number from %g to %g", r->min,
	    r->max);
	tell_rule(m, r, text);
}

static void
rule_integer(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	int64_t n;
	char text[128];

	if (json_get_int64(v, &n) && (double)n >= r->min && (double)n <= r->max)
		return;
	snprintf(text, sizeof(text),
	    "expected a whole number from %.0f to %.0f", r->min, r->max);
	tell_rule(m, r, text);
}

static void
rule_texts(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	struct json_iter it;

	if (!json_is_array(v) || json_len(v) == 0) {
		tell_rule(m, r, "expected an array that is not empty");
		return;
	}
	for (it = json_iter(v); json_iter_next(&it);)
		if (!is_choice(r, it.val)) {
			tell_choices(m, r);
			return;
		}
}

static void
rule_schema(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	struct schema *schema = NULL;
	struct schema_error error;
	char path[300];

	if (!json_is_object(v)) {
		tell_rule(m, r, "expected a JSON Schema, an object");
		return;
	}
	if (!json_str_eq(json_obj_get(v, "type"), "object"))
		tell_rule(m, r, "expected a schema with type = \"object\"");
	if (!schema_compile(v, SCHEMA_2020_12, &schema, &error)) {
		snprintf(path, sizeof(path), "/%s%s", r->key, error.pointer);
		tell(m, false, path, "%s", error.message);
	}
	schema_free(&schema);
}

static void
rule_example(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	struct schema *schema = NULL;
	struct schema_error error;
	char path[300];

	if (!schema_compile(
		json_obj_get(m->meta, "inputs"), SCHEMA_2020_12, &schema, NULL))
		return;
	if (!schema_validate(schema, v, &error)) {
		snprintf(path, sizeof(path), "/%s%s", r->key, error.pointer);
		tell(m, false, path, "does not fit inputs: %s", error.message);
	}
	schema_free(&schema);
}

/* "syncUpTo": {"input": "urls", "max": 10} */
static void
rule_sync(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	char input[64];
	int64_t max;

	if (!json_str_copy(json_obj_get(v, "input"), input, sizeof(input)) ||
	    !json_get_int64(json_obj_get(v, "max"), &max) || max < 0) {
		tell_rule(m, r, "expected { input = name, max = number }");
		return;
	}
	if (json_is_missing(json_obj_get(
		json_obj_get(json_obj_get(m->meta, "inputs"), "properties"),
		input)))
		tell_rule(m, r, "input is none of the properties of inputs");
}

static void
rule_limits(const struct metacheck *, const struct rule *, struct json_val);

static const struct rule rules[] = {
	{ "id", REQUIRED, rule_id, 0, 0, { NULL } },
	{ "version", REQUIRED, rule_version, 0, 0, { NULL } },
	{ "name", REQUIRED, rule_text, 1, 200, { NULL } },
	{ "description", REQUIRED, rule_text, 1, 4000, { NULL } },
	{ "inputs", REQUIRED, rule_schema, 0, 0, { NULL } },
	{ "outputs", REQUIRED, rule_schema, 0, 0, { NULL } },
	{ "limits", REQUIRED, rule_limits, 0, 0, { NULL } },
	{ "trustLevelSupport", REQUIRED, rule_texts, 0, 0,
	    { "local", "remote", NULL } },
	{ "executionMode", REQUIRED, rule_text, 1, 16,
	    { "sync", "async", "auto", NULL } },
	{ "syncUpTo", OPTIONAL, rule_sync, 0, 0, { NULL } },
	{ "supportsPartialSuccess", REQUIRED, rule_bool, 0, 0, { NULL } },
	{ "partialSuccessThreshold", OPTIONAL, rule_number, 0, 1, { NULL } },
	{ "restartSafe", REQUIRED, rule_bool, 0, 0, { NULL } },
	{ "keepsSession", OPTIONAL, rule_bool, 0, 0, { NULL } },
	{ "items", OPTIONAL, rule_bool, 0, 0, { NULL } },
	{ "resources", OPTIONAL, rule_text, 1, 16, { "text", "all", NULL } },
	{ "exampleInputs", REQUIRED, rule_example, 0, 0, { NULL } },
	{ "errorCodes", OPTIONAL, rule_texts, 0, 0, { NULL } },
};
#define NRULES (sizeof(rules) / sizeof(rules[0]))

static const struct rule limit_rules[] = {
	{ "maxTimeoutMs", OPTIONAL, rule_integer, 1, LIMIT_TIMEOUT_MS,
	    { NULL } },
	{ "maxUrls", OPTIONAL, rule_integer, 1, LIMIT_ITEMS, { NULL } },
	{ "maxConcurrency", OPTIONAL, rule_integer, 1, 50, { NULL } },
};

static void
rule_limits(const struct metacheck *m, const struct rule *r, struct json_val v)
{
	struct json_val member;
	struct rule below;
	char key[64];

	if (!json_is_object(v)) {
		tell_rule(m, r, "expected a table of limits");
		return;
	}
	for (size_t i = 0; i < sizeof(limit_rules) / sizeof(limit_rules[0]);
	     i++) {
		below = limit_rules[i];
		member = json_obj_get(v, below.key);
		snprintf(key, sizeof(key), "limits/%s", below.key);
		below.key = key;
		if (!json_is_missing(member))
			below.fn(m, &below, member);
	}
}

static void
tell_missing(const struct metacheck *m, const struct rule *r)
{
	char path[128];

	snprintf(path, sizeof(path), "/%s", r->key);
	if (r->need == REQUIRED)
		tell(m, false, path, "is missing");
}

static void
look_for_strangers(const struct metacheck *m)
{
	char key[128], path[160];
	struct json_iter it;
	size_t i;

	for (it = json_iter(m->meta); json_iter_next(&it);) {
		if (!json_str_copy(it.key, key, sizeof(key)))
			continue;
		for (i = 0; i < NRULES && strcmp(rules[i].key, key) != 0; i++)
			;
		snprintf(path, sizeof(path), "/%s", key);
		if (i == NRULES)
			tell(m, true, path, "is no member of a template");
	}
}

void
metacheck(struct json_val meta, const struct registry *registry,
    metacheck_fn *fn, void *arg)
{
	struct metacheck m = { meta, fn, arg };
	char id[TEMPLATE_ID_CHARS + 1];

	if (!json_is_object(meta)) {
		tell(&m, false, "", "expected a table of metadata");
		return;
	}
	for (size_t i = 0; i < NRULES; i++) {
		struct json_val v = json_obj_get(meta, rules[i].key);

		if (json_is_missing(v))
			tell_missing(&m, &rules[i]);
		else
			rules[i].fn(&m, &rules[i], v);
	}
	look_for_strangers(&m);
	if (json_str_copy(json_obj_get(meta, "id"), id, sizeof(id)) &&
	    registry_find(registry, id) != NULL)
		tell(&m, true, "/id", "a template of this id is installed");
}
