/* reload: reads the settings anew while the service runs. */
#ifndef LAUNCHER_RELOAD_H
#define LAUNCHER_RELOAD_H

#include "launcher/options.h"
#include "launcher/supervise.h"

/*
 * Takes over what changed and can change, tells supervisord, and logs a line
 * for each. When there is a mistake everything stays as it was.
 */
void reload_settings(struct options *, struct supervise *);

#endif
