/* netns: the network of a compartment: a loopback device and one listener. */
#ifndef LAUNCHER_NETNS_H
#define LAUNCHER_NETNS_H

/* Where the browser finds its one way out; the port is on its command line. */
#define NETNS_PROXY_PORT 1080

/* In the child, in the new namespace. Both return 0 or an errno value. */

/* Switches the loopback device on. */
int netns_up(void);
/*
 * A listener on 127.0.0.1 and the port above, non-blocking, close-on-exec; it
 * belongs to this namespace wherever it is sent. The caller closes it.
 */
int netns_listen(int *ret_fd);

#endif
