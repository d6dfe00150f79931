/*
 * json_support: what the tests of json/ share: files of the test vectors, a
 * parser call that fits on a line, and a seeded generator.
 */
#ifndef T_UNIT_JSON_SUPPORT_H
#define T_UNIT_JSON_SUPPORT_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/tape.h"
#include "json/text.h"
#include "t/unit/tap.h"

/* What is left of the file; a 0 byte behind it is not counted. */
static inline uint8_t *
slurp(FILE *f, size_t *ret_len)
{
	size_t len = 0, cap = 1 << 16, n;
	uint8_t *bytes = malloc(cap), *more;

	while (bytes != NULL && (n = fread(bytes + len, 1, cap - len, f)) > 0) {
		len += n;
		if (len < cap)
			continue;
		more = realloc(bytes, cap *= 2);
		if (more == NULL)
			free(bytes);
		bytes = more;
	}
	if (bytes != NULL)
		bytes[len] = '\0';
	*ret_len = len;
	return bytes;
}

static inline uint8_t *
read_file(const char *dir, const char *name, size_t *ret_len)
{
	char path[4096];
	uint8_t *bytes;
	FILE *f;

	*ret_len = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (f == NULL)
		return NULL;
	bytes = slurp(f, ret_len);
	fclose(f);
	return bytes;
}

/* The directory of test vectors below the one the environment names, or NULL
 * after a skip. */
static inline const char *
vectors_dir(const char *below, const char *test)
{
	static char path[4096];
	const char *top = getenv("vectors");
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", top == NULL ? "" : top, below);
	d = top == NULL ? NULL : opendir(path);
	if (d == NULL) {
		tap_skip(test, "no test vectors here");
		return NULL;
	}
	closedir(d);
	return path;
}

static inline int
json_only(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
}

static inline struct json_doc *
parse(const char *text, unsigned flags)
{
	struct json_doc *doc = NULL;

	json_parse(
	    (const uint8_t *)text, strlen(text), NULL, flags, &doc, NULL);
	return doc;
}

static inline uint32_t
random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Reads every value through the accessors; false if one breaks its word. */
static inline bool
doc_is_sound(const struct json_doc *doc)
{
	struct json_val v = json_root(doc);
	const uint8_t *raw;
	size_t len, n, step;
	char *s;

	for (uint32_t end = 0; v.at == 0 || v.at < end; v.at++) {
		enum json_type type = json_type_of(v);
		struct json_iter it;

		if (v.at == 0)
			end = json_iter(v).end;
		if (type == JSON_MISSING)
			continue; /* the token of a closing bracket */
		if (!json_raw(v, &raw, &len) || len == 0)
			return false;
		n = 0;
		for (it = json_iter(v); json_iter_next(&it);)
			n++;
		if (n != json_len(v))
			return false;
		if (type != JSON_STRING)
			continue;
		s = json_str_dup(v, &len);
		if (s == NULL || len != json_str_len(v) ||
		    !json_str_eqn(v, s, len)) {
			free(s);
			return false;
		}
		for (n = 0; n < len; n += step)
			if (!json_utf8_step(
				(uint8_t *)s + n, (uint8_t *)s + len, &step)) {
				free(s);
				return false;
			}
		free(s);
	}
	return true;
}

#endif
