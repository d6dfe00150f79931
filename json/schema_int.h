/*
 * What the files of the schema validator share. A compiled schema is a list of
 * nodes (one per place of the text that serves as a schema), each with its
 * keywords, each of those with what it needs to be checked quickly. Nodes refer
 * to each other by number, so a reference may point anywhere, also back.
 */
#ifndef JSON_SCHEMA_INT_H
#define JSON_SCHEMA_INT_H

#include "json/number.h"
#include "json/pattern.h"
#include "json/schema.h"

#define SCHEMA_MAGIC 0x73636865
#define NONE         UINT32_MAX

/* Nested evaluations of one check: bounds its use of the stack. */
#define EVAL_DEPTH_MAX 1000

/* Bytes of a resolved $id or $ref without fragment. */
#define SCHEMA_URI_MAX 1000

/* Heap bytes of all compiled patterns together. */
#define PATTERN_BYTES_MAX ((size_t)4 << 20)

/* A set of types has the bit of each enum json_type, and this one. */
#define TYPE_INTEGER (1 << JSON_TYPE__MAX)

enum op {
#define K(op, name, dialects, compile, check) OP_##op,
#include "json/keywords.def"
#undef K
	OP__MAX
};

/* A named or numbered part of a keyword's argument. */
struct part {
	struct json_val key;
	uint32_t node;
	struct pattern *pattern;
	/* Keys: parts that follow. An enum value: its canonical text. */
	size_t first;
	size_t count;
};

struct keyword {
	enum op op;
	struct json_val arg;
	uint32_t node;
	size_t first; /* parts */
	size_t count;
	int64_t number; /* a count, a flag, a set of types */
	struct json_decimal decimal;
	struct pattern *pattern;
};

struct node {
	uint32_t at; /* in the schema's text */
	bool fixed;  /* true or false, no keywords */
	bool verdict;
	size_t first; /* keywords */
	size_t count;
};

/* A part of the text with a URI of its own. */
struct resource {
	uint32_t at;
	uint32_t end; /* token behind it */
	char *uri;
};

struct anchor {
	uint32_t at;
	char *name;
};

struct schema {
	uint32_t magic;
	bool old; /* known to be draft-07 */
	bool new; /* known to be 2020-12 */
	struct json_doc *doc;
	struct buf canon; /* canonical texts of enum and const values */
	size_t room;      /* for nodes, keywords and parts, while compiling */
	struct node *nodes;
	size_t nnodes;
	struct keyword *keywords;
	size_t nkeywords;
	struct part *parts;
	size_t nparts;
	size_t pattern_bytes;
	/* While compiling: */
	uint32_t *node_at; /* place of the text -> node, NONE */
	uint32_t current;  /* place of the node at hand */
	bool lexical;      /* it was reached without a reference */
	struct resource *resources;
	size_t nresources;
	struct anchor *anchors;
	size_t nanchors;
	struct schema_error *error;
	bool failed;
};

/* One check of a value. */
struct eval {
	const struct schema *schema;
	struct json_val root;
	struct schema_error *error;  /* NULL: nobody wants to know */
	enum schema_error_kind stop; /* no verdict is possible any more */
	size_t steps;
	unsigned depth;
	unsigned hops;    /* references since the value was last entered */
	uint32_t fail_at; /* where the last mismatch was */
	uint32_t told_at; /* where the one in error is */
	bool refs;        /* a reference stands for any secret */
};

/* Compiling: schema.c, schema_compile.c (arguments), schema_refs.c */
typedef bool schema_compile_fn(struct schema *, struct keyword *);
bool schema_fail(struct schema *, enum schema_error_kind, struct json_val,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The number of the node at v, made if new. */
bool schema_node(struct schema *, struct json_val, uint32_t *ret);
/* The number of the first of n parts in a row. */
size_t schema_reserve(struct schema *, size_t n);
#define K(op, name, dialects, compile, check) \
	schema_compile_fn schema_compile_##compile;
#include "json/keywords.def"
#undef K

/* The resource that is the whole text. */
bool schema_add_root(struct schema *);
bool schema_resolve_ref(struct schema *, struct keyword *);
void schema_free_refs(struct schema *);

/* The keyword of a node, or NULL. */
const struct keyword *
schema_keyword(const struct schema *, const struct node *, enum op);
const char *schema_keyword_name(enum op);

/*
 * Checking: schema_check.c (values), schema_apply.c (schemas in schemas). A
 * check is false if the value does not conform or ev->stop is set.
 */
typedef bool schema_check_fn(struct eval *, const struct node *,
    const struct keyword *, struct json_val);
#define K(op, name, dialects, compile, check) \
	schema_check_fn schema_check_##check;
#include "json/keywords.def"
#undef K
bool schema_check_node(struct eval *, uint32_t node, struct json_val);
/* Takes steps off the budget; false if it is used up. */
bool schema_spend(struct eval *, size_t steps);
bool schema_stop(struct eval *, enum schema_error_kind);
/* True when string v matches; false also when ev->stop was set. */
bool schema_matches(struct eval *, struct pattern *, struct json_val v);
/* The part of a properties keyword with v's key, or NULL. */
const struct part *schema_property(
    const struct schema *, const struct keyword *, struct json_val key);

/* Messages: schema_error.c */
void schema_set_error(struct schema_error *, enum schema_error_kind,
    struct json_val root, uint32_t at, const char *message, size_t len);
/* Always false: reports that v does not conform. */
bool schema_mismatch(struct eval *, struct json_val v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes the value out of the error at this place if it is writeOnly. */
void schema_hide_secret(struct eval *, uint32_t at);
/* A value's JSON text in at most SCHEMA_QUOTE bytes with its NUL. */
#define SCHEMA_QUOTE 80
const char *schema_quote(struct json_val, char dst[SCHEMA_QUOTE]);
/* The property of a keyword (or NULL) that key was meant for; missing if none. */
struct json_val schema_guess(
    const struct schema *, const struct keyword *, struct json_val key);

#endif
