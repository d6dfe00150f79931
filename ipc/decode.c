/*
 * Bytes to messages: the one decoder for clients' and workers' messages. Total:
 * whatever bytes come, the answer is a verdict and a reason; no memory is
 * taken. Runs in every process that receives messages; must never trust a
 * length, a count or a type.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ipc/mp.h"
#include "ipc/msg.h"
#include "ipc/scan.h"

#define PAIRS_MAX 64 /* keys of one params map, unknown ones included */

struct name {
	const char *text;
	size_t len;
};

struct decoder {
	const struct ipc_gate *gate;
	struct mp_reader r;
	struct ipc_msg *msg;
	struct name unknown[PAIRS_MAX]; /* keys, to refuse doubles */
	size_t nunknown;
	char *reason;
};

static enum ipc_verdict __attribute__((format(printf, 3, 4)))
verdict(struct decoder *d, enum ipc_verdict v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->reason, IPC_REASON_MAX, fmt, ap);
	va_end(ap);
	return v;
}

/* A peer's name, fit for a line of text. */
static const char *
printable(struct name name, char room[41])
{
	size_t n = name.len < 40 ? name.len : 40;

	for (size_t i = 0; i < n; i++)
		room[i] = name.text[i] > ' ' && name.text[i] < 0x7f
		    ? name.text[i]
		    : '?';
	room[n] = '\0';
	return room;
}

/* Well-formed but wrong: a client is told, a worker is closed. */
static enum ipc_verdict
wrong(const struct decoder *d)
{
	return d->msg->form == IPC_REQUEST ? IPC_REFUSED : IPC_BROKEN;
}

static bool
tolerant(const struct decoder *d)
{
	return d->gate->dir == IPC_IN || d->gate->dir == IPC_OUT;
}

static bool
get_value(struct mp_reader *r, const struct msg_field *f, struct ipc_value *v)
{
	static const enum mp_type wants[] = {
		[FIELD_STR] = MP_STR,
		[FIELD_BIN] = MP_BIN,
		[FIELD_JSON] = MP_BIN,
		[FIELD_INT] = MP_INT,
		[FIELD_BOOL] = MP_BOOL,
	};
	const char *text;

	/* Another type is skipped, so that the rest can be read. */
	if (mp_peek(r) != wants[f->type]) {
		mp_skip(r);
		return false;
	}
	v->set = true;
	v->type = f->type;
	switch (f->type) {
	case FIELD_STR:
		mp_get_str(r, &text, &v->len);
		v->bytes = text;
		break;
	case FIELD_BIN:
	case FIELD_JSON:
		mp_get_bin(r, &v->bytes, &v->len);
		break;
	case FIELD_INT:
		mp_get_int(r, &v->i);
		break;
	case FIELD_BOOL:
		mp_get_bool(r, &v->b);
		break;
	}
	return true;
}

/* Says what would have been right, so that a person can mend it. */
static enum ipc_verdict
decode_misfit(struct decoder *d, const struct msg_row *row,
    const struct msg_field *f, const struct ipc_value *v)
{
	const char *name = msg_key_name(f->key);

	if (f->type == FIELD_INT)
		return verdict(d, wrong(d),
		    "%s: field %s is %" PRId64 ", but must be from %" PRId64
		    " to %" PRId64,
		    row->name, name, v->i, f->min, f->max);
	if (v->len >= (uint64_t)f->min && v->len <= (uint64_t)f->max)
		return verdict(
		    d, wrong(d), "%s: field %s has a NUL", row->name, name);
	return verdict(d, wrong(d),
	    "%s: field %s has %zu bytes, but must have from %" PRId64
	    " to %" PRId64,
	    row->name, name, v->len, f->min, f->max);
}

static enum ipc_verdict
decode_unknown(struct decoder *d, struct name key)
{
	char room[41];

	if (!tolerant(d))
		return verdict(d, IPC_BROKEN, "%s: unknown field %s",
		    msg_row(d->msg->params.msg)->name, printable(key, room));
	for (size_t i = 0; i < d->nunknown; i++)
		if (d->unknown[i].len == key.len &&
		    memcmp(d->unknown[i].text, key.text, key.len) == 0)
			return verdict(d, IPC_BROKEN, "field %s comes twice",
			    printable(key, room));
	d->unknown[d->nunknown++] = key;
	mp_skip(&d->r);
	return IPC_OK;
}

