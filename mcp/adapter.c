/*
 * What is left to answer, in the adapter.
 */
#include "mcp/adapter.h"

void
adapter_settle(struct adapter *a)
{
	if (a->ncalls == 0 && a->nquestions == 0 && a->on_settled != NULL)
		a->on_settled(a);
}
