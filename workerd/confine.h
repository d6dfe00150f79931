/* confine: the worker gives up what a run does not need. */
#ifndef WORKERD_CONFINE_H
#define WORKERD_CONFINE_H

/*
 * When everything is made that the event loop works with, and before a byte is
 * read from supervisord, the browser or the secrets. Ends the process when it
 * cannot be done.
 */
void worker_confine(void);

#endif
