/*
 * limits: what a run may use, as the launcher is told, and what is said of one
 * that wanted more.
 */
#ifndef SUPERVISORD_LIMITS_H
#define SUPERVISORD_LIMITS_H

#include <stddef.h>

#include "launch/launch.h"
#include "model/errors.h"
#include "model/settings.h"

/* What a cell that is made now may use. */
void
limits_of_settings(const struct settings *, struct launch_limits *ret_limits);
/* How a run ends that wanted more, and why, as text for people. */
enum err_code
limits_breach(const struct launch_breach *, char *ret_text, size_t size);

/* For link_ops: ctx is a struct cell. */
void limits_on_breach(void *ctx, const struct launch_breach *);
void limits_on_usage(void *ctx, const struct launch_usage *);

#endif
