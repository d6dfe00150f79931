/*
 * template.check in supervisord: the text goes to a worker without browser, as
 * at the start, and what comes back is checked. The text itself is only passed
 * on; supervisord never executes it.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "launch/launch.h"
#include "supervisord/cells.h"
#include "supervisord/check.h"
#include "supervisord/client.h"
#include "supervisord/metacheck.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define CHECKS_MAX 2
#define FAULT_MAX  2048

struct check {
	struct sup *sup;
	struct watch *watch; /* who asked; NULL when they went away */
	struct worker *worker;
	struct buf text; /* to describe */
	struct buf doc;  /* the metadata */
	bool told;       /* the worker said what it thinks of the text */
	int64_t line;    /* of the fault, 0: none */
	char fault[FAULT_MAX + 1];
};

static void
check_free(struct check **check)
{
	struct check *c = *check;

	if (c == NULL)
		return;
	watch_free(&c->watch);
	worker_free(&c->worker);
	buf_clear(&c->text);
	buf_clear(&c->doc);
	free(c);
	*check = NULL;
}

/* The answer. */

static void
put_fault(
    struct json_writer *w, int64_t line, const char *path, const char *message)
{
	json_write_begin_object(w);
	if (line > 0)
		json_put_int64(w, "line", line);
	else
		json_put_null(w, "line");
	json_put_str(w, "path", path);
	json_put_str(w, "message", message);
	json_write_end_object(w);
}

struct faults {
	struct json_writer *w;
	bool warnings; /* which of the two are written now */
	size_t errors;
};

static void
on_fault(void *arg, bool warning, const char *path, const char *message)
{
	struct faults *f = arg;

	if (!warning && !f->warnings)
		f->errors++;
	if (warning == f->warnings)
		put_fault(f->w, 0, path, message);
}

/* Of what the worker described; the members are checked twice, in order. */
static void
write_checked(
    const struct check *c, struct json_val meta, struct json_writer *w)
{
	struct faults f = { .w = w };

	json_write_key(w, "errors");
	json_write_begin_array(w);
	metacheck(meta, c->sup->registry, on_fault, &f);
	json_write_end_array(w);
	f.warnings = true;
	json_write_key(w, "warnings");
	json_write_begin_array(w);
	metacheck(meta, c->sup->registry, on_fault, &f);
	json_write_end_array(w);
	json_put_bool(w, "ok", f.errors == 0);
	json_put_val(w, "template", meta);
}

static void
write_fault(const struct check *c, const char *message, struct json_writer *w)
{
	json_write_key(w, "errors");
	json_write_begin_array(w);
	put_fault(w, c->line, NULL, message);
	json_write_end_array(w);
	json_put_raw(w, "warnings", "[]", 2);
	json_put_bool(w, "ok", false);
	json_put_null(w, "template");
}

static void
check_answer(struct check *c)
{
	struct json_doc *doc = NULL;
	struct json_error error;
	struct json_writer w;
	struct buf b;

	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	if (c->fault[0] != '\0')
		write_fault(c, c->fault, &w);
	else if (c->doc.failed || c->doc.len == 0)
		write_fault(c,
		    c->doc.failed ? "the metadata is too long"
				  : "there is no metadata",
		    &w);
	else if (!json_parse(c->doc.data, c->doc.len, NULL, JSON_DUP_ERROR,
		     &doc, &error))
		write_fault(c, error.message, &w);
	else
		write_checked(c, json_root(doc), &w);
	json_write_end_object(&w);
	json_doc_free(&doc);
	reply_json(c->watch->client, c->watch->seq, &w, &b);
}

/* The worker. */

static void
check_on_ready(void *ctx)
{
	struct check *c = ctx;
	struct ipc_params p;
	size_t at = 0, n;

	while (at < c->text.len) {
		n = c->text.len - at;
		n = n < LIMIT_CHUNK_BYTES ? n : LIMIT_CHUNK_BYTES;
		ipc_params_init(&p, MSG_W_DESCRIBE_TEXT);
		ipc_set_bin(&p, F_DATA, c->text.data + at, n);
		ipc_set_bool(&p, F_LAST, at + n == c->text.len);
		if (!worker_send(c->worker, &p))
			return;
		at += n;
	}
}

static void
check_on_msg(void *ctx, const struct ipc_params *p)
{
	struct check *c = ctx;
	const void *data;
	size_t len;

	switch (p->msg) {
	case MSG_S_TEMPLATE_META:
		data = ipc_bin(p, F_DATA, &len);
		buf_add(&c->doc, data, len);
		break;
	case MSG_S_TEMPLATE_ERROR:
		c->line = ipc_int(p, F_LINE, 0);
		strlcpy(c->fault, ipc_str(p, F_MESSAGE), sizeof(c->fault));
		break;
	case MSG_S_DESCRIBE_DONE:
		c->told = true;
		break;
	default:
		break;
	}
}

static void
check_on_reaped(void *ctx, const struct worker_end *end)
{
	struct check *c = ctx;
	struct sup *sup = c->sup;

	if (c->watch != NULL && c->told)
		check_answer(c);
	else if (c->watch != NULL)
		reply_error(c->watch->client, c->watch->seq,
		    end->code == ERR_NONE ? ERR_WORKER_LOST : end->code, NULL,
		    end->text);
	check_free(&c);
	sup->checks--;
	tasks_pump(sup->tasks);
}

static const struct worker_ops check_worker_ops = {
	.on_ready = check_on_ready,
	.on_msg = check_on_msg,
	.on_reaped = check_on_reaped,
};

static struct check *
check_new(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct cell_want want = { .session = ulid_new(clock_stamp_ms()),
		.flags = SPAWN_DESCRIBE,
		.name = "check" };
	struct check *c = calloc(1, sizeof(*c));
	const void *text;
	size_t len;

	if (c == NULL)
		return NULL;
	c->sup = client_sup(client);
	buf_init(&c->text, LIMIT_TEMPLATE_BYTES);
	buf_init(&c->doc, TEMPLATE_META_BYTES_MAX);
	text = ipc_bin(p, F_DATA, &len);
	c->watch = watch_new(WATCH_OTHER, client, NULL, &want.session, seq);
	if (c->watch != NULL && buf_add(&c->text, text, len)) {
		c->watch->owner = &c->watch;
		c->worker = worker_start(c->sup, &want, &check_worker_ops, c);
	}
	if (c->worker == NULL)
		check_free(&c);
	return c;
}

void
check_template(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct sup *sup = client_sup(client);

	if (sup->stopping) {
		reply_error(client, seq, ERR_SHUTTING_DOWN, NULL,
		    "the service is being stopped");
	} else if (sup->checks >= CHECKS_MAX ||
	    tasks_active(sup->tasks) + sup->checks >= LAUNCH_WORKER_SLOTS) {
		reply_error(client, seq, ERR_QUEUE_FULL, NULL,
		    "other templates are being checked: try again");
	} else if (check_new(client, seq, p) == NULL) {
		reply_error(client, seq, ERR_SPAWN_FAILED, NULL,
		    "no cell could be ordered");
	} else {
		sup->checks++;
		log_info(
		    "uid %u: checks a template", (unsigned)client_uid(client));
	}
}
