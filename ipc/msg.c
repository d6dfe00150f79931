/*
 * The message table in memory, and the values of a message's fields. Runs in
 * every process that sends or receives messages; holds no state.
 */
#include <string.h>

#include "common/panic.h"
#include "ipc/msg.h"

/*
 * Numbers the FIELD rows: each MSG gives the number of its first FIELD row a
 * name and takes back the step which its own enumerators made.
 */
#define MSG(id, ...)         ROW_##id, ROW_BACK_##id = ROW_##id - 1,
#define FIELD(msg, key, ...) ROW_##msg##_##key,
enum field_row {
#include "ipc/msg.def"
	ROW__MAX
};

#define STR      FIELD_STR
#define BIN      FIELD_BIN
#define JSON     FIELD_JSON
#define INT      FIELD_INT
#define BOOL     FIELD_BOOL
#define REQUIRED true
#define OPTIONAL false
#define FIELD(msg, key, type, need, min, max, help) \
	{ MSG_##msg, F_##key, type, need, min, max, help },
static const struct msg_field field_rows[ROW__MAX + 1] = {
#include "ipc/msg.def"
	{ .msg = MSG__MAX },
};

#define REQ          MSG_KIND_REQ
#define NOTE         MSG_KIND_NOTE
#define ANSWER       MSG_KIND_ANSWER
#define IN           IPC_IN
#define OUT          IPC_OUT
#define DOWN         IPC_DOWN
#define UP           IPC_UP
#define TO_EGRESSD   IPC_TO_EGRESSD
#define FROM_EGRESSD IPC_FROM_EGRESSD
#define MSG(id, name, kind, dir, phases, flags, max_bytes, help) \
	{ MSG_##id, name, kind, dir, phases, flags, max_bytes,   \
		field_rows + ROW_##id, help },
static const struct msg_row msg_rows[] = {
#include "ipc/msg.def"
};

#define KEY(id, name) name,
static const char *const key_names[] = {
#include "ipc/msg.def"
};

const struct msg_row *
msg_row(enum msg_id id)
{
	ASSERT((unsigned)id < MSG__MAX);
	return &msg_rows[id];
}

const struct msg_row *
msg_find(enum ipc_dir dir, enum msg_kind kind, const char *name, size_t len)
{
	const struct msg_row *row;

	for (row = msg_rows; row < msg_rows + MSG__MAX; row++)
		if (row->dir == dir && row->kind == kind &&
		    strlen(row->name) == len &&
		    memcmp(row->name, name, len) == 0)
			return row;
	return NULL;
}

bool
ipc_is_packets(enum ipc_dir dir)
{
	return dir != IPC_IN && dir != IPC_OUT;
}

size_t
msg_nfields(const struct msg_row *row)
{
	size_t n = 0;

	while (row->fields[n].msg == row->id)
		n++;
	return n;
}

const char *
msg_key_name(enum msg_key key)
{
	ASSERT((unsigned)key < F__MAX);
	return key_names[key];
}

const char *
msg_type_name(enum field_type type)
{
	static const char *const names[] = {
		[FIELD_STR] = "string",
		[FIELD_BIN] = "bytes",
		[FIELD_JSON] = "JSON",
		[FIELD_INT] = "integer",
		[FIELD_BOOL] = "boolean",
	};

	return names[type];
}

const struct msg_field *
msg_field(const struct msg_row *row, enum msg_key key)
{
	const struct msg_field *f;

	for (f = row->fields; f->msg == row->id; f++)
		if (f->key == key)
			return f;
	return NULL;
}

bool
ipc_value_fits(const struct msg_field *f, const struct ipc_value *v)
{
	switch (f->type) {
	case FIELD_STR:
		if (memchr(v->bytes, '\0', v->len) != NULL)
			return false;
		/* FALLTHROUGH */
	case FIELD_BIN:
	case FIELD_JSON:
		return v->len >= (uint64_t)f->min && v->len <= (uint64_t)f->max;
	case FIELD_INT:
		return v->i >= f->min && v->i <= f->max;
	case FIELD_BOOL:
		return true;
	}
	panic("a field type without a case");
}

void
ipc_params_init(struct ipc_params *p, enum msg_id id)
{
	ASSERT((unsigned)id < MSG__MAX);
	memset(p, 0, sizeof(*p));
	p->msg = id;
}

/* The field that may be touched as one of two types. */
static enum field_type
field_type(const struct ipc_params *p, enum msg_key key, enum field_type a,
    enum field_type b)
{
	const struct msg_field *f = msg_field(msg_row(p->msg), key);

	ASSERT(f != NULL && (f->type == a || f->type == b));
	return f->type;
}

static struct ipc_value *
value_set(struct ipc_params *p, enum msg_key key, enum field_type a,
    enum field_type b)
{
	struct ipc_value *v = &p->v[key];

	v->type = field_type(p, key, a, b);
	v->set = true;
	return v;
}

static const struct ipc_value *
value_get(const struct ipc_params *p, enum msg_key key, enum field_type a,
    enum field_type b)
{
	field_type(p, key, a, b);
	return p->v[key].set ? &p->v[key] : NULL;
}

void
ipc_set_str(struct ipc_params *p, enum msg_key key, const char *text)
{
	ipc_set_strn(p, key, text, strlen(text));
}

void
ipc_set_strn(
    struct ipc_params *p, enum msg_key key, const char *text, size_t len)
{
	struct ipc_value *v = value_set(p, key, FIELD_STR, FIELD_STR);

	v->bytes = text;
	v->len = len;
}

void
ipc_set_bin(
    struct ipc_params *p, enum msg_key key, const void *bytes, size_t len)
{
	struct ipc_value *v = value_set(p, key, FIELD_BIN, FIELD_JSON);

	v->bytes = bytes;
	v->len = len;
}

void
ipc_set_int(struct ipc_params *p, enum msg_key key, int64_t i)
{
	value_set(p, key, FIELD_INT, FIELD_INT)->i = i;
}

void
ipc_set_bool(struct ipc_params *p, enum msg_key key, bool b)
{
	value_set(p, key, FIELD_BOOL, FIELD_BOOL)->b = b;
}

bool
ipc_has(const struct ipc_params *p, enum msg_key key)
{
	ASSERT(msg_field(msg_row(p->msg), key) != NULL);
	return p->v[key].set;
}

const char *
ipc_str(const struct ipc_params *p, enum msg_key key)
{
	const struct ipc_value *v = value_get(p, key, FIELD_STR, FIELD_STR);

	return v == NULL ? NULL : v->bytes;
}

const void *
ipc_bin(const struct ipc_params *p, enum msg_key key, size_t *ret_len)
{
	const struct ipc_value *v = value_get(p, key, FIELD_BIN, FIELD_JSON);

	*ret_len = v == NULL ? 0 : v->len;
	return v == NULL ? NULL : v->bytes;
}

int64_t
ipc_int(const struct ipc_params *p, enum msg_key key, int64_t absent)
{
	const struct ipc_value *v = value_get(p, key, FIELD_INT, FIELD_INT);

	return v == NULL ? absent : v->i;
}

bool
ipc_bool(const struct ipc_params *p, enum msg_key key, bool absent)
{
	const struct ipc_value *v = value_get(p, key, FIELD_BOOL, FIELD_BOOL);

	return v == NULL ? absent : v->b;
}
