/*
 * known: sets of hosts. Runs in egressd. Pure: resolves nothing. A set holds
 * what host_read() makes of a host, so that two spellings of an address are one
 * host, and every name of the loopback is "localhost".
 */
#include <string.h>

#include "egressd/address.h"
#include "egressd/known.h"

#define LINE_BYTES (DOMAIN_NAME_BYTES + 2)

void
known_init(struct known *k)
{
	buf_init(&k->lines, LIMIT_NAMED_BYTES);
}

void
known_clear(struct known *k)
{
	buf_clear(&k->lines);
}

/* "\nHOST\n"; its length, 0 for a bad host. */
static size_t
known_line(const struct host *h, char ret_line[LINE_BYTES])
{
	char text[ADDRESS_TEXT_BYTES];
	const char *name = h->name;

	if (h->kind == HOST_BAD)
		return 0;
	if (h->kind == HOST_ADDRESS &&
	    address_classify(&h->address) != ADDRESS_LOOPBACK) {
		address_format(&h->address, text);
		name = text;
	} else if (h->kind != HOST_NAME) {
		name = "localhost";
	}
	ret_line[0] = '\n';
	strlcpy(ret_line + 1, name, LINE_BYTES - 1);
	strlcat(ret_line, "\n", LINE_BYTES);
	return strlen(ret_line);
}

bool
known_has(const struct known *k, const struct host *h)
{
	char line[LINE_BYTES];
	size_t len = known_line(h, line);

	return len > 0 && k->lines.len > 0 &&
	    memmem(k->lines.data, k->lines.len, line, len) != NULL;
}

bool
known_add(struct known *k, const struct host *h)
{
	char line[LINE_BYTES];
	size_t len = known_line(h, line);

	return len == 0 || known_has(k, h) || buf_add(&k->lines, line, len);
}

bool
known_add_lines(struct known *k, const char *lines)
{
	struct host h;

	for (const char *from = lines; *from != '\0';) {
		size_t len = strcspn(from, "\n");

		host_read(&h, from, len);
		if (!known_add(k, &h))
			return false;
		from += len;
		if (*from == '\n')
			from++;
	}
	return true;
}
