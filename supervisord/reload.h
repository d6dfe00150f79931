/* reload: settings that change while supervisord runs. */
#ifndef SUPERVISORD_RELOAD_H
#define SUPERVISORD_RELOAD_H

#include "model/settings.h"

/*
 * Lowers what the process has no descriptors for: there are so many for
 * clients, now and after each reload.
 */
void reload_fit(struct settings *, int64_t client_descriptors);
/* The launcher says that a setting changed; arg is the struct sup. */
void reload_setting(void *arg, const char *name, const char *value);

#endif
