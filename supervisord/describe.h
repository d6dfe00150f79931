/*
 * describe: fills the registry at start, by a confined worker without a
 * browser that tells the metadata of every template it has.
 */
#ifndef SUPERVISORD_DESCRIBE_H
#define SUPERVISORD_DESCRIBE_H

#include <stdbool.h>

struct sup;
struct describe;

/*
 * Starts it; on_done is called once, when the worker is gone: good is true
 * when at least one template is known. NULL when it could not be started.
 */
struct describe *
describe_new(struct sup *, void (*on_done)(struct sup *, bool good));
void describe_free(struct describe **);

#endif
