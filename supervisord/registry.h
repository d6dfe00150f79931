/*
 * registry: the templates that can be run, known by the metadata each declares
 * (contract section 6). supervisord never executes a template.
 */
#ifndef SUPERVISORD_REGISTRY_H
#define SUPERVISORD_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "json/schema.h"
#include "json/tape.h"
#include "json/writer.h"
#include "model/run.h"

#define TEMPLATE_ID_CHARS       64
#define TEMPLATE_VERSION_CHARS  32
#define TEMPLATE_META_BYTES_MAX (256u << 10)

struct template
{
	STAILQ_ENTRY(template) entry;
	char id[TEMPLATE_ID_CHARS + 1];
	char version[TEMPLATE_VERSION_CHARS + 1];
	struct json_doc *doc; /* all of the metadata */
	struct schema *inputs;
	int64_t max_timeout_ms;
	enum run_mode mode; /* executionMode */
	/* auto is sync while this input has at most so many elements. */
	char sync_input[64];
	int64_t sync_max;
	bool trust[TRUST__MAX]; /* trustLevelSupport */
	bool partial_ok;
	double threshold;
	bool restart_safe;
	bool keeps_session; /* a session it makes outlives its run */
	bool by_items;
	bool text_only; /* resources: nothing but text is loaded */
};

struct registry;

struct registry *registry_new(void);
void registry_free(struct registry **);
/* Takes one metadata document. On failure ret_why says what is wrong. */
bool registry_add(struct registry *, const void *json, size_t len,
    char *ret_why, size_t why_size);
/* NULL when there is none of that name. */
const struct template *registry_find(const struct registry *, const char *id);
size_t registry_count(const struct registry *);
/* An array of the metadata documents of all, or of the one with that id. */
void
registry_write(const struct registry *, const char *id, struct json_writer *);

#endif
