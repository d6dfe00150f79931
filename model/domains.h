/*
 * domains: lists of what a run may reach or may not: host names, addresses,
 * networks, each with or without a port.
 *
 *   example.com        that host
 *   *.example.com      every host below it, not itself
 *   *                  everything
 *   192.0.2.1  [::1]   that address (IPv6 also without brackets)
 *   10.0.0.0/8  2001:db8::/32
 *                      that network
 *   HOST:PORT          each of these with a port: example.com:8443, *:443,
 *                      [::1]:80, 10.0.0.0/8:80, [2001:db8::/32]:443
 *
 * Names are ASCII (A-labels), compared without regard to case; one dot at the
 * end means nothing.
 */
#ifndef MODEL_DOMAINS_H
#define MODEL_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOMAINS_MAX       100   /* patterns of a list */
#define DOMAINS_BYTES     24576 /* of their text, with separators */
#define DOMAIN_NAME_BYTES 254   /* longest name, with its terminator */
#define DOMAINS_WHY_BYTES 256

struct domain_list;

/* 4 or 16 bytes in network order; an IPv4 address is never the mapped form. */
struct domain_address {
	bool v6;
	uint8_t b[16];
};

/*
 * Reads patterns separated by newlines; an empty text is an empty list. False
 * with ret_why (room for DOMAINS_WHY_BYTES, one line of printable ASCII, which
 * says what to write instead) when one is wrong or there are too many; then
 * *ret_list is untouched. Total for any bytes; text needs no terminator.
 */
bool domain_list_parse(const char *text, size_t len,
    struct domain_list **ret_list, char ret_why[DOMAINS_WHY_BYTES]);
void domain_list_free(struct domain_list **);
size_t domain_list_count(const struct domain_list *);
/*
 * The text of the first pattern that a name, an address (either may be NULL)
 * and a port match, as it was given; NULL when there is none. It lives as long
 * as the list.
 */
const char *domain_list_match(const struct domain_list *, const char *name,
    const struct domain_address *, uint16_t port);
/*
 * The same for a pattern that names a host or a network: * alone names none.
 */
const char *domain_list_names(const struct domain_list *, const char *name,
    const struct domain_address *, uint16_t port);
/* Whether a pattern is about addresses, so that a name may match by its own. */
bool domain_list_has_addresses(const struct domain_list *);

#endif
