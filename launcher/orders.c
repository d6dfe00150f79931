/*
 * orders: what supervisord asks of the launcher, part by part. Runs in the
 * launcher. The messages were checked; nothing in here reads what they pass on.
 */
#include <errno.h>
#include <fcntl.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "launcher/instance.h"
#include "launcher/notify.h"
#include "launcher/stored.h"

/* Secrets that were lost are an end of file: the worker finds none. */
static int
instance_give(struct instance *in, const struct launch_msg *m)
{
	struct launch_msg missing;
	int fd;

	launch_msg_init(&missing, LAUNCH_SECRET_MISSING, m->cell_id);
	fd = secrets_take(in->secrets, &m->u.secret.run, &missing.u.missing);
	if (missing.u.missing.name[0] != '\0') {
		supervise_send(in->supervise, &missing, NULL);
		return 0;
	}
	if (fd == -1)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cells_feed(in->cells, m->cell_id, fd);
	fd_close(&fd);
	return 0;
}

static int
instance_add_stored(struct instance *in, const struct launch_secret_ref *ref)
{
	struct stored stored;
	int error;

	error = stored_open(&in->options, ref->uid, ref->name, &stored);
	secrets_add(in->secrets, ref, &stored, error);
	stored_close(&stored);
	return 0;
}

void
instance_inspected(void *arg, int status)
{
	struct instance *in = arg;
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_INSPECTED, 0);
	m.u.exited.status = status;
	supervise_send(in->supervise, &m, NULL);
}

/* A connection that was lost on its way has ended: there is nobody to ask. */
static void
instance_inspect(struct instance *in, enum launch_inspection what, int fd)
{
	if (fd == -1)
		instance_inspected(in, 0);
	else
		inspect_start(in->inspect, what, fd);
	fd_close(&fd);
}

int
instance_order(void *arg, const struct launch_msg *m, int fd)
{
	struct instance *in = arg;

	if (m->type == LAUNCH_SECRET)
		return secrets_keep(in->secrets, &m->u.secret.run, fd);
	if (m->type == LAUNCH_SECRET_REF)
		return instance_add_stored(in, &m->u.ref);
	if (m->type == LAUNCH_SECRET_GIVE)
		return instance_give(in, m);
	if (m->type == LAUNCH_SECRET_DROP) {
		secrets_drop(in->secrets, &m->u.secret.run);
		return 0;
	}
	if (m->type == LAUNCH_INSPECT) {
		instance_inspect(
		    in, (enum launch_inspection)m->u.inspect.what, fd);
		return 0;
	}
	if (m->type == LAUNCH_PONG) {
		supervise_answered(in->supervise);
		record_take(&in->dirs.record, &m->u.told);
		return 0;
	}
	if (m->type == LAUNCH_RESTART) {
		supervise_leaves(in->supervise);
		return 0;
	}
	if (m->type == LAUNCH_UNNEEDED) {
		instance_stop(in, EXIT_STOPPED);
		return 0;
	}
	if (m->type != LAUNCH_SERVING)
		return cells_obey(in->cells, m);
	in->serving = true;
	CRASH_POINT(serving_heard);
	notify_systemd("READY=1");
	notify_ready_fd(&in->options.ready_fd);
	return 0;
}
