/*
 * secrethosts: judges origins. Runs in browsertaskctl, which checks what it is
 * given, and in workerd, before a secret is filled in. Never logs.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/secrethosts.h"

static const char plain_mark[] = "http://";

struct secret_hosts {
	struct domain_list *all;   /* over https */
	struct domain_list *plain; /* of those, over http, too */
};

/* What an origin says. */
struct place {
	bool secure;
	bool loopback;
	const char *name; /* NULL: an address */
	struct domain_address address;
	uint16_t port;
	char host[SECRETHOSTS_ORIGIN_BYTES];
};

void
secret_hosts_free(struct secret_hosts **hosts)
{
	struct secret_hosts *h = *hosts;

	*hosts = NULL;
	if (h == NULL)
		return;
	domain_list_free(&h->all);
	domain_list_free(&h->plain);
	free(h);
}

/* Both lists' patterns, without the mark; blank lines are passed over. */
static void
split(const char *text, size_t len, char all[SECRETHOSTS_BYTES + 1],
    char plain[SECRETHOSTS_BYTES + 1])
{
	const size_t mark = sizeof(plain_mark) - 1;
	char line[SECRETHOSTS_BYTES + 1];

	all[0] = plain[0] = '\0';
	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *end = memchr(text + at, '\n', len - at);
		const char *pattern = line;
		bool http;

		n = end == NULL ? len - at : (size_t)(end - (text + at));
		/* A NUL would hide what comes behind it. */
		for (size_t i = 0; i < n; i++)
			line[i] = text[at + i] == '\0' ? ' ' : text[at + i];
		line[n] = '\0';
		http = strncmp(line, plain_mark, mark) == 0;
		if (http)
			pattern += mark;
		if (line[0] == '\0')
			continue;
		if (all[0] != '\0')
			strlcat(all, "\n", SECRETHOSTS_BYTES + 1);
		strlcat(all, pattern, SECRETHOSTS_BYTES + 1);
		if (http && plain[0] != '\0')
			strlcat(plain, "\n", SECRETHOSTS_BYTES + 1);
		if (http)
			strlcat(plain, pattern, SECRETHOSTS_BYTES + 1);
	}
}

bool
secret_hosts_parse(const char *text, size_t len,
    struct secret_hosts **ret_hosts, char ret_why[DOMAINS_WHY_BYTES])
{
	char all[SECRETHOSTS_BYTES + 1], plain[SECRETHOSTS_BYTES + 1];
	struct secret_hosts *h;

	if (len > SECRETHOSTS_BYTES) {
		snprintf(ret_why, DOMAINS_WHY_BYTES,
		    "the list is longer than %d bytes", SECRETHOSTS_BYTES);
		return false;
	}
	split(text, len, all, plain);
	if (all[0] == '\0') {
		strlcpy(ret_why, "no host is named", DOMAINS_WHY_BYTES);
		return false;
	}
	h = calloc(1, sizeof(*h));
	strlcpy(ret_why, "no memory", DOMAINS_WHY_BYTES);
	if (h == NULL ||
	    !domain_list_parse(all, strlen(all), &h->all, ret_why) ||
	    !domain_list_parse(plain, strlen(plain), &h->plain, ret_why)) {
		secret_hosts_free(&h);
		return false;
	}
	*ret_hosts = h;
	return true;
}

static bool
is_below(const char *name, const char *domain)
{
	size_t len = strlen(name), want = strlen(domain);

	return len >= want && strcmp(name + len - want, domain) == 0 &&
	    (len == want || name[len - want - 1] == '.');
}

/* "[ADDRESS]", an IPv4 address, or a name. */
static bool
read_host(struct place *p)
{
	static const uint8_t loopback[16] = { [15] = 1 };
	size_t len = strlen(p->host);

	if (len > 2 && p->host[0] == '[' && p->host[len - 1] == ']') {
		p->host[len - 1] = '\0';
		p->address.v6 = true;
		if (inet_pton(AF_INET6, p->host + 1, p->address.b) != 1)
			return false;
		p->loopback =
		    memcmp(p->address.b, loopback, sizeof(loopback)) == 0;
		return true;
	}
	if (inet_pton(AF_INET, p->host, p->address.b) == 1) {
		p->loopback = p->address.b[0] == 127;
		return true;
	}
	p->name = p->host;
	p->loopback = is_below(p->host, "localhost");
	return len > 0;
}

static bool
read_origin(const char *origin, struct place *p)
{
	const char *from, *colon, *bracket;
	unsigned long port;
	char *end;

	memset(p, 0, sizeof(*p));
	p->secure = strncmp(origin, "https://", 8) == 0;
	if (!p->secure && strncmp(origin, plain_mark, 7) != 0)
		return false;
	from = origin + (p->secure ? 8 : 7);
	p->port = p->secure ? 443 : 80;
	colon = strrchr(from, ':');
	bracket = strrchr(from, ']');
	if (colon != NULL && (bracket == NULL || colon > bracket)) {
		port = strtoul(colon + 1, &end, 10);
		if (*end != '\0' || port == 0 || port > UINT16_MAX)
			return false;
		p->port = (uint16_t)port;
	} else {
		colon = from + strlen(from);
	}
	if ((size_t)(colon - from) >= sizeof(p->host))
		return false;
	memcpy(p->host, from, (size_t)(colon - from));
	return read_host(p);
}

bool
secret_hosts_allow(const struct secret_hosts *h, const char *origin)
{
	struct place p;

	if (!read_origin(origin, &p))
		return false;
	return domain_list_match(p.secure || p.loopback ? h->all : h->plain,
		   p.name, p.name == NULL ? &p.address : NULL, p.port) != NULL;
}
