/*
 * judge: the rules, in the order in which they are asked. Runs in egressd.
 * Pure: knows no socket and resolves nothing.
 */
#include <stdio.h>
#include <string.h>

#include "egressd/address.h"
#include "egressd/judge.h"

static bool
refuse(char ret_rule[JUDGE_RULE_BYTES], const char *what, const char *pattern)
{
	snprintf(ret_rule, JUDGE_RULE_BYTES, "%s%s%s", what,
	    pattern[0] == '\0' ? "" : " ", pattern);
	return false;
}

static const char *
host_name(const struct host *h)
{
	return h->name[0] == '\0' ? NULL : h->name;
}

static const char *
match(const struct domain_list *list, const struct host *h,
    const struct domain_address *a, uint16_t port)
{
	struct domain_address inner;
	const char *found = domain_list_match(list, host_name(h), a, port);

	if (found == NULL && a != NULL && address_inner(a, &inner))
		found = domain_list_match(list, NULL, &inner, port);
	return found;
}

/* With addresses in the list, only they can tell. */
static bool
may_be_in(const struct domain_list *list, const struct host *h, uint16_t port)
{
	return domain_list_count(list) == 0 ||
	    domain_list_has_addresses(list) ||
	    domain_list_match(list, host_name(h), NULL, port) != NULL;
}

static bool
is_in(const struct domain_list *list, const struct host *h,
    const struct domain_address *a, uint16_t port)
{
	return domain_list_count(list) == 0 ||
	    domain_list_match(list, host_name(h), a, port) != NULL;
}

static bool
judge_forbidden(const struct judge *j, const struct host *h,
    const struct domain_address *a, uint16_t port,
    char ret_rule[JUDGE_RULE_BYTES])
{
	const char *found;

	found = match(j->service_forbidden, h, a, port);
	if (found != NULL)
		return refuse(ret_rule, "setting forbiddenDomains", found);
	found = match(j->run_forbidden, h, a, port);
	if (found != NULL)
		return refuse(ret_rule, "forbidden", found);
	return true;
}

bool
judge_host(const struct judge *j, const struct host *h, uint16_t port,
    char ret_rule[JUDGE_RULE_BYTES])
{
	if (h->kind == HOST_BAD)
		return refuse(ret_rule, "not a host name", "");
	if (!judge_forbidden(j, h, NULL, port, ret_rule))
		return false;
	if (!may_be_in(j->service_allowed, h, port))
		return refuse(ret_rule, "not in setting allowedDomains", "");
	if (!may_be_in(j->run_allowed, h, port))
		return refuse(ret_rule, "not in allowedDomains", "");
	return true;
}

bool
judge_address(const struct judge *j, const struct host *h,
    const struct domain_address *a, uint16_t port,
    char ret_rule[JUDGE_RULE_BYTES])
{
	enum address_class class = address_classify(a);

	if (!judge_forbidden(j, h, a, port, ret_rule))
		return false;
	if (!is_in(j->service_allowed, h, a, port))
		return refuse(ret_rule, "not in setting allowedDomains", "");
	if (!is_in(j->run_allowed, h, a, port))
		return refuse(ret_rule, "not in allowedDomains", "");
	if (!address_class_allowed(class, j->local))
		return refuse(ret_rule, "class", address_class_name(class));
	return true;
}
