/*
 * dial: finds the service's socket and connects to it, for the blocking client
 * and for programs with a loop of their own.
 */
#ifndef CLIENT_DIAL_H
#define CLIENT_DIAL_H

#include "client/client.h"

/*
 * Connects to path, or to the first place that answers when it is NULL, and
 * writes its path to ret_path. A service that is there but does not accept is
 * waited for, at most wait_ms (1 and up). Returns the socket, close-on-exec and
 * blocking, which the caller owns, or -1 with errno: that of the last place
 * that was tried, ETIMEDOUT when a service is there and did not accept. reason
 * then tells what was tried.
 *
 * A socket in the user's own places must belong to the user or root: anybody
 * can make a directory in /tmp.
 */
int client_dial(const char *path, int wait_ms, char ret_path[CLIENT_PATH_MAX],
    char reason[CLIENT_REASON_MAX]);

#endif
