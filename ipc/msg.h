/*
 * msg: the messages of ipc/msg.def in memory: names, values by field, encoding
 * and the one decoder that every byte of a client or worker goes through.
 */
#ifndef IPC_MSG_H
#define IPC_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "model/limits.h"

/* Raised when a message changes in a way that an older peer mistakes. */
#define IPC_PROTO_CLIENT 1
#define IPC_PROTO_WORKER 3

#define IPC_ID_MAX       64   /* ids, names of programs, templates and steps */
#define IPC_SMALL_BYTES  4096 /* messages without documents */
#define IPC_INT_MAX      INT64_C(9007199254740991) /* exact in a JSON number */

#define MSG(id, ...)     MSG_##id,
enum msg_id {
#include "ipc/msg.def"
	MSG__MAX
};

#define KEY(id, ...) F_##id,
enum msg_key {
#include "ipc/msg.def"
	F__MAX
};

enum ipc_dir {
	IPC_IN,           /* client to supervisor: unknown fields are ignored */
	IPC_OUT,          /* supervisor to client: unknown fields are ignored */
	IPC_DOWN,         /* supervisor to worker: strict */
	IPC_UP,           /* worker to supervisor: strict */
	IPC_TO_EGRESSD,   /* supervisor to egressd: strict */
	IPC_FROM_EGRESSD, /* egressd to supervisor: strict */
	IPC_DIR__MAX
};

/* Phases of a connection; a receiver keeps its own and moves it on. */
enum ipc_phase {
	PEER_HELLO = 1,     /* nothing but hello */
	PEER_READY = 2,     /* clients after hello; egressd, which has none */
	PEER_IDLE = 4,      /* a worker after hello, without a run */
	PEER_RUN = 8,       /* from run.begin to run.end */
	PEER_DESCRIBE = 16, /* a worker that was started to describe */
	PEER_ENDED = 32     /* after run.end */
};

#define IPC_ADMIN_ONLY 1u
#define IPC_KEPT       2u /* numbered, and kept until it is acknowledged */

enum msg_kind {
	MSG_KIND_REQ,
	MSG_KIND_NOTE,
	MSG_KIND_ANSWER
};

enum field_type {
	FIELD_STR,
	FIELD_BIN,
	FIELD_JSON,
	FIELD_INT,
	FIELD_BOOL
};

/* One FIELD row. */
struct msg_field {
	enum msg_id msg;
	enum msg_key key;
	enum field_type type;
	bool required;
	int64_t min;
	int64_t max;
	const char *help;
};

/* One MSG row. */
struct msg_row {
	enum msg_id id;
	const char *name;
	enum msg_kind kind;
	enum ipc_dir dir;
	unsigned phases; /* of enum ipc_phase */
	unsigned flags;
	size_t max_bytes;
	const struct msg_field *fields; /* msg_nfields() of them */
	const char *help;
};

const struct msg_row *msg_row(enum msg_id);
/* The row of that direction with that wire name and kind, or NULL. */
const struct msg_row *
msg_find(enum ipc_dir, enum msg_kind, const char *name, size_t len);
size_t msg_nfields(const struct msg_row *);
const char *msg_key_name(enum msg_key);
/* For people: "string", "integer". */
const char *msg_type_name(enum field_type);
/* The message's row for that key, or NULL. */
const struct msg_field *msg_field(const struct msg_row *, enum msg_key);

/* A value; str, bin and JSON are borrowed. */
struct ipc_value {
	bool set;
	enum field_type type;
	union {
		struct {
			const void *bytes;
			size_t len;
		};
		int64_t i;
		bool b;
	};
};

/* Whether length or value are within the row's bounds. */
bool ipc_value_fits(const struct msg_field *, const struct ipc_value *);

/* The params of one message. Plain data: copy it, forget it. */
struct ipc_params {
	enum msg_id msg;
	struct ipc_value v[F__MAX];
};

/*
 * To send: start empty, set fields, hand over to a chan or encoder. Bytes are
 * borrowed until then. Setting a field the message does not have, or with the
 * wrong type, is a bug (panics); a value out of range fails the encoding.
 */
