/*
 * question: what a request that is no call of a tool asks the service, one
 * question or several after each other, until it is answered.
 */
#ifndef MCP_QUESTION_H
#define MCP_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "mcp/adapter.h"
#include "mcp/link.h"
#include "mcp/method.h"

struct question;
struct task;
struct watch;

/*
 * The service's answer, parsed, for this call only. Asks the next question, or
 * answers and frees.
 */
typedef void question_fn(struct question *, struct json_val answer);

struct question {
	TAILQ_ENTRY(question) entry;
	struct adapter *adapter;
	struct reply reply;
	struct rpc_msg msg;
	struct link_req req;
	question_fn *answered;
	void (*gone)(struct question *); /* NULL: an error answers */
	char id[IPC_ID_MAX + 1]; /* of a run or an artifact; or a cursor */
	char mime[128];
	size_t index, done;
	int64_t number;
	struct watch *watch; /* of its run; NULL: none */
	/* Of the run as a task: see task.h. */
	void (*looked)(struct question *, const struct task *);
	void (*ended)(struct question *, const struct task *);
	struct json_doc *kept; /* an answer that is worked through */
	struct buf text;       /* what is gathered */
};

/*
 * Takes the request over. NULL: it was answered with an error, since there is
 * no memory or too much is asked already. A request without reply is nobody's:
 * errors just end it.
 */
struct question *question_new(struct adapter *, struct request *);
/* Initializes the params of the next question, which the caller fills. */
struct ipc_params *question_params(struct question *, enum msg_id);
/* What they borrow lives until the answer. */
void question_ask(struct question *, question_fn *);
/* The same; gone is called when the service knows no such run (any more). */
void question_ask_of_run(
    struct question *, question_fn *, void (*gone)(struct question *));
/* Ends the result and answers with it; frees. */
void question_send(struct question *, struct reply_text *);
/*
 * Answers with an error, and frees. NOT_FOUND is what the revision calls it
 * when there is no such resource.
 */
void question_refuse(struct question **, enum rpc_code, const char *message);
#define QUESTION_NOT_FOUND RPC_RESOURCE_NOT_FOUND
/* Answers with an error of the service, as the revision writes it. */
void question_error(struct reply *, const char *json, size_t len);
/* Answered, or not wanted any more. */
void question_free(struct question **);
/* Those of the request with this id are not to be answered. */
void questions_cancel(struct adapter *, const uint8_t *id, size_t len);
void questions_drop_all(struct adapter *);

#endif
