/*
 * Lists of host patterns: any bytes are a list or a reason in one line; a list
 * reads again from the texts that match, and finds what it was made of.
 */
#include <string.h>

#include "common/panic.h"
#include "model/domains.h"
#include "t/fuzz/fuzz.h"

static void
check_refused(const char *why)
{
	ASSERT(why[0] != '\0');
	ASSERT(memchr(why, '\0', DOMAINS_WHY_BYTES) != NULL);
	for (const char *p = why; *p != '\0'; p++)
		ASSERT(*p >= ' ' && *p <= '~');
}

/* A pattern by itself matches whatever its list said that it does. */
static void
check_alone(const char *text, const char *name, const struct domain_address *a,
    uint16_t port)
{
	char why[DOMAINS_WHY_BYTES] = "";
	struct domain_list *l = NULL;
	const char *again;

	ASSERT(domain_list_parse(text, strlen(text), &l, why));
	ASSERT(domain_list_count(l) == 1);
	again = domain_list_match(l, name, a, port);
	ASSERT(again != NULL && strcmp(again, text) == 0);
	domain_list_free(&l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = { "example.com", "a.example.com",
		"A.B.", "localhost", "x" };
	static const struct domain_address addresses[] = {
		{ false, { 127, 0, 0, 1 } }, { false, { 10, 1, 2, 3 } },
		{ true, { [15] = 1 } }, { true, { 0x20, 1, 0xd, 0xb8 } }
	};
	const char *text = size == 0 ? "" : (const char *)bytes, *found;
	char why[DOMAINS_WHY_BYTES] = "";
	struct domain_list *l = NULL;

	if (!domain_list_parse(text, size, &l, why)) {
		ASSERT(l == NULL);
		check_refused(why);
		return 0;
	}
	ASSERT(domain_list_count(l) <= DOMAINS_MAX);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		found = domain_list_match(l, names[i], NULL, 443);
		if (found != NULL)
			check_alone(found, names[i], NULL, 443);
	}
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		found = domain_list_match(l, NULL, &addresses[i], 80);
		if (found != NULL)
			check_alone(found, NULL, &addresses[i], 80);
	}
	domain_list_free(&l);
	ASSERT(l == NULL);
	return 0;
}
