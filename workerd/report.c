/*
 * report: encodes the worker's messages. Runs in workerd only. It must never
 * let a text of a page or template make a message invalid: supervisord would
 * close the channel for it.
 */
#include <string.h>
#include <unistd.h>

#include "ipc/msg.h"
#include "model/limits.h"
#include "workerd/outbox.h"
#include "workerd/redact.h"
#include "workerd/report.h"

#define TEXT_MAX  2000
#define NAME_SIZE (IPC_ID_MAX + 1)

/* Bytes of the well-formed character at s, 0 when it is not one. */
static size_t
char_len(const unsigned char *s)
{
	size_t n;

	if (*s < 0x80)
		return *s >= 0x20 && *s != 0x7f ? 1 : 0;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	n = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return *s == 0xc2 && s[1] < 0xa0 ? 0 : n;
}

static void
clean_chars(char *dst, size_t size, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t out = 0;

	while (*s != '\0') {
		size_t n = char_len(s);
		size_t len = n == 0 ? 1 : n;

		if (out + len >= size)
			break;
		if (n == 0)
			dst[out] = '?';
		else
			memcpy(dst + out, s, n);
		out += len;
		s += len;
	}
	dst[out] = '\0';
}

void
report_clean(char *dst, size_t size, const char *text)
{
	const struct redact *r = redact_installed();
	size_t len = strlen(text);
	struct buf b;

	if (r == NULL || !redact_finds(r, text, len)) {
		clean_chars(dst, size, text);
		return;
	}
	buf_init(&b, 2 * len + sizeof(REDACT_SHOWN));
	if (redact_add(r, text, len, &b) && buf_add(&b, "", 1))
		clean_chars(dst, size, (const char *)b.data);
	else
		clean_chars(dst, size, REDACT_SHOWN);
	buf_clear(&b);
}

/* A name that supervisord or the template's readers go by. */
static void
clean_name(char *dst, size_t size, const char *name)
{
	const struct redact *r = redact_installed();
	struct buf b;

	if (r == NULL) {
		clean_chars(dst, size, name);
		return;
	}
	buf_init(&b, 2 * strlen(name) + sizeof(REDACT_SHOWN));
	if (redact_add_name(r, name, &b) && buf_add(&b, "", 1))
		clean_chars(dst, size, (const char *)b.data);
	else
		clean_chars(dst, size, REDACT_SHOWN);
	buf_clear(&b);
}

/* What stands for a secret is no name of an artifact. */
static void
clean_label(char *dst, size_t size, const char *label)
{
	clean_name(dst, size, label);
	for (; *dst != '\0'; dst++)
		if (*dst == '[' || *dst == ']')
			*dst = '_';
}

bool
report_hello(struct outbox *out)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	ipc_set_int(&p, F_PID, getpid());
	return outbox_send(out, &p);
}

bool
report_ready(struct outbox *out, const char *product)
{
	struct ipc_params p;
	char text[200];

	report_clean(text, sizeof(text), product);
	ipc_params_init(&p, MSG_S_READY);
	ipc_set_str(&p, F_PRODUCT, text);
	return outbox_send(out, &p);
}

bool
report_pong(struct outbox *out, int64_t n)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_PONG);
	ipc_set_int(&p, F_N, n);
	return outbox_send(out, &p);
}

bool
report_meta(struct outbox *out, const void *data, size_t len, bool last)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_TEMPLATE_META);
	ipc_set_bin(&p, F_DATA, data, len);
	ipc_set_bool(&p, F_LAST, last);
	return outbox_send(out, &p);
}

bool
report_template_error(struct outbox *out, int64_t line, const char *message)
{
	struct ipc_params p;
	char text[TEXT_MAX];

	report_clean(text, sizeof(text), message);
	ipc_params_init(&p, MSG_S_TEMPLATE_ERROR);
	if (line > 0)
		ipc_set_int(&p, F_LINE, line);
	ipc_set_str(&p, F_MESSAGE, text);
	return outbox_send(out, &p);
}

bool
report_describe_done(struct outbox *out)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_DESCRIBE_DONE);
	return outbox_send(out, &p);
}

