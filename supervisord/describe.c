/*
 * The describe run of supervisord's start.
 */
#include <stdlib.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "launch/launch.h"
#include "supervisord/cells.h"
#include "supervisord/describe.h"
#include "supervisord/registry.h"
#include "supervisord/sup.h"

struct describe {
	struct sup *sup;
	struct worker *worker;
	struct buf doc;
	bool complete;
	void (*on_done)(struct sup *, bool good);
};

static void
describe_on_ready(void *ctx)
{
	struct describe *d = ctx;
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_DESCRIBE);
	worker_send(d->worker, &p);
}

static void
describe_on_meta(struct describe *d, const struct ipc_params *p)
{
	char why[320];
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	buf_add(&d->doc, data, len);
	if (!ipc_bool(p, F_LAST, false))
		return;
	if (d->doc.failed)
		log_err("template: metadata is too long");
	else if (!registry_add(d->sup->registry, d->doc.data, d->doc.len, why,
		     sizeof(why)))
		log_err("template: metadata refused: %s", why);
	buf_clear(&d->doc);
}

static void
describe_on_msg(void *ctx, const struct ipc_params *p)
{
	struct describe *d = ctx;

	if (p->msg == MSG_S_TEMPLATE_META)
		describe_on_meta(d, p);
	else if (p->msg == MSG_S_DESCRIBE_DONE)
		d->complete = true;
}

static void
describe_on_reaped(void *ctx, const struct worker_end *end)
{
	struct describe *d = ctx;
	size_t count = registry_count(d->sup->registry);

	if (!d->complete)
		log_err("templates could not be described: %s", end->text);
	else if (count == 0)
		log_err("no template is usable");
	worker_free(&d->worker);
	d->on_done(d->sup, d->complete && count > 0);
}

static const struct worker_ops describe_ops = {
	.on_ready = describe_on_ready,
	.on_msg = describe_on_msg,
	.on_reaped = describe_on_reaped,
};

struct describe *
describe_new(struct sup *sup, void (*on_done)(struct sup *, bool good))
{
	struct cell_want want = { .flags = SPAWN_DESCRIBE, .name = "describe" };
	struct describe *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->sup = sup;
	d->on_done = on_done;
	buf_init(&d->doc, TEMPLATE_META_BYTES_MAX);
	want.session = ulid_new(clock_stamp_ms());
	d->worker = worker_start(sup, &want, &describe_ops, d);
	if (d->worker == NULL)
		describe_free(&d);
	return d;
}

void
describe_free(struct describe **describe)
{
	struct describe *d = *describe;

	if (d == NULL)
		return;
	worker_free(&d->worker);
	buf_clear(&d->doc);
	free(d);
	*describe = NULL;
}