static enum ipc_verdict
decode_field(struct decoder *d, const struct msg_row *row)
{
	const struct msg_field *f, *end = row->fields + msg_nfields(row);
	struct ipc_value *v;
	struct name key;

	if (!mp_get_str(&d->r, &key.text, &key.len))
		return verdict(
		    d, IPC_BROKEN, "%s: a key is no text", row->name);
	for (f = row->fields; f < end; f++)
		if (strlen(msg_key_name(f->key)) == key.len &&
		    memcmp(msg_key_name(f->key), key.text, key.len) == 0)
			break;
	if (f == end)
		return decode_unknown(d, key);
	v = &d->msg->params.v[f->key];
	if (v->set)
		return verdict(d, IPC_BROKEN, "field %s comes twice",
		    msg_key_name(f->key));
	if (!get_value(&d->r, f, v))
		return verdict(d, wrong(d), "%s: field %s must be %s",
		    row->name, msg_key_name(f->key), msg_type_name(f->type));
	return ipc_value_fits(f, v) ? IPC_OK : decode_misfit(d, row, f, v);
}

static enum ipc_verdict
decode_params(struct decoder *d, const struct msg_row *row)
{
	const struct msg_field *f;
	enum ipc_verdict worst = IPC_OK, v;
	char first[IPC_REASON_MAX] = "";
	uint32_t n;

	if (mp_peek(&d->r) != MP_MAP || !mp_get_map(&d->r, &n))
		return verdict(d, wrong(d), "%s: params are no map", row->name);
	if (n > PAIRS_MAX)
		return verdict(d, wrong(d), "%s: too many fields", row->name);
	while (n-- > 0) {
		v = decode_field(d, row);
		if (v == IPC_BROKEN)
			return v;
		if (v != IPC_OK && worst == IPC_OK) {
			worst = v;
			memcpy(first, d->reason, sizeof(first));
		}
	}
	if (worst != IPC_OK)
		return verdict(d, worst, "%s", first);
	for (f = row->fields; f->msg == row->id; f++)
		if (f->required && !d->msg->params.v[f->key].set)
			return verdict(d, wrong(d), "%s: field %s is missing",
			    row->name, msg_key_name(f->key));
	return IPC_OK;
}

/* The permit table: what is not named for this phase is denied. */
static enum ipc_verdict
decode_permitted(struct decoder *d, const struct msg_row *row)
{
	d->msg->params.msg = row->id;
	if ((row->phases & d->gate->phase) == 0)
		return verdict(
		    d, IPC_BROKEN, "%s is not permitted now", row->name);
	if ((row->flags & IPC_ADMIN_ONLY) != 0 && !d->gate->admin)
		return verdict(d, wrong(d),
		    "%s is for administrators, on admin.sock", row->name);
	return decode_params(d, row);
}

static enum ipc_verdict
decode_method(struct decoder *d, enum msg_kind kind)
{
	const struct msg_row *row;
	struct name name;
	char room[41];

	if (!mp_get_str(&d->r, &name.text, &name.len))
		return verdict(d, IPC_BROKEN, "the method is no text");
	row = msg_find(d->gate->dir, kind, name.text, name.len);
	if (row != NULL)
		return decode_permitted(d, row);
	printable(name, room);
	if (d->gate->phase == PEER_HELLO)
		return verdict(d, IPC_BROKEN, "%s came before hello", room);
	if (d->gate->dir == IPC_OUT)
		return verdict(d, IPC_IGNORED, "unknown message %s", room);
	return verdict(d, wrong(d), "unknown method %s", room);
}

static enum ipc_verdict
decode_seq(struct decoder *d)
{
	int64_t seq;

	if (!mp_get_int(&d->r, &seq) || seq < 0 || seq > UINT32_MAX)
		return verdict(d, IPC_BROKEN, "the request number is wrong");
	d->msg->seq = (uint32_t)seq;
	return IPC_OK;
}

static bool
get_document(struct mp_reader *r, const char **ret_json, size_t *ret_len)
{
	const void *bytes;

	if (!mp_get_bin(r, &bytes, ret_len))
		return false;
	*ret_json = bytes;
	return true;
}

