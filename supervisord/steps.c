/*
 * Steps of a run, kept by supervisord from what its worker reports. Names and
 * metadata are the worker's and therefore bounded here.
 */
#include <stdlib.h>
#include <string.h>

#include "json/tape.h"
#include "model/limits.h"
#include "supervisord/steps.h"

#define META_TRUNCATED "{\"truncated\":true}"

void
steps_clear(struct steps *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].meta);
	free(s->list);
	s->list = NULL;
	s->count = s->meta_bytes = 0;
}

static struct step *
steps_add(struct steps *s, const char *name)
{
	struct step *list, *step;

	if (s->count == STEPS_MAX)
		return NULL;
	list = reallocarray(s->list, s->count + 1, sizeof(*list));
	if (list == NULL)
		return NULL;
	s->list = list;
	step = &list[s->count++];
	memset(step, 0, sizeof(*step));
	strlcpy(step->name, name, sizeof(step->name));
	return step;
}

static struct step *
steps_open(struct steps *s, const char *name)
{
	for (size_t i = s->count; i > 0; i--)
		if (s->list[i - 1].open &&
		    strcmp(s->list[i - 1].name, name) == 0)
			return &s->list[i - 1];
	return NULL;
}

bool
steps_start(struct steps *s, const char *name, int64_t now_ms)
{
	struct step *step = steps_add(s, name);

	if (step == NULL)
		return false;
	step->open = true;
	step->start_ms = now_ms;
	return true;
}

void
steps_retry(struct steps *s, const char *name)
{
	struct step *step = steps_open(s, name);

	if (step != NULL)
		step->retries++;
}

static void
step_close(struct step *step, bool ok, int64_t ms, const char *error_code)
{
	step->open = false;
	step->ok = ok;
	step->duration_ms = ms < 0 ? 0 : ms;
	if (!ok && (error_code == NULL || *error_code == '\0'))
		error_code = "STEP_EXECUTION_FAILED";
	strlcpy(step->error_code, ok || error_code == NULL ? "" : error_code,
	    sizeof(step->error_code));
}

bool
steps_end(struct steps *s, const char *name, bool ok, int64_t duration_ms,
    const char *error_code, const char *meta, size_t meta_len)
{
	struct step *step = steps_open(s, name);
	size_t held = s->meta_bytes - (step == NULL ? 0 : step->meta_len);
	char *copy = NULL;

	if (meta == NULL)
		meta_len = 0;
	if (meta_len > 0 && held + meta_len > LIMIT_STEPS_META_BYTES) {
		meta = META_TRUNCATED;
		meta_len = strlen(META_TRUNCATED);
	}
	if (meta != NULL) {
		copy = malloc(meta_len + 1);
		if (copy == NULL)
			return false;
		memcpy(copy, meta, meta_len);
		copy[meta_len] = '\0';
	}
	if (step == NULL)
		step = steps_add(s, name);
	if (step == NULL) {
		free(copy);
		return false;
	}
	step_close(step, ok, duration_ms, error_code);
	free(step->meta);
	step->meta = copy;
	step->meta_len = meta_len;
	s->meta_bytes = held + meta_len;
	return true;
}

void
steps_close(struct steps *s, const char *error_code, int64_t now_ms)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].open)
			step_close(&s->list[i], error_code == NULL,
			    now_ms - s->list[i].start_ms, error_code);
}

void
steps_drop_open(struct steps *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].open) {
			s->meta_bytes -= s->list[i].meta_len;
			free(s->list[i].meta);
		} else {
			s->list[kept++] = s->list[i];
		}
	s->count = kept;
}

const struct step *
steps_failed(const struct steps *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->list[i].open && !s->list[i].ok)
			return &s->list[i];
	return NULL;
}

struct step *
steps_last(const struct steps *s)
{
	return s->count == 0 ? NULL : &s->list[s->count - 1];
}

static void
step_write_meta(const struct step *step, struct json_writer *w)
{
	json_write_key(w, "meta");
	if (step->meta != NULL) {
		json_write_raw(w, step->meta, step->meta_len);
		return;
	}
	json_write_begin_object(w);
	if (step->retries > 0)
		json_put_int64(w, "retries", step->retries);
	json_write_end_object(w);
}

void
steps_write(const struct steps *s, struct json_writer *w)
{
	json_write_begin_array(w);
	for (size_t i = 0; i < s->count; i++) {
		const struct step *step = &s->list[i];

		json_write_begin_object(w);
		json_put_str(w, "name", step->name);
		json_put_bool(w, "ok", step->ok);
		json_put_int64(w, "duration_ms", step->duration_ms);
		json_put_str(w, "error_code",
		    step->error_code[0] == '\0' ? NULL : step->error_code);
		step_write_meta(step, w);
		if (step->open)
			json_put_bool(w, "open", true);
		json_write_end_object(w);
	}
	json_write_end_array(w);
}

static bool
step_read(struct steps *s, struct json_val v, int64_t now_ms)
{
	char name[STEP_NAME_CHARS + 1], code[STEP_CODE_CHARS + 1] = "";
	const uint8_t *meta = NULL;
	size_t meta_len = 0;
	int64_t ms;
	bool good, open = false;

	if (!json_str_copy(json_obj_get(v, "name"), name, sizeof(name)) ||
	    !json_get_bool(json_obj_get(v, "ok"), &good) ||
	    !json_get_int64(json_obj_get(v, "duration_ms"), &ms))
		return false;
	json_get_bool(json_obj_get(v, "open"), &open);
	if (open)
		return steps_start(s, name, now_ms);
	json_str_copy(json_obj_get(v, "error_code"), code, sizeof(code));
	if (json_is_object(json_obj_get(v, "meta")))
		json_raw(json_obj_get(v, "meta"), &meta, &meta_len);
	return steps_end(s, name, good, ms, code, (const char *)meta, meta_len);
}

bool
steps_read(struct steps *ret, const void *json, size_t len, int64_t now_ms)
{
	struct steps s = { 0 };
	struct json_doc *doc;
	struct json_iter it;
	bool good;

	if (!json_parse(json, len, NULL, 0, &doc, NULL))
		return false;
	good = json_is_array(json_root(doc));
	for (it = json_iter(json_root(doc)); good && json_iter_next(&it);)
		good = step_read(&s, it.val, now_ms);
	json_doc_free(&doc);
	if (!good) {
		steps_clear(&s);
		return false;
	}
	steps_clear(ret);
	*ret = s;
	return true;
}
