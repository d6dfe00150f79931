/*
 * The methods of the control protocol, in supervisord: hello, and who handles
 * the others.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <event2/event.h>

#include "ipc/chan.h"
#include "supervisord/auditcall.h"
#include "supervisord/auditlog.h"
#include "supervisord/cancel.h"
#include "supervisord/check.h"
#include "supervisord/client_int.h"
#include "supervisord/drain.h"
#include "supervisord/feed.h"
#include "supervisord/inspectcall.h"
#include "supervisord/profile.h"
#include "supervisord/query.h"
#include "supervisord/readart.h"
#include "supervisord/reply.h"
#include "supervisord/restart.h"
#include "supervisord/runlist.h"
#include "supervisord/session_call.h"
#include "supervisord/submit.h"
#include "supervisord/sup.h"

static void
refuse_share(struct client *c, uint32_t seq)
{
	char why[160];

	auditlog_tell_client_often(
	    c, AUDIT_ACCESS_REFUSE, NULL, "too many connections");
	snprintf(why, sizeof(why),
	    "uid %u has all connections a user may have at once (the setting"
	    " maxClientsPerUid): %zu with this one",
	    (unsigned)c->uid, (size_t)c->share->used[SHARE_CLIENTS] + 1);
	reply_error(c, seq, ERR_CLIENT_LIMIT, NULL, why);
	chan_finish(c->chan);
}

/* Both sockets are of this machine: local, unless the client says less. */
static bool
take_trust(struct client *c, uint32_t seq, const struct ipc_params *p)
{
	const char *trust = ipc_str(p, F_TRUST);

	if (trust == NULL || trust_level_by_name(trust, &c->trust))
		return true;
	reply_error(c, seq, ERR_INVALID_PARAMETER, NULL,
	    "trust: expected \"local\" or \"remote\"");
	chan_finish(c->chan);
	return false;
}

static void
on_hello(struct client *c, uint32_t seq, const struct ipc_params *p)
{
	int64_t proto = ipc_int(p, F_PROTO, -1);
	struct ipc_params answer;
	char why[160];

	if (c->over) {
		refuse_share(c, seq);
		return;
	}
	if (proto != IPC_PROTO_CLIENT) {
		snprintf(why, sizeof(why),
		    "this service speaks protocol version %d, the client %lld:"
		    " install matching versions",
		    IPC_PROTO_CLIENT, (long long)proto);
		reply_error(c, seq, ERR_INVALID_PARAMETER, NULL, why);
		chan_finish(c->chan);
		return;
	}
	if (!take_trust(c, seq, p))
		return;
	event_del(c->hello);
	strlcpy(c->name, ipc_str(p, F_CLIENT), sizeof(c->name));
	if (ipc_has(p, F_LABEL))
		strlcpy(c->label, ipc_str(p, F_LABEL), sizeof(c->label));
	ipc_params_init(&answer, MSG_HELLO_ANSWER);
	ipc_set_int(&answer, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&answer, F_VERSION, PACKAGE_VERSION);
	ipc_set_str(&answer, F_TRUST, trust_level_name(c->trust));
	ipc_set_bool(&answer, F_ADMIN, client_is_admin(c));
	chan_set_admin(c->chan, client_is_admin(c));
	chan_set_phase(c->chan, PEER_READY);
	if (chan_answer(c->chan, seq, &answer) != CHAN_OK)
		client_drop(c, "hello could not be answered");
}

typedef void
method_fn(struct client *, uint32_t seq, const struct ipc_params *);