static enum ipc_verdict
decode_response(struct decoder *d)
{
	struct ipc_msg *m = d->msg;
	enum mp_type error, result;

	error = mp_peek(&d->r);
	if (error == MP_NIL)
		mp_get_nil(&d->r);
	else if (!get_document(&d->r, &m->error, &m->error_len))
		return verdict(d, IPC_BROKEN, "the error is no document");
	result = mp_peek(&d->r);
	if ((error == MP_NIL) == (result == MP_NIL))
		return verdict(d, IPC_BROKEN, "neither error nor result");
	if (result == MP_MAP)
		return decode_permitted(d, msg_row(MSG_HELLO_ANSWER));
	if (result == MP_NIL)
		mp_get_nil(&d->r);
	else if (!get_document(&d->r, &m->result, &m->result_len))
		return verdict(d, IPC_BROKEN, "the result is no document");
	return IPC_OK;
}

static enum ipc_verdict
decode_form(struct decoder *d)
{
	bool in = d->gate->dir == IPC_IN, out = d->gate->dir == IPC_OUT;
	int64_t form;
	uint32_t n;

	if (!mp_get_array(&d->r, &n) || n < 3 || !mp_get_int(&d->r, &form))
		return verdict(d, IPC_BROKEN, "no message");
	d->msg->form = (enum ipc_form)form;
	if (form == IPC_REQUEST && n == 4 && in)
		return decode_seq(d) == IPC_OK ? decode_method(d, MSG_KIND_REQ)
					       : IPC_BROKEN;
	if (form == IPC_RESPONSE && n == 4 && out)
		return decode_seq(d) == IPC_OK ? decode_response(d)
					       : IPC_BROKEN;
	if (form == IPC_NOTE && n == 3 && !in)
		return decode_method(d, MSG_KIND_NOTE);
	return verdict(d, IPC_BROKEN, "no message for this direction");
}

/*
 * Ends texts and documents with a NUL. The byte behind each is the header of
 * what follows, which has been read by now, or the spare byte at the end.
 */
static void
terminate(struct ipc_msg *m, uint8_t *bytes)
{
	const struct msg_field *f;
	const uint8_t *base = bytes;

	if (m->error != NULL)
		bytes[(const uint8_t *)m->error - base + m->error_len] = '\0';
	if (m->result != NULL)
		bytes[(const uint8_t *)m->result - base + m->result_len] = '\0';
	if (m->params.msg == MSG__MAX)
		return;
	for (f = msg_row(m->params.msg)->fields; f->msg == m->params.msg; f++) {
		const struct ipc_value *v = &m->params.v[f->key];

		if (v->set && v->type <= FIELD_JSON)
			bytes[(const uint8_t *)v->bytes - base + v->len] = '\0';
	}
}

bool
ipc_peek_seq(const uint8_t *bytes, size_t len, uint32_t *ret_seq)
{
	struct mp_reader r;
	uint32_t n;
	uint64_t form, seq;

	mp_reader_init(&r, bytes, len);
	if (!mp_get_array(&r, &n) || n != 4 || !mp_get_uint(&r, &form) ||
	    form != IPC_REQUEST || !mp_get_uint(&r, &seq) || seq > UINT32_MAX)
		return false;
	*ret_seq = (uint32_t)seq;
	return true;
}

enum ipc_verdict
ipc_decode(const struct ipc_gate *gate, uint8_t *bytes, size_t len,
    struct ipc_msg *ret_msg, char reason[IPC_REASON_MAX])
{
	enum scan_result scan = ipc_scan(bytes, len, IPC_DEPTH_MAX);
	struct ipc_msg msg = { .params.msg = MSG__MAX };
	struct decoder d = { .gate = gate, .msg = &msg, .reason = reason };
	enum ipc_verdict v;

	if (scan != SCAN_OK)
		return verdict(
		    &d, IPC_BROKEN, "the message %s", ipc_scan_text(scan));
	mp_reader_init(&d.r, bytes, len);
	v = decode_form(&d);
	if (msg.params.msg != MSG__MAX && v != IPC_BROKEN &&
	    len > msg_row(msg.params.msg)->max_bytes)
		v = verdict(&d, wrong(&d), "%s: the message is too long",
		    msg_row(msg.params.msg)->name);
	if (v == IPC_BROKEN)
		return v;
	terminate(&msg, bytes);
	*ret_msg = msg;
	return v;
}
