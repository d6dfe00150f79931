/*
 * notice: hands what is told of connections that did not come about to the
 * browser's pages, in the worker.
 */
#include "page/browser.h"
#include "workerd/notice.h"

void
notice_take(struct browser *b, const struct ipc_params *p)
{
	enum egress_outcome outcome =
	    egress_outcome_find(ipc_str(p, F_OUTCOME));

	if (outcome != EGRESS__MAX)
		browser_note_egress(b, ipc_str(p, F_HOST),
		    (int)ipc_int(p, F_PORT, 0), outcome, ipc_str(p, F_TEXT));
}
