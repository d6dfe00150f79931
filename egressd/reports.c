/*
 * reports: remembers when what was told last. Runs in egressd. Of fixed size:
 * pages choose the hosts.
 */
#include <stdlib.h>
#include <string.h>

#include "egressd/host.h"
#include "egressd/reports.h"

#define ROWS     128
#define AGAIN_MS 1000
#define PER_MS   1000
#define MOST     100 /* in PER_MS */

struct row {
	bool used;
	char host[HOST_BYTES];
	uint16_t port;
	enum egress_outcome outcome;
	int64_t told_ms;
};

struct reports {
	struct row rows[ROWS];
	int64_t began_ms; /* of the time in which they are counted */
	int count;
};

struct reports *
reports_new(void)
{
	return calloc(1, sizeof(struct reports));
}

void
reports_free(struct reports **reports)
{
	free(*reports);
	*reports = NULL;
}

/* Its row, else one that is free or the oldest. */
static struct row *
reports_row(struct reports *r, const char *host, uint16_t port,
    enum egress_outcome outcome)
{
	struct row *oldest = &r->rows[0];

	for (size_t i = 0; i < ROWS; i++) {
		struct row *row = &r->rows[i];

		if (row->used && row->port == port && row->outcome == outcome &&
		    strcmp(row->host, host) == 0)
			return row;
		if (oldest->used &&
		    (!row->used || row->told_ms < oldest->told_ms))
			oldest = row;
	}
	memset(oldest, 0, sizeof(*oldest));
	strlcpy(oldest->host, host, sizeof(oldest->host));
	oldest->port = port;
	oldest->outcome = outcome;
	return oldest;
}

bool
reports_due(struct reports *r, const char *host, uint16_t port,
    enum egress_outcome outcome, int64_t now_ms)
{
	struct row *row;

	if (r->count == 0 || now_ms - r->began_ms >= PER_MS) {
		r->began_ms = now_ms;
		r->count = 0;
	}
	if (r->count >= MOST)
		return false;
	row = reports_row(r, host, port, outcome);
	if (row->used && now_ms - row->told_ms < AGAIN_MS)
		return false;
	row->used = true;
	row->told_ms = now_ms;
	r->count++;
	return true;
}
