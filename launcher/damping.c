/* damping: remembers the last starts of a program. Runs in the launcher. */
#include "launcher/damping.h"

int64_t
damping_due_ms(const struct damping *d, int64_t now_ms)
{
	int64_t last, oldest;

	if (d->n == 0)
		return 0;
	last = d->starts_ms[(d->n - 1) % DAMPING_STARTS];
	oldest = d->starts_ms[d->n % DAMPING_STARTS];
	if (d->n >= DAMPING_STARTS && now_ms - oldest < DAMPING_MS)
		return -1;
	return now_ms - last >= DAMPING_GAP_MS ? 0 : last + DAMPING_GAP_MS;
}

bool
damping_is_last(const struct damping *d, int64_t now_ms)
{
	size_t n = d->n + 1;

	return n >= DAMPING_STARTS &&
	    now_ms - d->starts_ms[n % DAMPING_STARTS] < DAMPING_MS;
}

void
damping_started(struct damping *d, int64_t now_ms)
{
	d->starts_ms[d->n++ % DAMPING_STARTS] = now_ms;
}