bool
report_step_start(struct outbox *out, const char *name)
{
	struct ipc_params p;
	char text[NAME_SIZE];

	clean_name(text, sizeof(text), name);
	ipc_params_init(&p, MSG_S_STEP_START);
	ipc_set_str(&p, F_NAME, text);
	return outbox_send(out, &p);
}

bool
report_step_end(struct outbox *out, const char *name, int64_t duration_ms,
    bool ok, const char *code, const char *meta, size_t meta_len)
{
	struct ipc_params p;
	char text[NAME_SIZE], code_text[NAME_SIZE];

	clean_name(text, sizeof(text), name);
	ipc_params_init(&p, MSG_S_STEP_END);
	ipc_set_str(&p, F_NAME, text);
	ipc_set_bool(&p, F_SUCCESS, ok);
	ipc_set_int(&p, F_DURATION_MS, duration_ms < 0 ? 0 : duration_ms);
	if (code != NULL && *code != '\0') {
		clean_name(code_text, sizeof(code_text), code);
		ipc_set_str(&p, F_ERROR_CODE, code_text);
	}
	if (meta != NULL)
		ipc_set_bin(&p, F_META, meta, meta_len);
	return outbox_send(out, &p);
}

bool
report_step_retry(struct outbox *out, const char *name, const char *code)
{
	struct ipc_params p;
	char text[NAME_SIZE], code_text[NAME_SIZE];

	clean_name(text, sizeof(text), name);
	clean_name(code_text, sizeof(code_text), code);
	ipc_params_init(&p, MSG_S_STEP_RETRY);
	ipc_set_str(&p, F_NAME, text);
	ipc_set_str(&p, F_ERROR_CODE, code_text);
	return outbox_send(out, &p);
}

bool
report_effect(struct outbox *out, const char *action)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_EFFECT);
	ipc_set_str(&p, F_ACTION, action);
	return outbox_send(out, &p);
}

bool
report_phase(struct outbox *out, const char *phase)
{
	struct ipc_params p;
	char text[33];

	clean_name(text, sizeof(text), phase);
	ipc_params_init(&p, MSG_S_PHASE);
	ipc_set_str(&p, F_PHASE, text);
	return outbox_send(out, &p);
}

bool
report_progress(
    struct outbox *out, int64_t done, int64_t total, const char *message)
{
	struct ipc_params p;
	char text[TEXT_MAX];

	ipc_params_init(&p, MSG_S_PROGRESS);
	ipc_set_int(&p, F_DONE, done);
	ipc_set_int(&p, F_TOTAL, total);
	if (message != NULL) {
		report_clean(text, sizeof(text), message);
		ipc_set_str(&p, F_MESSAGE, text);
	}
	return outbox_send(out, &p);
}

bool
report_collect(struct outbox *out, const struct report_collect *c)
{
	struct ipc_params p;
	char kind[33], mime[129], name[129];

	clean_name(kind, sizeof(kind), c->kind);
	clean_label(mime, sizeof(mime), c->mime);
	clean_label(name, sizeof(name), c->name);
	ipc_params_init(&p, MSG_S_COLLECT);
	ipc_set_int(&p, F_PART, c->part);
	ipc_set_str(&p, F_KIND, kind);
	ipc_set_str(&p, F_MIME, mime);
	ipc_set_str(&p, F_NAME, name);
	ipc_set_bin(&p, F_PREFIX, c->prefix, c->prefix_len);
	ipc_set_bin(&p, F_SEPARATOR, c->separator, c->separator_len);
	ipc_set_bin(&p, F_SUFFIX, c->suffix, c->suffix_len);
	return outbox_send(out, &p);
}

bool
report_total(struct outbox *out, int total)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_TOTAL);
	ipc_set_int(&p, F_TOTAL, total);
	return outbox_send(out, &p);
}

bool
report_item_data(
    struct outbox *out, int index, int part, const void *data, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_ITEM_DATA);
	ipc_set_int(&p, F_INDEX, index);
	ipc_set_int(&p, F_PART, part);
	ipc_set_bin(&p, F_DATA, data, len);
	return outbox_send(out, &p);
}

