/*
 * address: what an address is for: the one table by which egressd tells the
 * internet from everything else.
 */
#ifndef EGRESSD_ADDRESS_H
#define EGRESSD_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "model/domains.h"

#define ADDRESS_TEXT_BYTES INET6_ADDRSTRLEN

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE,
	ADDRESS_UNIQUE_LOCAL,
	ADDRESS_LINK_LOCAL,
	ADDRESS_METADATA, /* where clouds give out credentials */
	ADDRESS_UNSPECIFIED,
	ADDRESS_MULTICAST,
	ADDRESS_BROADCAST,
	ADDRESS_DOCUMENTATION,
	ADDRESS_TUNNEL,     /* ends at an IPv4 address that is inside */
	ADDRESS_TRANSLATED, /* likewise, by rules of this network alone */
	ADDRESS_RESERVED,
	ADDRESS_CLASS__MAX
};

/* 4 or 16 bytes; what is an IPv4 address in IPv6 form becomes one. */
void address_from_v4(struct domain_address *, const void *bytes);
void address_from_v6(struct domain_address *, const void *bytes);
/* The class of the address and of what it hides. */
enum address_class address_classify(const struct domain_address *);
/*
 * The IPv4 address that a translator makes of an IPv6 one; false when it is
 * none of those.
 */
bool
address_inner(const struct domain_address *, struct domain_address *ret_v4);
/* Whether runs may reach it: those of this machine's users, or of others. */
bool address_class_allowed(enum address_class, bool local);
/* For reports: "private". */
const char *address_class_name(enum address_class);
void address_format(
    const struct domain_address *, char ret_text[ADDRESS_TEXT_BYTES]);
socklen_t address_sockaddr(const struct domain_address *, uint16_t port,
    struct sockaddr_storage *ret_addr);

#endif
