/*
 * link: egressd's end of the protocol with supervisord. Runs in egressd.
 * Supervisord may die and come again: what it has bound stays bound until the
 * launcher says that the cell is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "common/fdio.h"
#include "common/log.h"
#include "egressd/address.h"
#include "egressd/cells.h"
#include "egressd/link.h"
#include "ipc/chan.h"

struct link {
	struct egress *egress;
	struct chan *chan;
};

static void
link_send(struct link *l, const struct ipc_params *p)
{
	if (chan_note(l->chan, p) != CHAN_OK)
		log_warn("supervisord: %s cannot be sent: %s",
		    msg_row(p->msg)->name, chan_invalid_reason(l->chan));
}

static void
link_bind(struct link *l, const struct ipc_params *p)
{
	struct cells_binding b = {
		.cell_id = (uint32_t)ipc_int(p, F_CELL_ID, 0),
		.run_id = ipc_str(p, F_RUN_ID),
		.local = strcmp(ipc_str(p, F_TRUST), "local") == 0,
		.allowed = ipc_str(p, F_ALLOWED),
		.forbidden = ipc_str(p, F_FORBIDDEN),
		.kept = ipc_str(p, F_KEPT),
		.max_connections = ipc_int(p, F_MAX_CONNECTIONS, 0),
		.max_bytes = ipc_int(p, F_MAX_BYTES, 0),
	};
	char why[DOMAINS_WHY_BYTES] = "";
	struct ipc_params answer;
	bool good = cells_bind(l->egress->cells, &b, why);

	if (!good)
		log_err("%s: cell %u: not bound: %s", b.run_id,
		    (unsigned int)b.cell_id, why);
	ipc_params_init(&answer, MSG_E_BOUND);
	ipc_set_int(&answer, F_CELL_ID, b.cell_id);
	ipc_set_str(&answer, F_RUN_ID, b.run_id);
	ipc_set_bool(&answer, F_SUCCESS, good);
	if (!good)
		ipc_set_str(&answer, F_MESSAGE, why);
	link_send(l, &answer);
}

static void
link_names(struct link *l, const struct ipc_params *p)
{
	cells_name(l->egress->cells, (uint32_t)ipc_int(p, F_CELL_ID, 0),
	    ipc_str(p, F_RUN_ID), ipc_str(p, F_HOSTS));
}

static void
link_unbind(struct link *l, const struct ipc_params *p)
{
	uint32_t cell_id = (uint32_t)ipc_int(p, F_CELL_ID, 0);
	const char *run_id = ipc_str(p, F_RUN_ID);
	struct ipc_params answer;
	struct cells_sums sums;

	cells_unbind(l->egress->cells, cell_id, run_id, &sums);
	ipc_params_init(&answer, MSG_E_UNBOUND);
	ipc_set_int(&answer, F_CELL_ID, cell_id);
	ipc_set_str(&answer, F_RUN_ID, run_id);
	ipc_set_int(&answer, F_CONNECTIONS, sums.connections);
	ipc_set_int(&answer, F_BYTES_IN, sums.in);
	ipc_set_int(&answer, F_BYTES_OUT, sums.out);
	ipc_set_int(&answer, F_REFUSED, sums.refused);
	link_send(l, &answer);
}

static void
on_msg(struct chan *chan, const struct ipc_msg *m, void *ctx)
{
	struct link *l = ctx;

	if (m->params.msg == MSG_E_BIND)
		link_bind(l, &m->params);
	else if (m->params.msg == MSG_E_UNBIND)
		link_unbind(l, &m->params);
	else if (m->params.msg == MSG_E_NAMES)
		link_names(l, &m->params);
}

static void
on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct link *l = ctx;

	log_info("supervisord: %s", reason);
	link_free(&l->egress->link);
}

static const struct chan_ops link_ops = { .on_msg = on_msg,
	.on_closed = on_closed };

struct link *
link_new(struct egress *e, int fd)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		fd_close(&fd);
		return NULL;
	}
	l->egress = e;
	l->chan = chan_new(e->base, fd, IPC_TO_EGRESSD, &link_ops, l);
	if (l->chan == NULL) {
		free(l);
		return NULL;
	}
	chan_set_phase(l->chan, PEER_READY);
	return l;
}

void
link_free(struct link **link)
{
	struct link *l = *link;

	*link = NULL;
	if (l == NULL)
		return;
	chan_free(&l->chan);
	free(l);
}

void
link_report(struct link *l, uint32_t cell_id, const char *run_id,
    const char *host, uint16_t port, const struct domain_address *address,
    enum egress_outcome outcome, const char *rule)
{
	char text[ADDRESS_TEXT_BYTES];
	struct ipc_params p;

	ipc_params_init(&p, MSG_E_REPORT);
	ipc_set_int(&p, F_CELL_ID, cell_id);
	ipc_set_str(&p, F_RUN_ID, run_id);
	ipc_set_str(&p, F_HOST, host);
	ipc_set_int(&p, F_PORT, port);
	if (address != NULL) {
		address_format(address, text);
		ipc_set_str(&p, F_ADDRESS, text);
	}
	ipc_set_str(&p, F_OUTCOME, egress_outcome_name(outcome));
	if (rule[0] != '\0')
		ipc_set_str(&p, F_RULE, rule);
	link_send(l, &p);
}
