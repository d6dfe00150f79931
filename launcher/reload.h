/* reload: reads the settings anew while the service runs. */
#ifndef LAUNCHER_RELOAD_H
#define LAUNCHER_RELOAD_H

#include "launcher/dirs.h"
#include "launcher/options.h"
#include "launcher/sockets.h"
#include "launcher/egress.h"
#include "launcher/supervise.h"

/* What changes, or is told of changes; borrowed. */
struct reload {
	struct options *options;
	const struct dirs *dirs;
	const struct sockets *sockets;
	struct supervise *supervise;
	struct egress *egress;
};

/*
 * Takes over what changed and can change, tells supervisord, and logs a line
 * for each. When there is a mistake everything stays as it was.
 */
void reload_settings(const struct reload *);

#endif
