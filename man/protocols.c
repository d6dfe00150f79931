/*
 * protocols: the tables of the protocols' pages: messages of clients, workers
 * and egressd, and those of the launch protocol.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "ipc/msg.h"
#include "launch/launch.h"
#include "man/tables.h"

static void
print_bounds(const struct msg_field *f)
{
	if (f->type == FIELD_BOOL)
		return;
	if (f->type == FIELD_INT && f->max == IPC_INT_MAX) {
		printf(" from %" PRId64, f->min);
		return;
	}
	printf(", ");
	if (f->min == f->max)
		printf("%" PRId64, f->max);
	else
		printf("%" PRId64 " to %" PRId64, f->min, f->max);
	if (f->type != FIELD_INT)
		printf(" bytes");
}

static void
print_fields(const struct msg_row *row)
{
	if (msg_nfields(row) == 0)
		return;
	puts(".Bl -tag -width Ds -compact");
	for (size_t i = 0; i < msg_nfields(row); i++) {
		const struct msg_field *f = &row->fields[i];

		printf(".It Sy %s Pq %s", msg_key_name(f->key),
		    msg_type_name(f->type));
		print_bounds(f);
		puts(f->required ? "" : ", optional");
		put_text(f->help);
	}
	puts(".El");
}

static void
print_phases(const struct msg_row *row)
{
	static const struct {
		unsigned bit;
		const char *name;
	} phases[] = { { PEER_HELLO, "hello" }, { PEER_READY, "ready" },
		{ PEER_IDLE, "idle" }, { PEER_RUN, "run" },
		{ PEER_DESCRIBE, "describe" }, { PEER_ENDED, "ended" } };
	bool first = true;

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		if ((row->phases & phases[i].bit) == 0)
			continue;
		printf("%s%s", first ? "" : ", ", phases[i].name);
		first = false;
	}
}

static void
print_messages(enum ipc_dir dir)
{
	puts(".Bl -tag -width Ds");
	for (int i = 0; i < MSG__MAX; i++) {
		const struct msg_row *row = msg_row((enum msg_id)i);

		if (row->dir != dir)
			continue;
		printf(".It Sy %s Pq ", row->name);
		print_phases(row);
		printf("; at most %zu bytes%s\n", row->max_bytes,
		    (row->flags & IPC_ADMIN_ONLY) != 0 ? "; on admin.sock only"
			: (row->flags & IPC_KEPT) != 0 ? "; numbered"
						       : "");
		put_text(row->help);
		print_fields(row);
	}
	puts(".El");
}

void
print_in(void)
{
	print_messages(IPC_IN);
}

void
print_out(void)
{
	print_messages(IPC_OUT);
}

void
print_down(void)
{
	print_messages(IPC_DOWN);
}

void
print_up(void)
{
	print_messages(IPC_UP);
}

void
print_to_egressd(void)
{
	print_messages(IPC_TO_EGRESSD);
}

void
print_from_egressd(void)
{
	print_messages(IPC_FROM_EGRESSD);
}

/* The bytes of the first message of a client, as they are sent. */
void
print_hello(void)
{
	char reason[IPC_REASON_MAX];
	struct ipc_params p;
	struct buf b;

	buf_init(&b, IPC_SMALL_BYTES);
	ipc_params_init(&p, MSG_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&p, F_CLIENT, "demo");
	if (!ipc_encode_request(&b, 1, &p, reason))
		printf("%s\n", reason);
	printf(".Bd -literal -offset indent\n%02zx %02zx %02zx %02zx",
	    b.len >> 24, b.len >> 16 & 255, b.len >> 8 & 255, b.len & 255);
	for (size_t i = 0; i < b.len; i++)
		printf("%s%02x", i % 16 == 0 ? "\n" : " ", b.data[i]);
	puts("\n.Ed");
	buf_clear(&b);
}

void
print_launch_head(void)
{
	puts(".Bl -column \"cell_id\" \"32 bits\" -compact");
	printf(".It magic Ta 32 bits Ta 0x%x\n", LAUNCH_MAGIC);
	printf(".It version Ta 32 bits Ta %u\n", LAUNCH_VERSION);
	puts(".It type Ta 32 bits Ta see below");
	puts(".It cell_id Ta 32 bits Ta which cell; 0 on the link of a cell "
	     "and in what is not about one");
	printf(".It body Ta %zu bytes Ta depends on the type\n.El\n",
	    sizeof(((struct launch_msg *)NULL)->u));
}

void
print_launch_messages(void)
{
	static const char *const links[LAUNCH_LINK__MAX] = {
		[LAUNCH_FROM_SUPERVISORD] = "supervisord to launcher",
		[LAUNCH_TO_SUPERVISORD] = "launcher to supervisord",
		[LAUNCH_TO_CELL] = "launcher to cell",
		[LAUNCH_FROM_CELL] = "cell to launcher",
		[LAUNCH_TO_EGRESSD] = "launcher to egressd",
		[LAUNCH_FROM_EGRESSD] = "egressd to launcher",
	};

	puts(".Bl -tag -width Ds -compact");
	for (int i = 1; i < LAUNCH__MAX; i++) {
		enum launch_type type = (enum launch_type)i;
		const char *before = "";

		printf(".It %d Sy %s Pq ", i, launch_type_name(type));
		for (int l = 0; l < LAUNCH_LINK__MAX; l++)
			if (launch_type_passes(type, (enum launch_link)l)) {
				printf("%s%s", before, links[l]);
				before = ", ";
			}
		if (launch_type_fds(type) > 0)
			printf("; descriptors: %d", launch_type_fds(type));
		putchar('\n');
		put_text(launch_type_text(type));
	}
	puts(".El");
}
