/*
 * query: what clients ask without changing anything.
 */
#ifndef SUPERVISORD_QUERY_H
#define SUPERVISORD_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/msg.h"
#include "storage/idem.h"
#include "storage/run.h"

struct client;

/* The handlers of the methods. */
void query_templates(struct client *, uint32_t seq, const struct ipc_params *);
void query_run(struct client *, uint32_t seq, const struct ipc_params *);

/*
 * For other handlers. These two answer the request with an error and return
 * false when the id is none, or the run is not there or not this client's.
 */
bool query_run_id(struct client *, uint32_t seq, const struct ipc_params *,
    struct ulid *ret_id);
bool query_record(struct client *, uint32_t seq, const struct ulid *,
    struct run_record *ret_rec);

/*
 * Whose a list shall be: the field uid, else all that the client may see, of
 * runs (shared) or of anything else. False with the refusal filled in when it
 * may not see them.
 */
struct refusal;
bool query_whose(struct client *, const struct ipc_params *, bool shared,
    bool *ret_by_uid, uint32_t *ret_uid, struct refusal *);

/* What an answer about a submission has besides the Run object. */
struct query_submission {
	enum run_mode mode;
	bool deduplicated;
	enum idem_match match;
	bool brief;       /* without result and error */
	size_t max_bytes; /* of the answer, about; 0: as long as it is */
	int64_t wait_ms;  /* for how long to wait for a sync run; 0: unsaid */
};
/* Answers with the run as committed; submission may be NULL. */
void query_answer_run(struct client *, uint32_t seq, const struct ulid *,
    const struct query_submission *);
/* Answers briefly with a run whose record was committed as it is here. */
void query_answer_new(struct client *, uint32_t seq, const struct run_record *,
    const struct query_submission *);

#endif
