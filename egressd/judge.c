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

/*
 * Ports whose services understand a request of a browser in their own way: the
 * list of the Fetch standard, "bad port".
 */
static const uint16_t unsafe_ports[] = { 0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21,
	22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
	110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389,
	427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556,
	563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659,
	4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
	6697, 10080 };

bool
judge_port_safe(uint16_t port)
{
	for (size_t i = 0; i < sizeof(unsafe_ports) / sizeof(unsafe_ports[0]);
	     i++)
		if (unsafe_ports[i] == port)
			return false;
	return true;
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
	if (!judge_port_safe(port))
		return refuse(ret_rule, "a port that is not for web pages", "");
	if (!judge_forbidden(j, h, NULL, port, ret_rule))
		return false;
	if (!may_be_in(j->service_allowed, h, port))
		return refuse(ret_rule, "not in setting allowedDomains", "");
	if (!may_be_in(j->run_allowed, h, port))
		return refuse(ret_rule, "not in allowedDomains", "");
	if (!may_be_in(j->run_kept, h, port))
		return refuse(ret_rule, "not in the client's hosts", "");
	return true;
}

static bool
is_named(const struct judge *j, const struct host *h,
    const struct domain_address *a, uint16_t port)
{
	const struct domain_list *lists[] = { j->run_allowed, j->run_kept,
		j->service_allowed, j->service_local };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (domain_list_names(lists[i], host_name(h), a, port) != NULL)
			return true;
	return j->named;
}

/* What only users of this machine may reach, and they where it is named. */
static bool
judge_near(const struct judge *j, const struct host *h,
    const struct domain_address *a, uint16_t port, const char *class,
    char ret_rule[JUDGE_RULE_BYTES])
{
	if (!is_named(j, h, a, port)) {
		snprintf(ret_rule, JUDGE_RULE_BYTES,
		    domain_list_count(j->run_allowed) == 0
			? "class %s: allowedDomains [\"*\", \"%s\"] permits it"
			: "class %s: \"%s\" in allowedDomains permits it",
		    class, h->text);
		return false;
	}
	if (j->was_public) {
		snprintf(ret_rule, JUDGE_RULE_BYTES,
		    "class %s: the name was public before", class);
		return false;
	}
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
	if (!is_in(j->run_kept, h, a, port))
		return refuse(ret_rule, "not in the client's hosts", "");
	if (!address_class_allowed(class, j->local))
		return refuse(ret_rule, "class", address_class_name(class));
	return address_class_allowed(class, false) ||
	    judge_near(j, h, a, port, address_class_name(class), ret_rule);
}
