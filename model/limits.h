/*
 * limits: sizes that are part of a protocol or of the contract and therefore
 * no settings.
 */
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

#define LIMIT_FRAME_BYTES           (8u << 20) /* a client's frame */
#define LIMIT_PACKET_BYTES          65536u     /* a worker's packet */
#define LIMIT_CHUNK_BYTES           60000u /* data inside a worker's packet */
#define LIMIT_JSON_DEPTH            64     /* callers' documents */
#define LIMIT_INPUT_BYTES           (4u << 20) /* inputs of one run */
#define LIMIT_OPTIONS_BYTES         65536u
#define LIMIT_SECRETS               64     /* secret values in those inputs */
#define LIMIT_SECRETS_BYTES         65536u /* of them, as a JSON array */
#define LIMIT_KEY_BYTES             256    /* idempotency key */
#define LIMIT_TIMEOUT_MS            600000
#define LIMIT_LIST                  1000
#define LIMIT_LIST_DEFAULT          50
#define LIMIT_ANSWER_LEAST_BYTES    4096 /* what a client may ask for */
#define LIMIT_ANSWER_BYTES          (1u << 20)
#define LIMIT_ARTIFACT_CHUNK_BYTES  262144
#define LIMIT_ARTIFACT_PARTS        8
#define LIMIT_RUN_ARTIFACTS         1000 /* of one run, not made of items */
#define LIMIT_RUN_ARTIFACT_BYTES    (256u << 20) /* all of those */
#define LIMIT_STEPS_META_BYTES      65536u       /* details of its steps */
#define LIMIT_TEMPLATE_BYTES        (256u << 10) /* Lua text */
#define LIMIT_ITEMS                 1000 /* journaled items of one run */
#define LIMIT_ITEM_RECORD_BYTES     16384
#define LIMIT_ITEM_PIECES           64 /* chunks of one item, of all parts */
#define LIMIT_ATTEMPTS              3
#define LIMIT_STATE_BYTES           (4u << 20)  /* storage state of a session */
#define LIMIT_HOST_BYTES            255         /* name or address of a host */
#define LIMIT_DOMAINS_BYTES         (24u << 10) /* patterns of hosts of a run */
#define LIMIT_ORIGIN_BYTES          320         /* of a document */
#define LIMIT_NAMED_BYTES           (256u << 10) /* hosts that inputs name */
#define LIMIT_KEEP_BYTES            (8u << 10) /* patterns of a client's hosts */
#define LIMIT_EVENTS                10000
#define LIMIT_EVENT_LOG_BYTES       (1u << 20)
#define LIMIT_CANCEL_GRACE_MS       300
#define LIMIT_INLINE_ARTIFACT_BYTES 16384
#define LIMIT_CLIENTS_QUEUE_BYTES   (64u << 20) /* unread by all clients */

#endif
