/*
 * secrets: from inputs to what may be stored of them and what may not. Runs in
 * supervisord, which has such values in memory only while it handles the
 * frame they came in: they go into a memfd that the launcher keeps, and
 * whatever they were in is wiped. They must never be in a message, an event,
 * a line of the log or the store.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/secretname.h"
#include "json/tape.h"
#include "model/limits.h"
#include "storage/store.h"
#include "supervisord/registry.h"
#include "supervisord/secrets.h"
#include "supervisord/sup.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct taking {
	const uint8_t *marks;
	const uint8_t *from; /* of the inputs: not copied yet */
	struct buf *text;
	struct buf values;
	size_t count;
};

/* {"secret":7} */
static bool
is_placeholder(struct json_val v)
{
	int64_t n;

	return json_is_object(v) && json_len(v) == 1 &&
	    json_get_int64(json_obj_get(v, "secret"), &n);
}

static bool
is_ref(const uint8_t *marks, struct json_val v)
{
	return marks[v.at] && schema_is_secret_ref(v);
}

static bool
ref_name(struct json_val v, char ret_name[SECRETNAME_BYTES])
{
	return json_str_copy(json_obj_get(v, SCHEMA_SECRET_REF), ret_name,
		   SECRETNAME_BYTES) &&
	    secretname_good(ret_name);
}

static bool
check_part(const uint8_t *marks, struct json_val v, struct refusal *r)
{
	char name[SECRETNAME_BYTES];
	struct json_iter it;

	if (is_ref(marks, v))
		return ref_name(v, name) ||
		    refuse(r, ERR_INVALID_PARAMETER,
			"/inputs: secretRef names no stored secret: a name has "
			"up to %d of A-Z a-z 0-9 . _ - and begins with a letter",
			SECRETNAME_BYTES - 1);
	if (!marks[v.at] && is_placeholder(v))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/inputs: {\"secret\":N} stands for a secret value and "
		    "cannot be given");
	for (it = json_iter(v); json_iter_next(&it);)
		if (!check_part(marks, it.val, r))
			return false;
	return true;
}

bool
secrets_check(
    const struct schema *schema, struct json_val inputs, struct refusal *r)
{
	uint8_t *marks;
	bool good;

	if (!schema_has_secrets(schema))
		return true;
	if (!schema_find_secrets(schema, inputs, &marks))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/inputs: looking for secrets takes too much work");
	good = check_part(marks, inputs, r);
	free(marks);
	return good;
}

static void
take_value(struct taking *t, struct json_val v)
{
	const char *quote = json_is_string(v) ? "" : "\"";
	const uint8_t *raw;
	size_t len;

	json_raw(v, &raw, &len);
	buf_add(t->text, t->from, (size_t)(raw - t->from));
	buf_addf(t->text, "{\"secret\":%zu}", t->count);
	t->from = raw + len;
	buf_add_str(&t->values, t->count == 0 ? "[" : ",");
	buf_add_str(&t->values, quote);
	buf_add(&t->values, raw, len);
	buf_add_str(&t->values, quote);
	t->count++;
}

static void
take_part(struct taking *t, struct json_val v)
{
	struct json_iter it;

	if (is_ref(t->marks, v))
		return;
	if (t->marks[v.at] && (json_is_string(v) || json_is_number(v)))
		take_value(t, v);
	else
		for (it = json_iter(v); json_iter_next(&it);)
			take_part(t, it.val);
}

static bool
seal(const struct buf *values, int *ret_fd)
{
	int fd = memfd_create("secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd == -1)
		return false;
	if (fd_write_all(fd, values->data, values->len) != 0 ||
	    fcntl(fd, F_ADD_SEALS, ALL_SEALS) == -1) {
		fd_close(&fd);
		return false;
	}
	*ret_fd = fd;
	return true;
}

static bool
take_all(
    struct taking *t, struct json_val inputs, int *ret_fd, struct refusal *r)
{
	const uint8_t *raw;
	size_t len;

	json_raw(inputs, &raw, &len);
	t->from = raw;
	take_part(t, inputs);
	if (t->count == 0)
		return true;
	buf_add(t->text, t->from, (size_t)(raw + len - t->from));
	buf_add_str(&t->values, "]");
	if (t->count > LIMIT_SECRETS)
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/inputs: more than %d secret values", LIMIT_SECRETS);
	if (t->values.failed || t->text->failed)
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/inputs: secret values of more than %u bytes",
		    LIMIT_SECRETS_BYTES);
	return seal(&t->values, ret_fd) ||
	    refuse(
		r, ERR_INTERNAL, "secrets cannot be kept: %s", strerror(errno));
}

