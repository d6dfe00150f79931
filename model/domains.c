/*
 * domains: reads lists of host patterns and finds what matches. Runs in the
 * launcher and supervisord, which check what they are given, and in egressd,
 * which judges by it. Resolves nothing and never logs.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/domains.h"

#define SHOWN_CHARS 60 /* of a wrong pattern */
#define LABEL_CHARS 63

enum pattern_kind {
	PATTERN_ALL,
	PATTERN_NAME,
	PATTERN_BELOW, /* every name that ends in .name */
	PATTERN_NET    /* an address is one with its full prefix */
};

struct pattern {
	enum pattern_kind kind;
	uint16_t port;  /* 0: any */
	uint8_t prefix; /* bits that count */
	struct domain_address net;
	const char *name; /* lower case, without a dot at its end */
	const char *text; /* as it was given */
};

struct domain_list {
	size_t n;
	bool has_addresses;
	struct pattern *patterns;
	char *texts; /* of all patterns: as given, then the names */
};

/* What is being read; text is terminated and a copy that may be changed. */
struct reading {
	struct pattern *p;
	char *text;
	const char *wrong; /* what is, and what to write instead */
};

static bool
refuse(struct reading *r, const char *wrong)
{
	r->wrong = wrong;
	return false;
}

/* "443", at most five digits, not 0. */
static bool
read_port(struct reading *r, const char *digits)
{
	unsigned long port;

	if (digits[0] == '\0' || strlen(digits) > 5 ||
	    strspn(digits, "0123456789") != strlen(digits))
		return refuse(r, "a port is a number from 1 to 65535");
	port = strtoul(digits, NULL, 10);
	if (port == 0 || port > UINT16_MAX)
		return refuse(r, "a port is a number from 1 to 65535");
	r->p->port = (uint16_t)port;
	return true;
}

static unsigned int
address_bits(const struct domain_address *a)
{
	return a->v6 ? 128 : 32;
}

/* Whether the first bits of both are the same. */
static bool
same_bits(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int rest = bits % 8;

	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return rest == 0 ||
	    ((a[bits / 8] ^ b[bits / 8]) & (0xff00 >> rest) & 0xff) == 0;
}

/* The prefix of "/24"; NULL: all bits. Bits behind it must be 0. */
static bool
read_prefix(struct reading *r, const char *digits)
{
	static const uint8_t zero[16];
	struct domain_address rest = r->p->net;
	unsigned int bits = address_bits(&rest);
	unsigned long prefix = bits;

	if (digits != NULL) {
		if (digits[0] == '\0' || strlen(digits) > 3 ||
		    strspn(digits, "0123456789") != strlen(digits) ||
		    (prefix = strtoul(digits, NULL, 10)) > bits)
			return refuse(r,
			    "behind / comes the number of bits that count, up "
			    "to 32 or, of IPv6, 128");
	}
	r->p->kind = PATTERN_NET;
	r->p->prefix = (uint8_t)prefix;
	for (size_t i = 0; i < prefix / 8; i++)
		rest.b[i] = 0;
	if (prefix % 8 != 0)
		rest.b[prefix / 8] &= (uint8_t)(0xff >> prefix % 8);
	if (memcmp(rest.b, zero, sizeof(zero)) != 0)
		return refuse(r, "the bits behind the prefix must be 0");
	return true;
}

/* An address with or without prefix; slash is where that begins, or NULL. */
static bool
read_net(struct reading *r, char *text, bool v6)
{
	char *slash = strchr(text, '/');

	if (slash != NULL)
		*slash = '\0';
	r->p->net.v6 = v6;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, text, r->p->net.b) != 1)
		return refuse(r,
		    v6 ? "this is no IPv6 address"
		       : "write an IPv4 address as four numbers: 192.0.2.1");
	if (v6 && IN6_IS_ADDR_V4MAPPED((struct in6_addr *)r->p->net.b))
		return refuse(r, "write the IPv4 address that is inside");
	return read_prefix(r, slash == NULL ? NULL : slash + 1);
}

