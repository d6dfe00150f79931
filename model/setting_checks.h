/*
 * setting_checks: judges of the settings that are texts, one per kind. None of
 * them resolves or opens anything.
 */
#ifndef MODEL_SETTING_CHECKS_H
#define MODEL_SETTING_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a value that is not empty is good. If not, ret_why continues a
 * sentence that begins with the value, and says what to write instead. It has
 * no part of the value: that may be a password in the wrong place.
 */
typedef bool setting_check(const char *value, char *ret_why, size_t size);

/* What any text must be: printable ASCII that needs no escapes in quotes. */
setting_check setting_check_characters;
/* Addresses of name servers, each with or without a port. */
setting_check setting_check_resolvers;
/* URL of a proxy. */
setting_check setting_check_proxy;
/* Patterns of model/domains.h, commas between; lists are not empty. */
setting_check setting_check_domains;

/* Names of protections that may be waived. */
setting_check setting_check_protections;
/* Absolute path of a directory. */
setting_check setting_check_directory;
/* Name or number of a group. */
setting_check setting_check_group;

#define SETTING_SEPARATORS ", "

/*
 * A value that is a list, with its entries as lines, as domain_list_parse()
 * takes them. ret_lines has room for the value.
 */
void setting_lines(const char *value, char *ret_lines);

#endif
