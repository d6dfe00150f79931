/*
 * The decoder of client and worker messages. The first three bytes choose the
 * direction, the phase and whether the peer is the admin. What is accepted can
 * be encoded again, and decodes to the same values.
 */
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "ipc/msg.h"
#include "t/fuzz/fuzz.h"

static void
check_value(const struct ipc_params *p, const struct msg_field *f)
{
	const void *bytes;
	const char *s;
	size_t len;

	if (!ipc_has(p, f->key)) {
		ASSERT(!f->required);
		return;
	}
	ASSERT(ipc_value_fits(f, &p->v[f->key]));
	switch (f->type) {
	case FIELD_STR:
		s = ipc_str(p, f->key);
		ASSERT(strlen(s) == p->v[f->key].len);
		break;
	case FIELD_BIN:
	case FIELD_JSON:
		bytes = ipc_bin(p, f->key, &len);
		ASSERT(((const char *)bytes)[len] == '\0');
		break;
	case FIELD_INT:
		ASSERT(ipc_int(p, f->key, f->min - 1) >= f->min);
		break;
	case FIELD_BOOL:
		(void)ipc_bool(p, f->key, false);
		break;
	}
}

static bool
same_value(const struct ipc_value *a, const struct ipc_value *b)
{
	if (a->set != b->set || !a->set)
		return a->set == b->set;
	if (a->type == FIELD_INT)
		return a->i == b->i;
	if (a->type == FIELD_BOOL)
		return a->b == b->b;
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void
encode(const struct ipc_msg *m, struct buf *out)
{
	bool good;

	if (m->error != NULL)
		good = ipc_encode_error(out, m->seq, m->error, m->error_len);
	else if (m->result != NULL)
		good = ipc_encode_result(out, m->seq, m->result, m->result_len);
	else if (m->form == IPC_REQUEST)
		good = ipc_encode_request(out, m->seq, &m->params, NULL);
	else if (m->form == IPC_NOTE)
		good = ipc_encode_note(out, &m->params, NULL);
	else
		good = ipc_encode_answer(out, m->seq, &m->params, NULL);
	ASSERT(good);
}

static void
check_accepted(const struct ipc_gate *gate, const struct ipc_msg *m)
{
	char reason[IPC_REASON_MAX] = "";
	struct ipc_msg again;
	const struct msg_row *row;
	struct buf b;

	buf_init(&b, LIMIT_FRAME_BYTES + 1);
	encode(m, &b);
	ASSERT(buf_reserve(&b, 1) != NULL);
	ASSERT(ipc_decode(gate, b.data, b.len, &again, reason) == IPC_OK);
	ASSERT(again.form == m->form && again.seq == m->seq);
	ASSERT(again.params.msg == m->params.msg);
	ASSERT(m->error_len == again.error_len);
	ASSERT(m->result_len == again.result_len);
	ASSERT(m->form == IPC_NOTE ? m->seq == 0 : true);
	if (m->params.msg != MSG__MAX) {
		row = msg_row(m->params.msg);
		ASSERT(row->dir == gate->dir);
		ASSERT((row->phases & (unsigned)gate->phase) != 0);
		ASSERT(gate->admin || !(row->flags & IPC_ADMIN_ONLY));
		for (size_t i = 0; i < msg_nfields(row); i++) {
			enum msg_key key = row->fields[i].key;

			check_value(&m->params, &row->fields[i]);
			ASSERT(same_value(
			    &m->params.v[key], &again.params.v[key]));
		}
	}
	buf_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char reason[IPC_REASON_MAX] = "";
	struct ipc_gate gate;
	enum ipc_verdict v;
	struct ipc_msg m;
	uint8_t *copy;

	if (size < 3)
		return 0;
	gate.dir = (enum ipc_dir)(bytes[0] % IPC_DIR__MAX);
	gate.phase = (enum ipc_phase)(1u << bytes[1] % 6);
	gate.admin = bytes[2] % 2 != 0;
	size -= 3;
	copy = malloc(size + 1);
	ASSERT(copy != NULL);
	memcpy(copy, bytes + 3, size);
	copy[size] = 0xee;
	v = ipc_decode(&gate, copy, size, &m, reason);
	ASSERT((v == IPC_OK) == (reason[0] == '\0'));
	ASSERT(memchr(reason, '\0', sizeof(reason)) != NULL);
	if (v == IPC_REFUSED)
		ASSERT(gate.dir == IPC_IN && m.form == IPC_REQUEST);
	if (v == IPC_IGNORED)
		ASSERT(gate.dir == IPC_OUT);
	if (v == IPC_OK)
		check_accepted(&gate, &m);
	free(copy);
	return 0;
}
