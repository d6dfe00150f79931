/*
 * Templates of supervisord. Metadata comes from a confined worker, yet is
 * checked like any peer's: a template whose metadata is wrong is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/limits.h"
#include "supervisord/metacheck.h"
#include "supervisord/registry.h"

struct registry {
	STAILQ_HEAD(, template) templates;
	size_t count;
};

struct registry *
registry_new(void)
{
	struct registry *r = calloc(1, sizeof(*r));

	if (r != NULL)
		STAILQ_INIT(&r->templates);
	return r;
}

static void
template_free(struct template **template)
{
	struct template *t = *template;

	if (t == NULL)
		return;
	schema_free(&t->inputs);
	json_doc_free(&t->doc);
	free(t);
	*template = NULL;
}

void
registry_free(struct registry **registry)
{
	struct registry *r = *registry;
	struct template *t;

	if (r == NULL)
		return;
	while ((t = STAILQ_FIRST(&r->templates)) != NULL) {
		STAILQ_REMOVE_HEAD(&r->templates, entry);
		template_free(&t);
	}
	free(r);
	*registry = NULL;
}

static bool
meta_bool(struct json_val meta, const char *key, bool absent)
{
	bool b = absent;

	json_get_bool(json_obj_get(meta, key), &b);
	return b;
}

static bool
array_has(struct json_val array, const char *text)
{
	struct json_iter it;

	for (it = json_iter(array); json_iter_next(&it);)
		if (json_str_eq(it.val, text))
			return true;
	return false;
}

/* "executionMode": "auto" with "syncUpTo": {"input": "urls", "max": 10}. */
static bool
template_read_mode(struct template *t, struct json_val meta)
{
	struct json_val up_to = json_obj_get(meta, "syncUpTo");
	char mode[16] = "auto";

	json_str_copy(json_obj_get(meta, "executionMode"), mode, sizeof(mode));
	if (!run_mode_by_name(mode, &t->mode))
		return false;
	if (json_is_missing(up_to))
		return true;
	return json_str_copy(json_obj_get(up_to, "input"), t->sync_input,
		   sizeof(t->sync_input)) &&
	    json_get_int64(json_obj_get(up_to, "max"), &t->sync_max);
}

static bool
template_read(struct template *t, const char **ret_why)
{
	struct json_val meta = json_root(t->doc);
	struct json_val limits = json_obj_get(meta, "limits");

	*ret_why = "id or version";
	if (!json_str_copy(json_obj_get(meta, "id"), t->id, sizeof(t->id)) ||
	    t->id[0] == '\0' ||
	    !json_str_copy(
		json_obj_get(meta, "version"), t->version, sizeof(t->version)))
		return false;
	*ret_why = "executionMode or syncUpTo";
	if (!template_read_mode(t, meta))
		return false;
	t->max_timeout_ms = LIMIT_TIMEOUT_MS;
	json_get_int64(
	    json_obj_get(limits, "maxTimeoutMs"), &t->max_timeout_ms);
	for (int i = 0; i < TRUST__MAX; i++)
		t->trust[i] = array_has(json_obj_get(meta, "trustLevelSupport"),
		    trust_level_name((enum trust_level)i));
	t->partial_ok = meta_bool(meta, "supportsPartialSuccess", false);
	t->threshold = 0.5;
	json_get_double(
	    json_obj_get(meta, "partialSuccessThreshold"), &t->threshold);
	t->restart_safe = meta_bool(meta, "restartSafe", false);
	t->keeps_session = meta_bool(meta, "keepsSession", false);
	t->by_items = meta_bool(meta, "items", false);
	t->text_only = json_str_eq(json_obj_get(meta, "resources"), "text");
	*ret_why = "limits or partialSuccessThreshold";
	return t->max_timeout_ms > 0 && t->threshold >= 0 && t->threshold <= 1;
}

/* The first fault of the metadata, if there is one. */
struct fault {
	bool found;
	char *why;
	size_t size;
};

static void
on_fault(void *arg, bool warning, const char *path, const char *message)
{
	struct fault *f = arg;

	if (warning || f->found)
		return;
	f->found = true;
	snprintf(f->why, f->size, "%s: %s", path, message);
}

static bool
template_check(const struct template *t, const struct registry *r,
    char *ret_why, size_t why_size)
{
	struct fault fault = { false, ret_why, why_size };

	metacheck(json_root(t->doc), r, on_fault, &fault);
	return !fault.found;
}

static bool
template_make(struct template *t, const struct registry *r, const void *json,
    size_t len, char *ret_why, size_t why_size)
{
	struct json_error syntax;
	struct schema_error error;
	const char *why;

	if (!json_parse(json, len, NULL, JSON_DUP_ERROR, &t->doc, &syntax)) {
		strlcpy(ret_why, syntax.message, why_size);
		return false;
	}
	if (!template_check(t, r, ret_why, why_size))
		return false;
	if (!template_read(t, &why)) {
		strlcpy(ret_why, why, why_size);
		return false;
	}
	if (registry_find(r, t->id) != NULL) {
		strlcpy(ret_why, "is there already", why_size);
		return false;
	}
	if (schema_compile(json_obj_get(json_root(t->doc), "inputs"),
		SCHEMA_2020_12, &t->inputs, &error))
		return true;
	schema_error_text(&error, ret_why, why_size);
	return false;
}

bool
registry_add(struct registry *r, const void *json, size_t len, char *ret_why,
    size_t why_size)
{
	struct template *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		strlcpy(ret_why, "no memory", why_size);
		return false;
	}
	if (!template_make(t, r, json, len, ret_why, why_size)) {
		template_free(&t);
		return false;
	}
	STAILQ_INSERT_TAIL(&r->templates, t, entry);
	r->count++;
	return true;
}

const struct template *
registry_find(const struct registry *r, const char *id)
{
	const struct template *t;

	STAILQ_FOREACH(t, &r->templates, entry)
		if (strcmp(t->id, id) == 0)
			return t;
	return NULL;
}

size_t
registry_count(const struct registry *r)
{
	return r->count;
}

void
registry_write(const struct registry *r, const char *id, struct json_writer *w)
{
	const struct template *t;

	json_write_begin_array(w);
	STAILQ_FOREACH(t, &r->templates, entry)
		if (id == NULL || strcmp(t->id, id) == 0)
			json_write_val(w, json_root(t->doc));
	json_write_end_array(w);
}
