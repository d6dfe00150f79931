/*
 * Arguments, in the adapter. Types and ranges are those of the rows of
 * ipc/msg.def; what is inside of inputs and options is the service's business.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/args.h"

#define IGNORED_MAX 16

static bool
args_bad(char ret_why[ARGS_WHY_MAX], const char *name, const char *what)
{
	snprintf(ret_why, ARGS_WHY_MAX, "/%s: %s", name, what);
	return false;
}

static bool
args_range(
    const struct msg_field *f, const char *name, char ret_why[ARGS_WHY_MAX])
{
	char what[128];

	if (f->type == FIELD_INT)
		snprintf(what, sizeof(what),
		    "expected an integer from %" PRId64 " to %" PRId64, f->min,
		    f->max);
	else
		snprintf(what, sizeof(what),
		    "expected %s of %" PRId64 " to %" PRId64 " bytes",
		    f->type == FIELD_STR ? "a string" : "JSON", f->min, f->max);
	return args_bad(ret_why, name, what);
}

static bool
args_str(struct call *c, const struct msg_field *f, struct json_val v,
    const char *name, char ret_why[ARGS_WHY_MAX])
{
	struct ipc_value value = { .set = true, .type = FIELD_STR };
	char *text;
	size_t len;

	if (!json_is_string(v))
		return args_range(f, name, ret_why);
	text = call_keep(c, json_str_dup(v, &len));
	if (text == NULL)
		return args_bad(ret_why, name, "no memory");
	if (strlen(text) != len)
		return args_bad(ret_why, name, "holds a NUL");
	value.bytes = text;
	value.len = len;
	if (!ipc_value_fits(f, &value))
		return args_range(f, name, ret_why);
	ipc_set_strn(&c->req.params, f->key, text, len);
	return true;
}

static bool
args_int(struct call *c, const struct msg_field *f, struct json_val v,
    const char *name, char ret_why[ARGS_WHY_MAX])
{
	struct ipc_value value = { .set = true, .type = FIELD_INT };

	if (!json_get_int64(v, &value.i) || !ipc_value_fits(f, &value))
		return args_range(f, name, ret_why);
	ipc_set_int(&c->req.params, f->key, value.i);
	return true;
}

static bool
args_json(struct call *c, const struct msg_field *f, struct json_val v,
    const char *name, char ret_why[ARGS_WHY_MAX])
{
	const uint8_t *raw;
	size_t len;

	if (!json_is_object(v) || !json_raw(v, &raw, &len))
		return args_bad(ret_why, name, "expected an object");
	if (len > (size_t)f->max)
		return args_range(f, name, ret_why);
	ipc_set_bin(&c->req.params, f->key, raw, len);
	return true;
}

/* ["a","b"] for a field that is a comma list; one string is taken as well. */
static bool
args_list(struct call *c, const struct msg_field *f, struct json_val v,
    const char *name, char ret_why[ARGS_WHY_MAX])
{
	struct json_iter it;
	struct buf b;
	char *text;
	size_t len;

	if (json_is_string(v))
		return args_str(c, f, v, name, ret_why);
	if (!json_is_array(v))
		return args_bad(ret_why, name, "expected an array of strings");
	buf_init(&b, (size_t)f->max);
	for (it = json_iter(v); json_iter_next(&it);) {
		if (b.len > 0)
			buf_add_str(&b, ",");
		if (!json_str_add(it.val, &b)) {
			buf_clear(&b);
			return args_bad(
			    ret_why, name, "expected an array of strings");
		}
	}
	text = call_keep(c, (char *)buf_take(&b, &len));
	if (text == NULL || strlen(text) != len)
		return args_bad(ret_why, name, "holds a NUL");
	ipc_set_strn(&c->req.params, f->key, text, len);
	return true;
}

static bool
args_one(struct call *c, const struct tool_arg *arg, struct json_val v,
    char ret_why[ARGS_WHY_MAX])
{
	const struct msg_field *f;

	if (arg->key == F__MAX)
		return true;
	f = msg_field(msg_row(c->tool->msg), arg->key);
	if (json_is_missing(v) || json_is_null(v))
		return !arg->required ||
		    args_bad(ret_why, arg->name, "is required");
	if (arg->key == F_INCLUDE)
		return args_list(c, f, v, arg->name, ret_why);
	if (f->type == FIELD_STR)
		return args_str(c, f, v, arg->name, ret_why);
	if (f->type == FIELD_INT)
		return args_int(c, f, v, arg->name, ret_why);
	return args_json(c, f, v, arg->name, ret_why);
}

/* Some clients add arguments of their own. */
static void
args_note_ignored(struct call *c, struct json_val args)
{
	const struct tool_arg *arg;
	struct json_iter it;
	const uint8_t *raw;
	size_t len, n = 0;

	for (it = json_iter(args); json_iter_next(&it) && n < IGNORED_MAX;) {
		for (arg = c->tool->args; arg->name != NULL; arg++)
			if (json_str_eq(it.key, arg->name))
				break;
		if (arg->name != NULL || !json_raw(it.key, &raw, &len) ||
		    c->ignored.len + len + 1 > c->ignored.max)
			continue;
		if (n++ > 0)
			buf_add_str(&c->ignored, ",");
		buf_add(&c->ignored, raw, len);
	}
}

bool
args_number(struct call *c, const char *name, int64_t min, int64_t max,
    int64_t absent, int64_t *ret)
{
	struct json_val v = json_obj_get(call_arguments(c), name);
	const struct msg_field f = {
		.type = FIELD_INT, .min = min, .max = max
	};
	char why[ARGS_WHY_MAX];
	int64_t n = absent;

	if (!json_is_missing(v) && !json_is_null(v) &&
	    (!json_get_int64(v, &n) || n < min || n > max)) {
		args_range(&f, name, why);
		answer_fault(c, ERR_INVALID_PARAMETER, why);
		return false;
	}
	*ret = n;
	return true;
}

bool
args_read(struct call *c, char ret_why[ARGS_WHY_MAX])
{
	struct json_val args = call_arguments(c);
	const struct tool_arg *arg;

	ipc_params_init(&c->req.params, c->tool->msg);
	for (arg = c->tool->args; arg->name != NULL; arg++)
		if (!args_one(c, arg, json_obj_get(args, arg->name), ret_why))
			return false;
	args_note_ignored(c, args);
	return true;
}
