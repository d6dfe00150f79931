/*
 * unconfined: takes the place of confine/ in the worker that bench/containment
 * compares with, and gives up nothing. Run only there, with pages of this
 * machine.
 */
#include "confine/confine.h"

int
confine_filter(const struct confine_table *table)
{
	return 0;
}

void
confine_filter_waive(void)
{
}

int
confine_limits(unsigned int zero)
{
	return 0;
}
