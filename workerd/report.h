/*
 * report: what the worker tells supervisord, one function per message. Texts
 * that come from templates and pages are cut to the protocol's sizes and made
 * valid UTF-8 here. Functions return false when the message could not be
 * queued, that is, when supervisord does not read any more.
 */
#ifndef WORKERD_REPORT_H
#define WORKERD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outbox;

#define REPORT_DIGEST_BYTES 8

struct report_collect {
	int part;
	const char *kind, *mime, *name;
	const char *prefix, *separator, *suffix;
	size_t prefix_len, separator_len, suffix_len;
};

struct report_item {
	int index; /* from 0 */
	uint8_t digest[REPORT_DIGEST_BYTES];
	bool ok;
	int done;
	int part;         /* of data */
	const char *data; /* the last bytes of the item, NULL: none */
	size_t data_len;
};

struct report_end {
	bool ok;
	const char *code, *message, *step, *cause; /* NULL: left out */
};

bool report_hello(struct outbox *);
bool report_ready(struct outbox *, const char *product);
bool report_pong(struct outbox *, int64_t n);
bool report_meta(struct outbox *, const void *, size_t len, bool last);
/* line 0: of no line in particular. */
bool report_template_error(struct outbox *, int64_t line, const char *message);
bool report_describe_done(struct outbox *);
bool report_step_start(struct outbox *, const char *name);
/* code and meta (a JSON text) may be NULL. */
bool report_step_end(struct outbox *, const char *name, int64_t duration_ms,
    bool ok, const char *code, const char *meta, size_t meta_len);
bool report_step_retry(struct outbox *, const char *name, const char *code);
bool report_effect(struct outbox *, const char *action);
bool report_phase(struct outbox *, const char *phase);
bool report_progress(
    struct outbox *, int64_t done, int64_t total, const char *message);
bool report_collect(struct outbox *, const struct report_collect *);
bool report_total(struct outbox *, int total);
bool report_item_data(
    struct outbox *, int index, int part, const void *, size_t len);
bool report_item_end(struct outbox *, const struct report_item *,
    const char *record, size_t record_len);
bool report_artifact_data(struct outbox *, int slot, const void *, size_t len);
bool report_artifact_end(struct outbox *, int slot, const char *kind,
    const char *mime, const char *name);
bool report_warning(struct outbox *, const char *text);
/* A stored secret is filled in at an origin, or was refused there. */
bool
report_secret(struct outbox *, const char *name, const char *origin, bool good);
bool report_result_data(struct outbox *, const void *, size_t len);
bool report_state_data(struct outbox *, const void *, size_t len);
bool report_state_end(struct outbox *);
bool report_run_end(struct outbox *, const struct report_end *);

/*
 * Copies text as valid UTF-8 without control characters, '?' for what is not,
 * cut at a character to fit size with its NUL. Secrets are taken out of it.
 */
void report_clean(char *dst, size_t size, const char *text);

#endif