bool
report_item_end(struct outbox *out, const struct report_item *item,
    const char *record, size_t record_len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_ITEM_END);
	ipc_set_int(&p, F_INDEX, item->index);
	ipc_set_bin(&p, F_DIGEST, item->digest, sizeof(item->digest));
	ipc_set_bool(&p, F_SUCCESS, item->ok);
	ipc_set_bin(&p, F_RECORD, record, record_len);
	ipc_set_int(&p, F_DONE, item->done);
	if (item->data != NULL) {
		ipc_set_int(&p, F_PART, item->part);
		ipc_set_bin(&p, F_DATA, item->data, item->data_len);
	}
	return outbox_send(out, &p);
}

bool
report_artifact_data(struct outbox *out, int slot, const void *data, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_ARTIFACT_DATA);
	ipc_set_int(&p, F_SLOT, slot);
	ipc_set_bin(&p, F_DATA, data, len);
	return outbox_send(out, &p);
}

bool
report_artifact_end(struct outbox *out, int slot, const char *kind,
    const char *mime, const char *name)
{
	struct ipc_params p;
	char kind_text[33], mime_text[129], name_text[129];

	clean_name(kind_text, sizeof(kind_text), kind);
	clean_label(mime_text, sizeof(mime_text), mime);
	clean_label(name_text, sizeof(name_text), name);
	ipc_params_init(&p, MSG_S_ARTIFACT_END);
	ipc_set_int(&p, F_SLOT, slot);
	ipc_set_str(&p, F_KIND, kind_text);
	ipc_set_str(&p, F_MIME, mime_text);
	ipc_set_str(&p, F_NAME, name_text);
	return outbox_send(out, &p);
}

bool
report_warning(struct outbox *out, const char *warning)
{
	struct ipc_params p;
	char text[TEXT_MAX];

	report_clean(text, sizeof(text), *warning == '\0' ? "?" : warning);
	ipc_params_init(&p, MSG_S_WARNING);
	ipc_set_str(&p, F_TEXT, text);
	return outbox_send(out, &p);
}

bool
report_secret(
    struct outbox *out, const char *name, const char *origin, bool good)
{
	struct ipc_params p;
	char text[LIMIT_ORIGIN_BYTES + 1];

	report_clean(text, sizeof(text), *origin == '\0' ? "?" : origin);
	ipc_params_init(&p, MSG_S_SECRET);
	ipc_set_str(&p, F_NAME, name);
	ipc_set_str(&p, F_ORIGIN, text);
	ipc_set_bool(&p, F_SUCCESS, good);
	return outbox_send(out, &p);
}

bool
report_result_data(struct outbox *out, const void *data, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_RESULT_DATA);
	ipc_set_bin(&p, F_DATA, data, len);
	return outbox_send(out, &p);
}

static void
set_clean(struct ipc_params *p, enum msg_key key, char *dst, size_t size,
    const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	if (key == F_MESSAGE)
		report_clean(dst, size, text);
	else
		clean_name(dst, size, text);
	ipc_set_str(p, key, dst);
}

bool
report_state_data(struct outbox *out, const void *data, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_STATE_DATA);
	ipc_set_bin(&p, F_DATA, data, len);
	return outbox_send(out, &p);
}

bool
report_state_end(struct outbox *out)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_STATE_END);
	return outbox_send(out, &p);
}

bool
report_run_end(struct outbox *out, const struct report_end *end)
{
	struct ipc_params p;
	char code[NAME_SIZE], message[TEXT_MAX];
	char step[NAME_SIZE], cause[NAME_SIZE];

	ipc_params_init(&p, MSG_S_RUN_END);
	ipc_set_bool(&p, F_SUCCESS, end->ok);
	set_clean(&p, F_ERROR_CODE, code, sizeof(code), end->code);
	set_clean(&p, F_MESSAGE, message, sizeof(message), end->message);
	set_clean(&p, F_FAILED_STEP, step, sizeof(step), end->step);
	set_clean(&p, F_CAUSE, cause, sizeof(cause), end->cause);
	return outbox_send(out, &p);
}