static method_fn *const methods[MSG__MAX] = {
	[MSG_HELLO] = on_hello,
	[MSG_TEMPLATE_LIST] = query_templates,
	[MSG_RUN_SUBMIT] = submit_run,
	[MSG_RUN_GET] = query_run,
	[MSG_RUN_LIST] = runlist_call,
	[MSG_RUN_CANCEL] = cancel_run,
	[MSG_RUN_EVENTS] = feed_poll,
	[MSG_RUN_FOLLOW] = feed_follow,
	[MSG_RUN_UNFOLLOW] = feed_unfollow,
	[MSG_ARTIFACT_GET] = readart_get,
	[MSG_ARTIFACT_LIST] = readart_list,
	[MSG_SESSION_LIST] = session_call_list,
	[MSG_SESSION_CLOSE] = session_call_close,
	[MSG_SESSION_SHARE] = session_call_share,
	[MSG_PROFILE_GET] = profile_get,
	[MSG_TEMPLATE_CHECK] = check_template,
	[MSG_SERVICE_DRAIN] = drain_start,
	[MSG_SERVICE_RESUME] = drain_end,
	[MSG_SERVICE_RESTART] = restart_call,
	[MSG_AUDIT_LIST] = auditcall_list,
	[MSG_AUDIT_VERIFY] = auditcall_verify,
	[MSG_STORE_CHECK] = inspectcall_check,
	[MSG_STORE_BACKUP] = inspectcall_backup,
};

/* Those that may be answered later. */
static const bool method_waits[MSG__MAX] = {
	[MSG_RUN_SUBMIT] = true,
	[MSG_RUN_CANCEL] = true,
	[MSG_RUN_EVENTS] = true,
	[MSG_RUN_FOLLOW] = true,
	[MSG_RUN_LIST] = true,
	[MSG_ARTIFACT_GET] = true,
	[MSG_SESSION_CLOSE] = true,
	[MSG_SESSION_SHARE] = true,
	[MSG_TEMPLATE_CHECK] = true,
	[MSG_AUDIT_VERIFY] = true,
	[MSG_STORE_CHECK] = true,
	[MSG_STORE_BACKUP] = true,
};

static bool
method_within_share(
    const struct client *c, enum msg_id msg, char why[SHARE_TEXT_BYTES])
{
	const struct settings *set = &client_sup(c)->settings;
	bool audited = msg == MSG_RUN_SUBMIT || msg == MSG_ARTIFACT_GET;

	if (method_waits[msg] && !client_may_wait(c, why))
		return false;
	if (!audited || share_has_room(c->share, set, SHARE_AUDIT_ROWS, 1))
		return true;
	share_refusal(c->share, set, SHARE_AUDIT_ROWS, 1, why);
	return false;
}

void
methods_call(struct client *c, const struct ipc_msg *msg)
{
	method_fn *fn = methods[msg->params.msg];
	char why[SHARE_TEXT_BYTES];

	if (fn == NULL)
		reply_error(c, msg->seq, ERR_UNKNOWN_METHOD, NULL,
		    "there is no such method");
	else if (method_within_share(c, msg->params.msg, why))
		fn(c, msg->seq, &msg->params);
	else
		reply_error(c, msg->seq, ERR_USER_LIMIT, NULL, why);
}

/* What is wrong with a request that was not handed on. */
static enum err_code
refusal_code(const struct client *c, enum msg_id msg)
{
	if (msg == MSG__MAX)
		return ERR_UNKNOWN_METHOD;
	return !client_is_admin(c) &&
		(msg_row(msg)->flags & IPC_ADMIN_ONLY) != 0
	    ? ERR_NOT_PERMITTED
	    : ERR_INVALID_PARAMETER;
}

void
methods_refuse(struct client *c, const struct ipc_msg *msg, const char *reason)
{
	enum err_code code = refusal_code(c, msg->params.msg);
	struct ulid id;
	bool named = code != ERR_UNKNOWN_METHOD &&
	    msg->params.v[F_RUN_ID].set &&
	    id_parse("run_", ipc_str(&msg->params, F_RUN_ID), &id);

	if (code == ERR_NOT_PERMITTED)
		auditlog_tell_client_often(c, AUDIT_ACCESS_REFUSE, NULL, "%s",
		    msg_row(msg->params.msg)->name);
	reply_error(c, msg->seq, code, named ? &id : NULL, reason);
}