void ipc_params_init(struct ipc_params *, enum msg_id);
void ipc_set_str(struct ipc_params *, enum msg_key, const char *);
void ipc_set_strn(struct ipc_params *, enum msg_key, const char *, size_t);
/* For BIN and JSON fields. */
void ipc_set_bin(struct ipc_params *, enum msg_key, const void *, size_t);
void ipc_set_int(struct ipc_params *, enum msg_key, int64_t);
void ipc_set_bool(struct ipc_params *, enum msg_key, bool);

/*
 * To read. Asking for a field the message does not have, or as another type,
 * is a bug (panics). Optional fields: ask ipc_has, or take the default value.
 * Received strings end with a NUL and contain none; bins and JSON documents
 * are followed by a NUL. All bytes live until the on_msg callback returns.
 */
bool ipc_has(const struct ipc_params *, enum msg_key);
const char *ipc_str(const struct ipc_params *, enum msg_key); /* or NULL */
const void *ipc_bin(const struct ipc_params *, enum msg_key,
    size_t *ret_len); /* or NULL and 0 */
int64_t ipc_int(const struct ipc_params *, enum msg_key, int64_t absent);
bool ipc_bool(const struct ipc_params *, enum msg_key, bool absent);

enum ipc_form {
	IPC_REQUEST,
	IPC_RESPONSE,
	IPC_NOTE
};

/* A received message. */
struct ipc_msg {
	enum ipc_form form;
	uint32_t seq; /* number of the request; 0 for notifications */
	/*
	 * params.msg names the message. Of a response it is MSG__MAX, or
	 * MSG_HELLO_ANSWER when the result is a map.
	 */
	struct ipc_params params;
	/* Responses: exactly one document, or params for a map. */
	const char *error; /* JSON error object, NUL after it */
	size_t error_len;
	const char *result; /* JSON document, NUL after it */
	size_t result_len;
};

/* Whether a direction has one message per packet, not frames in a stream. */
bool ipc_is_packets(enum ipc_dir);

/* What a receiver permits now. */
struct ipc_gate {
	enum ipc_dir dir;
	enum ipc_phase phase;
	bool admin;
};

enum ipc_verdict {
	IPC_OK,
	/*
	 * A request of a client that is well-formed but not acceptable: answer
	 * it with an error (seq is valid) and go on.
	 */
	IPC_REFUSED,
	IPC_IGNORED, /* a notification from a newer server; skip it */
	IPC_BROKEN   /* close the peer */
};

#define IPC_REASON_MAX 160

/* The number of a request of which the beginning has come. */
bool ipc_peek_seq(const uint8_t *bytes, size_t len, uint32_t *ret_seq);
/*
 * Decodes one message within the gate. bytes[len] must be writable: strings
 * are terminated in place. Writes why into reason unless IPC_OK. Total: any
 * bytes are answered with a verdict. Allocates nothing.
 */
enum ipc_verdict ipc_decode(const struct ipc_gate *, uint8_t *bytes, size_t len,
    struct ipc_msg *ret_msg, char reason[IPC_REASON_MAX]);

/*
 * Each appends one message. False when a required field is missing, a value is
 * out of range or the message is too long; reason (may be NULL) says which.
 * The buffer's length is as before then.
 */
bool ipc_encode_request(struct buf *, uint32_t seq, const struct ipc_params *,
    char reason[IPC_REASON_MAX]);
bool ipc_encode_note(
    struct buf *, const struct ipc_params *, char reason[IPC_REASON_MAX]);
/* The one answer that is a map: MSG_HELLO_ANSWER. */
bool ipc_encode_answer(struct buf *, uint32_t seq, const struct ipc_params *,
    char reason[IPC_REASON_MAX]);
bool ipc_encode_result(struct buf *, uint32_t seq, const void *json, size_t);
bool ipc_encode_error(struct buf *, uint32_t seq, const void *json, size_t);

#endif
