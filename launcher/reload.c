/*
 * reload: SIGHUP in the launcher. The file is read and checked as at the
 * start; supervisord, which must not read it, is told what changed, setting by
 * setting.
 */
#include <limits.h>
#include <string.h>

#include "common/log.h"
#include "launch/launch.h"
#include "launcher/reload.h"

_Static_assert(SETTINGS_NAME_BYTES <= LAUNCH_NAME_BYTES, "a name fits");
_Static_assert(SETTINGS_VALUE_BYTES <= LAUNCH_VALUE_BYTES, "a value fits");

static void
tell(struct supervise *s, const char *name, const char *value)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_SETTING, 0);
	strlcpy(m.u.setting.name, name, sizeof(m.u.setting.name));
	strlcpy(m.u.setting.value, value, sizeof(m.u.setting.value));
	supervise_send(s, &m, NULL);
}

static void
take_setting(const struct reload *r, const struct settings *new, size_t i)
{
	struct options *o = r->options;
	const struct setting_info *row = settings_row(i);
	const char *quote = row->type == SETTING_TEXT ? "\"" : "";
	char now[SETTINGS_VALUE_BYTES], then[SETTINGS_VALUE_BYTES];

	settings_format(&o->settings, i, then);
	settings_format(new, i, now);
	if (row->taken == SETTING_START) {
		log_warn(
		    "setting %s: stays %s%s%s until a start or restart, then"
		    " %s%s%s",
		    row->name, quote, then, quote, quote, now, quote);
		return;
	}
	settings_copy(&o->settings, new, i);
	egress_setting(r->egress, row->name, now);
	if (row->private) {
		log_info("setting %s: changed", row->name);
		return;
	}
	log_info("setting %s: %s%s%s, was %s%s%s", row->name, quote, now, quote,
	    quote, then, quote);
	tell(r->supervise, row->name, now);
}

static void
take_groups(const struct reload *r)
{
	int error = sockets_regroup(r->sockets, r->dirs, &r->options->settings);

	if (error != 0)
		log_err("settings clientGroup and adminGroup: the sockets stay"
			" as they are: %s",
		    strerror(error));
}

void
reload_settings(const struct reload *r)
{
	struct options *o = r->options;
	char why[PATH_MAX + SETTINGS_ERROR_BYTES + 16];
	struct settings new;
	bool has_file, changed = false, regroup;

	if (!options_settings(o, &new, &has_file, why, sizeof(why))) {
		log_err("%s; all settings stay as they were", why);
		return;
	}
	o->conf_needed = o->conf_needed || has_file;
	regroup =
	    !settings_equal(&o->settings, &new, SETTING_ROW_clientGroup) ||
	    !settings_equal(&o->settings, &new, SETTING_ROW_adminGroup);
	for (size_t i = 0; i < SETTINGS_COUNT; i++) {
		if (settings_equal(&o->settings, &new, i))
			continue;
		changed = true;
		take_setting(r, &new, i);
	}
	if (regroup)
		take_groups(r);
	if (!changed)
		log_info("reload: no setting changed");
	log_init("browsertaskd", o->settings.debug ? LOGL_DEBUG : LOGL_INFO);
}
