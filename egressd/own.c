/*
 * own: asks the kernel, by netlink, whether an address is one of this machine
 * and which socket would take a connection to it. Runs in egressd. The kernel
 * answers before the question returns: nothing waits.
 */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "egressd/own.h"

#define ANSWER_BYTES 8192

struct own {
	int diag;
	int route;
	uid_t base;
	unsigned int count;
	uint32_t seq;
};

static int
open_netlink(int protocol)
{
	return socket(
	    AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}

struct own *
own_new(uid_t base, unsigned int count)
{
	struct own *o = calloc(1, sizeof(*o));
	int error;

	if (o == NULL)
		return NULL;
	o->base = base;
	o->count = count;
	o->route = -1;
	o->diag = open_netlink(NETLINK_SOCK_DIAG);
	if (o->diag != -1)
		o->route = open_netlink(NETLINK_ROUTE);
	if (o->route == -1) {
		error = errno;
		own_free(&o);
		errno = error;
	}
	return o;
}

void
own_free(struct own **own)
{
	struct own *o = *own;

	*own = NULL;
	if (o == NULL)
		return;
	fd_close(&o->diag);
	fd_close(&o->route);
	free(o);
}

/*
 * Asks, and returns the payload of the answer with that type, at least len
 * bytes; NULL: an error, then *ret_error, or 0 for what makes no sense.
 */
static const void *
ask(int fd, struct nlmsghdr *question, uint16_t type, size_t len,
    uint8_t answer[ANSWER_BYTES], int *ret_error)
{
	const struct nlmsghdr *head = (const void *)answer;
	const struct nlmsgerr *error;
	ssize_t n;

	*ret_error = 0;
	if (send(fd, question, question->nlmsg_len, 0) == -1)
		return NULL;
	do {
		n = recv(fd, answer, ANSWER_BYTES, 0);
		if (n < (ssize_t)sizeof(*head) || head->nlmsg_len > (size_t)n)
			return NULL;
	} while (head->nlmsg_seq != question->nlmsg_seq);
	if (head->nlmsg_type == NLMSG_ERROR &&
	    head->nlmsg_len >= NLMSG_LENGTH(sizeof(*error))) {
		error = (const void *)(answer + NLMSG_HDRLEN);
		*ret_error = -error->error;
		return NULL;
	}
	if (head->nlmsg_type != type || head->nlmsg_len < NLMSG_LENGTH(len))
		return NULL;
	return (const void *)(answer + NLMSG_HDRLEN);
}

/* Whether the route to it ends here. */
static bool
is_local(const struct own *o, uint32_t seq, const struct domain_address *a)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg body;
		struct rtattr attr;
		uint8_t address[16];
	} q;
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
	size_t bytes = a->v6 ? 16 : 4;
	const struct rtmsg *r;
	int error;

	memset(&q, 0, sizeof(q));
	q.head.nlmsg_len = (uint32_t)(sizeof(q) - 16 + bytes);
	q.head.nlmsg_type = RTM_GETROUTE;
	q.head.nlmsg_flags = NLM_F_REQUEST;
	q.head.nlmsg_seq = seq;
	q.body.rtm_family = a->v6 ? AF_INET6 : AF_INET;
	q.body.rtm_dst_len = (uint8_t)(bytes * 8);
	q.attr.rta_type = RTA_DST;
	q.attr.rta_len = (uint16_t)RTA_LENGTH(bytes);
	memcpy(q.address, a->b, bytes);
	r = ask(o->route, &q.head, RTM_NEWROUTE, sizeof(*r), answer, &error);
	if (r != NULL)
		return r->rtm_type == RTN_LOCAL;
	/* No way there at all is no way here. */
	return error != ENETUNREACH && error != EHOSTUNREACH &&
	    error != EACCES && error != EINVAL && error != EAFNOSUPPORT;
}

/* What a segment from that very address to it would meet. */
static bool
is_taken_by_us(const struct own *o, uint32_t seq,
    const struct domain_address *a, uint16_t port)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} q;
	_Alignas(struct nlmsghdr) uint8_t answer[ANSWER_BYTES];
	size_t bytes = a->v6 ? 16 : 4;
	const struct inet_diag_msg *m;
	int error;

	memset(&q, 0, sizeof(q));
	q.head.nlmsg_len = sizeof(q);
	q.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	q.head.nlmsg_flags = NLM_F_REQUEST;
	q.head.nlmsg_seq = seq;
	q.body.sdiag_family = a->v6 ? AF_INET6 : AF_INET;
	q.body.sdiag_protocol = IPPROTO_TCP;
	q.body.id.idiag_sport = htons(port);
	memcpy(q.body.id.idiag_src, a->b, bytes);
	memcpy(q.body.id.idiag_dst, a->b, bytes);
	q.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	q.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	m = ask(
	    o->diag, &q.head, SOCK_DIAG_BY_FAMILY, sizeof(*m), answer, &error);
	if (m == NULL)
		return error != ENOENT;
	return m->idiag_uid >= o->base && m->idiag_uid - o->base < o->count;
}

bool
own_listens(struct own *o, const struct domain_address *a, uint16_t port)
{
	return o != NULL && is_local(o, ++o->seq, a) &&
	    is_taken_by_us(o, ++o->seq, a, port);
}
