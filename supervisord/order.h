/*
 * order: what a person orders of the whole service: refused to those who may
 * not, written to the audit log first, in force and answered when that is
 * committed.
 */
#ifndef SUPERVISORD_ORDER_H
#define SUPERVISORD_ORDER_H

#include <stdint.h>
#include <sys/types.h>

#include "json/writer.h"
#include "storage/audit.h"

struct client;
struct store_txn;
struct sup;

struct order_ops {
	const char *name;         /* in the audit log, when it is refused */
	enum audit_action action; /* in the audit log, when it is not */
	/* Writes more than that; may be NULL. STORE_OK, or why not. */
	int (*write)(struct store_txn *, int64_t value);
	/* It is written, and not answered yet; may be NULL. */
	void (*act)(struct sup *, int64_t value, uid_t by);
	/* Fills in the answer, an object. */
	void (*answer)(const struct sup *, struct json_writer *);
	/*
	 * Called last, whatever became of it; may be NULL. client has the
	 * answer; it is NULL when that was an error or nobody was there.
	 */
	void (*over)(struct sup *, struct client *);
};

/*
 * Takes it from those who may command only; judged: the caller has looked who
 * it is. value goes to the functions of ops.
 */
void order_take(struct client *, uint32_t seq, const struct order_ops *,
    bool judged, int64_t value);

#endif
