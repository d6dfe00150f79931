/*
 * options: the options of a submission and what they come to together with the
 * template's and the service's limits. Pure.
 */
#ifndef SUPERVISORD_OPTIONS_H
#define SUPERVISORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "json/tape.h"
#include "model/limits.h"
#include "model/run.h"
#include "model/settings.h"
#include "storage/run.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"

struct options {
	enum run_mode mode;
	int64_t timeout_ms;            /* 0: not given */
	char key[LIMIT_KEY_BYTES + 1]; /* "": none */
	enum run_priority priority;
	char trace_id[STORE_TRACE_CHARS + 1]; /* "": none */
	char facts_snapshot_id[STORE_FACTS_CHARS + 1];
	bool has_resources;
	bool text_only;
	bool share_session;
	/* Patterns of hosts, one a line; NULL: not given. */
	char *allowed, *forbidden;
	/* What a client adds to each of its runs. */
	bool public_only;
	char *kept; /* patterns, as above */
};

/*
 * A missing value is no options. Unknown members are refused by name. What was
 * read is to be cleared.
 */
bool options_read(struct json_val, struct options *ret, struct refusal *);
/* Frees what it holds, twice does no harm. */
void options_clear(struct options *);
/* 32 lower hex digits that are not all zero. */
bool options_trace_valid(const char *);
/* A random one. */
void options_trace_make(char ret[STORE_TRACE_CHARS + 1]);
/* sync or async, for what was asked, the template and the inputs. */
enum run_mode options_mode(const struct options *, const struct template *,
    struct json_val inputs, bool pool_full);
/* The run's limit in ms: the lowest of all that apply. */
int64_t options_limit(const struct options *, const struct template *,
    const struct settings *, enum run_mode);

#endif
