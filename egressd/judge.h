/*
 * judge: whether a run may reach a host, before its name is resolved, and an
 * address, before it is connected to.
 */
#ifndef EGRESSD_JUDGE_H
#define EGRESSD_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "egressd/host.h"

#define JUDGE_RULE_BYTES 320

struct judge {
	bool local;      /* trust of the run */
	bool named;      /* the run's inputs name the host */
	bool was_public; /* the name had a public address before */
	/* Borrowed, never NULL; an empty list of what is allowed allows all. */
	const struct domain_list *service_forbidden;
	const struct domain_list *run_forbidden;
	const struct domain_list *service_allowed;
	const struct domain_list *run_allowed;
	const struct domain_list *run_kept; /* by its client, to these */
	/* Where local runs may reach private addresses; empty: nowhere. */
	const struct domain_list *service_local;
};

/* Whether web pages may use the port: browsers refuse the same ones. */
bool judge_port_safe(uint16_t port);
/*
 * False when the host is refused whatever its addresses are, with the rule that
 * says so.
 */
bool judge_host(const struct judge *, const struct host *, uint16_t port,
    char ret_rule[JUDGE_RULE_BYTES]);
/* The same for one address of a host that judge_host() let pass. */
bool judge_address(const struct judge *, const struct host *,
    const struct domain_address *, uint16_t port,
    char ret_rule[JUDGE_RULE_BYTES]);

#endif
