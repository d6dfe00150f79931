/*
 * The secrets of a run on their way to its worker. supervisord knows names
 * only: the launcher holds what callers sent and opens what is stored.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisord/auditlog.h"
#include "supervisord/link.h"
#include "supervisord/secrets.h"
#include "supervisord/sup.h"
#include "supervisord/worker_int.h"

void
worker_tell_secrets(struct sup *sup, const struct run_record *rec)
{
	const char *name;
	struct buf names;

	buf_init(&names, LIMIT_INPUT_BYTES);
	(void)secrets_names(sup, rec, &names);
	for (size_t at = 0; at < names.len; at += strlen(name) + 1) {
		name = (const char *)names.data + at;
		auditlog_tell(sup, (int64_t)rec->uid, AUDIT_SECRET_USE,
		    &rec->id, "%s", name);
	}
	buf_clear(&names);
}

void
worker_give_secrets(
    struct worker *w, const struct run_record *rec, const struct buf *names)
{
	const char *name;

	/* Without names there are no bytes to point into. */
	for (size_t at = 0; at < names->len; at += strlen(name) + 1) {
		name = (const char *)names->data + at;
		link_secret_ref(w->sup->link, &rec->id, rec->uid, name);
	}
	link_secret_give(w->sup->link, w->cell_id, &rec->id);
}

static const char *
why_missing(int error)
{
	switch (error) {
	case ENOENT:
		return "there is none of that name for this user";
	case ENOKEY:
		return "it has no hosts: browsertaskctl secret hosts NAME "
		       "--for-host HOST";
	case EPERM:
		return "its file is not safe: only its owner may read and "
		       "write it";
	case EFBIG:
		return "it is too long";
	case EINVAL:
		return "it is empty, or no file";
	default:
		return strerror(error);
	}
}

void
worker_on_secret_missing(void *ctx, const struct launch_missing *m)
{
	struct cell *c = ctx;
	struct worker *w = c->worker;
	char text[sizeof(w->end.text)];

	if (w == NULL)
		return;
	snprintf(text, sizeof(text), "the stored secret \"%.32s\": %s", m->name,
	    why_missing(m->error));
	log_warn("%s: %s", w->name, text);
	worker_kill(w, ERR_SECRET_MISSING, text);
}
