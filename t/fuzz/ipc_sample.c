/* Samples of the IPC messages. Only tests use them. */
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "t/fuzz/ipc_sample.h"

static void
set_field(struct ipc_params *p, const struct msg_field *f)
{
	static char filler[256];
	size_t len = (size_t)(f->min > 0 ? f->min : 1);

	memset(filler, '7', sizeof(filler));
	switch (f->type) {
	case FIELD_STR:
		ipc_set_strn(p, f->key, filler, len);
		break;
	case FIELD_BIN:
	case FIELD_JSON:
		ipc_set_bin(p, f->key, filler, len);
		break;
	case FIELD_INT:
		ipc_set_int(p, f->key, f->min);
		break;
	case FIELD_BOOL:
		ipc_set_bool(p, f->key, true);
		break;
	}
}

void
ipc_sample(const struct msg_row *row, bool all_fields, struct buf *out)
{
	struct ipc_params p;
	bool good;

	ipc_params_init(&p, row->id);
	for (size_t i = 0; i < msg_nfields(row); i++)
		if (all_fields || row->fields[i].required)
			set_field(&p, &row->fields[i]);
	if (row->kind == MSG_KIND_REQ)
		good = ipc_encode_request(out, SAMPLE_SEQ, &p, NULL);
	else if (row->kind == MSG_KIND_NOTE)
		good = ipc_encode_note(out, &p, NULL);
	else
		good = ipc_encode_answer(out, SAMPLE_SEQ, &p, NULL);
	ASSERT(good);
}

enum ipc_phase
ipc_sample_phase(const struct msg_row *row)
{
	return (enum ipc_phase)(row->phases & -row->phases);
}
