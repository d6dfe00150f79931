/*
 * secrethosts: the hosts that a stored secret is for, and whether a document
 * of an origin may be given it.
 *
 *   example.com   and the other patterns of model/domains.h: over https, and
 *                 over http when the host is this machine
 *   http://example.com
 *                 over http, too
 */
#ifndef MODEL_SECRETHOSTS_H
#define MODEL_SECRETHOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/domains.h"

#define SECRETHOSTS_BYTES        4096 /* of the text */
#define SECRETHOSTS_ORIGIN_BYTES 320  /* longest origin, with its NUL */

struct secret_hosts;

/*
 * Reads patterns, one a line, at least one. False with a reason as
 * domain_list_parse(). Total for any bytes.
 */
bool secret_hosts_parse(const char *text, size_t len,
    struct secret_hosts **ret_hosts, char ret_why[DOMAINS_WHY_BYTES]);
void secret_hosts_free(struct secret_hosts **);
/* origin as a browser writes it: "https://example.com:8443", "null". */
bool secret_hosts_allow(const struct secret_hosts *, const char *origin);

#endif