/* "[ADDRESS]" or "[ADDRESS]:PORT" */
static bool
read_bracketed(struct reading *r)
{
	char *end = strchr(r->text, ']');

	if (end == NULL)
		return refuse(r, "there is no ] behind the address");
	*end++ = '\0';
	if (*end == ':') {
		if (!read_port(r, end + 1))
			return false;
	} else if (*end != '\0') {
		return refuse(r, "behind ] only :PORT may follow");
	}
	return read_net(r, r->text + 1, true);
}

/* Letters, digits, - and _ in labels of 1 to 63. */
static bool
is_host_name(const char *name, size_t len)
{
	size_t label = 0;

	if (len == 0 || len >= DOMAIN_NAME_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
			continue;
		}
		if (!isascii(c) || (!isalnum(c) && c != '-' && c != '_') ||
		    ++label > LABEL_CHARS)
			return false;
	}
	return label > 0;
}

/* Whether a browser would take it for an IPv4 address: "127.1", "a.0x7f". */
static bool
ends_in_number(const char *name)
{
	const char *last = strrchr(name, '.');

	last = last == NULL ? name : last + 1;
	if (strspn(last, "0123456789") == strlen(last))
		return true;
	return last[0] == '0' && last[1] == 'x' &&
	    strspn(last + 2, "0123456789abcdef") == strlen(last + 2);
}

static bool
read_name(struct reading *r)
{
	char *name = r->text;
	size_t len;

	r->p->kind = PATTERN_NAME;
	if (strncmp(name, "*.", 2) == 0) {
		r->p->kind = PATTERN_BELOW;
		name += 2;
	}
	if (strchr(name, '*') != NULL)
		return refuse(r, "* stands alone or in front: *.example.com");
	len = strlen(name);
	if (len > 0 && name[len - 1] == '.')
		name[--len] = '\0';
	for (char *c = name; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!is_host_name(name, len))
		return refuse(r,
		    "write a host like example.com, *.example.com, 192.0.2.1 "
		    "or [2001:db8::1], each with :PORT or without");
	if (!ends_in_number(name)) {
		r->p->name = name;
		return true;
	}
	if (r->p->kind == PATTERN_BELOW)
		return refuse(r, "no name ends in a number");
	return read_net(r, name, false);
}

static bool
read_host(struct reading *r)
{
	char *colon = strchr(r->text, ':');

	if (strstr(r->text, "//") != NULL)
		return refuse(
		    r, "write the host alone, without scheme or path");
	if (r->text[0] == '[')
		return read_bracketed(r);
	if (colon != NULL && strchr(colon + 1, ':') != NULL)
		return read_net(r, r->text, true);
	if (colon != NULL) {
		*colon = '\0';
		if (!read_port(r, colon + 1))
			return false;
	}
	if (strcmp(r->text, "*") == 0) {
		r->p->kind = PATTERN_ALL;
		return true;
	}
	if (strchr(r->text, '/') != NULL)
		return read_net(r, r->text, false);
	return read_name(r);
}

/* One line of printable ASCII, whatever the pattern is. */
static void
say_why(const char *text, const char *wrong, char ret_why[DOMAINS_WHY_BYTES])
{
	char shown[SHOWN_CHARS + 1];
	size_t n = 0;

	for (; n < SHOWN_CHARS && text[n] != '\0'; n++)
		shown[n] =
		    (char)(text[n] > ' ' && text[n] <= '~' ? text[n] : '?');
	shown[n] = '\0';
	snprintf(ret_why, DOMAINS_WHY_BYTES, "\"%s%s\": %s", shown,
	    text[n] == '\0' ? "" : "...", wrong);
}

/* The lines of text become strings; their number, more than DOMAINS_MAX: too
 * many. */
static size_t
split(char *text, size_t len, const char *ret_lines[DOMAINS_MAX])
{
	size_t n = 0;
	char *from = text;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '\n')
			continue;
		text[i] = '\0';
		if (n == DOMAINS_MAX)
			return n + 1;
		ret_lines[n++] = from;
		from = text + i + 1;
	}
	return n;
}

/* Reads what split() found; the second half of texts is for the names. */
static bool
read_all(struct domain_list *l, const char *const lines[DOMAINS_MAX],
    size_t half, char ret_why[DOMAINS_WHY_BYTES])
{
	for (size_t i = 0; i < l->n; i++) {
		struct pattern *p = &l->patterns[i];
		struct reading r = { .p = p,
			.text = l->texts + half + (lines[i] - l->texts) };

		p->text = lines[i];
		if (!read_host(&r)) {
			say_why(p->text, r.wrong, ret_why);
			return false;
		}
		if (p->kind == PATTERN_NET)
			l->has_addresses = true;
	}
	return true;
}