bool
secrets_take(const struct schema *schema, struct json_val inputs,
    struct buf *text, int *ret_fd, struct refusal *r)
{
	struct taking t = { .text = text };
	uint8_t *marks;
	bool good;

	*ret_fd = -1;
	if (!schema_has_secrets(schema))
		return true;
	if (!schema_find_secrets(schema, inputs, &marks))
		return refuse(r, ERR_INTERNAL, "no memory");
	t.marks = marks;
	buf_init_secret(&t.values, LIMIT_SECRETS_BYTES);
	good = take_all(&t, inputs, ret_fd, r);
	buf_clear(&t.values);
	free(marks);
	return good;
}

static bool
names_secret(const uint8_t *marks, struct json_val v)
{
	struct json_iter it;

	if (marks[v.at] && is_placeholder(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);)
		if (names_secret(marks, it.val))
			return true;
	return false;
}

/* What is asked of the stored inputs of a run, with what they mark secret. */
typedef bool ask_fn(const uint8_t *marks, struct json_val root, void *arg);

static bool
ask_document(const struct schema *schema, const uint8_t *bytes, size_t len,
    ask_fn *ask, void *arg)
{
	struct json_limits limits = { LIMIT_INPUT_BYTES, LIMIT_JSON_DEPTH + 1 };
	struct json_doc *doc = NULL;
	uint8_t *marks = NULL;
	bool answer = false;

	if (json_parse(bytes, len, &limits, JSON_BORROW, &doc, NULL) &&
	    schema_find_secrets(schema, json_root(doc), &marks))
		answer = ask(marks, json_root(doc), arg);
	free(marks);
	json_doc_free(&doc);
	return answer;
}

/* otherwise: the answer for a template that has no secrets. */
static bool
ask_inputs(struct sup *sup, const struct run_record *rec, bool otherwise,
    ask_fn *ask, void *arg)
{
	const struct template *t =
	    registry_find(sup->registry, rec->template_id);
	struct store_txn *txn;
	const uint8_t *bytes;
	bool answer = false;
	size_t len;

	if (t == NULL || !schema_has_secrets(t->inputs))
		return otherwise;
	if (store_read_begin(sup->store, &txn) != STORE_OK)
		return false;
	if (run_doc_get(txn, &rec->id, RUN_DOC_INPUTS, &bytes, &len) ==
	    STORE_OK)
		answer = ask_document(t->inputs, bytes, len, ask, arg);
	store_read_end(sup->store);
	return answer;
}

static bool
ask_none(const uint8_t *marks, struct json_val root, void *arg)
{
	return !names_secret(marks, root);
}

bool
secrets_needed(struct sup *sup, const struct run_record *rec)
{
	return !ask_inputs(sup, rec, true, ask_none, NULL);
}

static bool
name_is_there(const struct buf *names, const char *name)
{
	size_t len = strlen(name) + 1;

	for (size_t at = 0; at < names->len;
	     at += strlen((const char *)names->data + at) + 1)
		if (names->len - at >= len &&
		    memcmp(names->data + at, name, len) == 0)
			return true;
	return false;
}

static bool
ask_names(const uint8_t *marks, struct json_val v, void *arg)
{
	char name[SECRETNAME_BYTES];
	struct buf *names = arg;
	struct json_iter it;

	if (is_ref(marks, v))
		return ref_name(v, name) &&
		    (name_is_there(names, name) ||
			buf_add(names, name, strlen(name) + 1));
	for (it = json_iter(v); json_iter_next(&it);)
		if (!ask_names(marks, it.val, arg))
			return false;
	return true;
}

bool
secrets_names(struct sup *sup, const struct run_record *rec, struct buf *names)
{
	return ask_inputs(sup, rec, true, ask_names, names);
}
