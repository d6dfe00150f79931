/*
 * Messages to bytes. Runs in every process that sends messages; refuses what
 * the message table would make the receiver refuse.
 */
#include <stdio.h>

#include "common/panic.h"
#include "ipc/mp.h"
#include "ipc/msg.h"

enum {
	RPC_REQUEST = 0,
	RPC_RESPONSE = 1,
	RPC_NOTE = 2
};

static void
put_value(struct buf *b, const struct ipc_value *v)
{
	switch (v->type) {
	case FIELD_STR:
		mp_put_str(b, v->bytes, v->len);
		break;
	case FIELD_BIN:
	case FIELD_JSON:
		mp_put_bin(b, v->bytes, v->len);
		break;
	case FIELD_INT:
		mp_put_int(b, v->i);
		break;
	case FIELD_BOOL:
		mp_put_bool(b, v->b);
		break;
	}
}

static bool
say(char reason[IPC_REASON_MAX], const struct msg_row *row, const char *what,
    const char *key)
{
	if (reason != NULL)
		snprintf(reason, IPC_REASON_MAX, "%s: %s%s%s", row->name, what,
		    key[0] == '\0' ? "" : ": ", key);
	return false;
}

static bool
put_params(struct buf *b, const struct msg_row *row, const struct ipc_params *p,
    char reason[IPC_REASON_MAX])
{
	size_t nfields = msg_nfields(row);
	const struct msg_field *f;
	uint32_t n = 0;

	for (f = row->fields; f < row->fields + nfields; f++) {
		const struct ipc_value *v = &p->v[f->key];

		if (f->required && !v->set)
			return say(
			    reason, row, "missing field", msg_key_name(f->key));
		if (v->set && !ipc_value_fits(f, v))
			return say(reason, row, "value out of range",
			    msg_key_name(f->key));
		n += v->set;
	}
	mp_put_map(b, n);
	for (f = row->fields; f < row->fields + nfields; f++)
		if (p->v[f->key].set) {
			mp_put_cstr(b, msg_key_name(f->key));
			put_value(b, &p->v[f->key]);
		}
	return true;
}

/* Checks the length and takes everything back after a failure. */
static bool
put_end(struct buf *b, size_t start, bool good, const struct msg_row *row,
    char reason[IPC_REASON_MAX])
{
	if (good && (b->failed || b->len - start > row->max_bytes))
		good = say(reason, row,
		    b->starved ? "no memory" : "the message is too long", "");
	if (!good)
		b->len = start;
	return good;
}

bool
ipc_encode_request(struct buf *b, uint32_t seq, const struct ipc_params *p,
    char reason[IPC_REASON_MAX])
{
	const struct msg_row *row = msg_row(p->msg);
	size_t start = b->len;

	ASSERT(row->kind == MSG_KIND_REQ);
	mp_put_array(b, 4);
	mp_put_int(b, RPC_REQUEST);
	mp_put_uint(b, seq);
	mp_put_cstr(b, row->name);
	return put_end(b, start, put_params(b, row, p, reason), row, reason);
}

bool
ipc_encode_note(
    struct buf *b, const struct ipc_params *p, char reason[IPC_REASON_MAX])
{
	const struct msg_row *row = msg_row(p->msg);
	size_t start = b->len;

	ASSERT(row->kind == MSG_KIND_NOTE);
	mp_put_array(b, 3);
	mp_put_int(b, RPC_NOTE);
	mp_put_cstr(b, row->name);
	return put_end(b, start, put_params(b, row, p, reason), row, reason);
}

bool
ipc_encode_answer(struct buf *b, uint32_t seq, const struct ipc_params *p,
    char reason[IPC_REASON_MAX])
{
	const struct msg_row *row = msg_row(p->msg);
	size_t start = b->len;

	ASSERT(row->kind == MSG_KIND_ANSWER);
	mp_put_array(b, 4);
	mp_put_int(b, RPC_RESPONSE);
	mp_put_uint(b, seq);
	mp_put_nil(b);
	return put_end(b, start, put_params(b, row, p, reason), row, reason);
}

static bool
put_response(struct buf *b, uint32_t seq, const void *error, size_t error_len,
    const void *result, size_t result_len)
{
	size_t start = b->len;

	mp_put_array(b, 4);
	mp_put_int(b, RPC_RESPONSE);
	mp_put_uint(b, seq);
	if (error != NULL)
		mp_put_bin(b, error, error_len);
	else
		mp_put_nil(b);
	if (result != NULL)
		mp_put_bin(b, result, result_len);
	else
		mp_put_nil(b);
	if (!b->failed && b->len - start <= LIMIT_FRAME_BYTES)
		return true;
	b->len = start;
	return false;
}

bool
ipc_encode_result(struct buf *b, uint32_t seq, const void *json, size_t len)
{
	ASSERT(json != NULL);
	return put_response(b, seq, NULL, 0, json, len);
}

bool
ipc_encode_error(struct buf *b, uint32_t seq, const void *json, size_t len)
{
	ASSERT(json != NULL);
	return put_response(b, seq, json, len, NULL, 0);
}