static struct domain_list *
list_new(const char *text, size_t len)
{
	struct domain_list *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->patterns = calloc(DOMAINS_MAX, sizeof(*l->patterns));
	l->texts = malloc(2 * (len + 1));
	if (l->patterns == NULL || l->texts == NULL) {
		domain_list_free(&l);
		return NULL;
	}
	if (len > 0)
		memcpy(l->texts, text, len);
	return l;
}

bool
domain_list_parse(const char *text, size_t len, struct domain_list **ret_list,
    char ret_why[DOMAINS_WHY_BYTES])
{
	const char *lines[DOMAINS_MAX];
	struct domain_list *l;

	if (len > DOMAINS_BYTES) {
		snprintf(ret_why, DOMAINS_WHY_BYTES,
		    "the list is longer than %d bytes", DOMAINS_BYTES);
		return false;
	}
	l = list_new(text, len);
	if (l == NULL) {
		strlcpy(ret_why, "no memory", DOMAINS_WHY_BYTES);
		return false;
	}
	/* A NUL would hide what comes behind it. */
	for (size_t i = 0; i < len; i++)
		if (l->texts[i] == '\0')
			l->texts[i] = ' ';
	l->n = len == 0 ? 0 : split(l->texts, len, lines);
	if (l->n > DOMAINS_MAX) {
		snprintf(ret_why, DOMAINS_WHY_BYTES,
		    "the list has more than %d patterns", DOMAINS_MAX);
		domain_list_free(&l);
		return false;
	}
	memcpy(l->texts + len + 1, l->texts, len + 1);
	if (!read_all(l, lines, len + 1, ret_why)) {
		domain_list_free(&l);
		return false;
	}
	*ret_list = l;
	return true;
}

void
domain_list_free(struct domain_list **list)
{
	struct domain_list *l = *list;

	*list = NULL;
	if (l == NULL)
		return;
	free(l->patterns);
	free(l->texts);
	free(l);
}

size_t
domain_list_count(const struct domain_list *l)
{
	return l->n;
}

bool
domain_list_has_addresses(const struct domain_list *l)
{
	return l->has_addresses;
}

/* Length of a name without the one dot that its end may have. */
static size_t
name_length(const char *name)
{
	size_t len = strlen(name);

	return len > 1 && name[len - 1] == '.' ? len - 1 : len;
}

static bool
name_matches(const struct pattern *p, const char *name, size_t len)
{
	size_t want = strlen(p->name);

	if (p->kind == PATTERN_NAME)
		return len == want && strncasecmp(name, p->name, len) == 0;
	return len > want + 1 && name[len - want - 1] == '.' &&
	    strncasecmp(name + len - want, p->name, want) == 0;
}

static bool
pattern_matches(const struct pattern *p, const char *name, size_t len,
    const struct domain_address *address, uint16_t port)
{
	if (p->port != 0 && p->port != port)
		return false;
	if (p->kind == PATTERN_ALL)
		return true;
	if (p->kind != PATTERN_NET)
		return name != NULL && name_matches(p, name, len);
	return address != NULL && address->v6 == p->net.v6 &&
	    same_bits(address->b, p->net.b, p->prefix);
}

static const char *
find_match(const struct domain_list *l, bool all, const char *name,
    const struct domain_address *address, uint16_t port)
{
	size_t len = name == NULL ? 0 : name_length(name);

	for (size_t i = 0; i < l->n; i++) {
		const struct pattern *p = &l->patterns[i];

		if ((all || p->kind != PATTERN_ALL) &&
		    pattern_matches(p, name, len, address, port))
			return p->text;
	}
	return NULL;
}

const char *
domain_list_match(const struct domain_list *l, const char *name,
    const struct domain_address *address, uint16_t port)
{
	return find_match(l, true, name, address, port);
}

const char *
domain_list_names(const struct domain_list *l, const char *name,
    const struct domain_address *address, uint16_t port)
{
	return find_match(l, false, name, address, port);
}
