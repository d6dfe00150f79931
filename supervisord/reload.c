/*
 * Settings that change while supervisord runs, told by the launcher. Most are
 * looked up whenever they are needed; what has taken them over is told here.
 */
#include "common/log.h"
#include "storage/audit.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/idle.h"
#include "supervisord/reload.h"
#include "supervisord/session.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/sweep.h"
#include "supervisord/task.h"

static int64_t client_room;

void
reload_fit(struct settings *s, int64_t client_descriptors)
{
	client_room = client_descriptors;
	if (s->maxClients <= client_room)
		return;
	log_warn("setting maxClients: %lld: no more descriptors are allowed",
	    (long long)client_room);
	s->maxClients = client_room;
}

void
reload_setting(void *arg, const char *name, const char *value)
{
	struct sup *sup = arg;
	char why[SETTINGS_ERROR_BYTES];

	if (!settings_set(&sup->settings, name, value, why, sizeof(why))) {
		log_err("launcher: %s", why);
		return;
	}
	reload_fit(&sup->settings, client_room);
	log_init("supervisord", sup->settings.debug ? LOGL_DEBUG : LOGL_INFO);
	clients_reload(sup->clients);
	idle_look(sup->idle);
	sessions_reload(sup);
	/* More runs may be active. */
	tasks_pump(sup->tasks);
	/* Artifacts may hold less. */
	sweep_arm(sup->sweep);
	spares_pump(sup);
	auditlog_tell(sup, AUDIT_SERVICE, AUDIT_SETTINGS_RELOAD, NULL,
	    "%s = %s", name, value);
	auditlog_reload(sup);
	log_debug("setting %s: %s taken over", name, value);
}
