/*
 * Options of run.submit, read in supervisord from one table: a member that is
 * not in it is refused, so that a misspelt one is never passed over.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisord/domains.h"
#include "supervisord/options.h"

typedef bool option_fn(struct json_val, struct options *, struct refusal *);

static bool
option_mode(struct json_val v, struct options *o, struct refusal *r)
{
	char name[16];

	if (json_str_copy(v, name, sizeof(name)) &&
	    run_mode_by_name(name, &o->mode))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/mode: expected \"sync\", \"async\" or \"auto\"");
}

static bool
option_timeout(struct json_val v, struct options *o, struct refusal *r)
{
	int64_t ms;

	if (!json_get_int64(v, &ms) || ms < 1 || ms > LIMIT_TIMEOUT_MS)
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/options/timeoutMs: expected an integer from 1 to %d",
		    LIMIT_TIMEOUT_MS);
	o->timeout_ms = ms;
	return true;
}

static bool
option_key(struct json_val v, struct options *o, struct refusal *r)
{
	if (json_str_copy(v, o->key, sizeof(o->key)) && o->key[0] != '\0')
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/idempotencyKey: expected a string of 1 to %d bytes",
	    LIMIT_KEY_BYTES);
}

static bool
option_priority(struct json_val v, struct options *o, struct refusal *r)
{
	char name[16];

	if (json_str_copy(v, name, sizeof(name)) &&
	    run_priority_by_name(name, &o->priority))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/priority: expected \"low\", \"normal\", \"high\" or"
	    " \"critical\"");
}

bool
options_trace_valid(const char *text)
{
	return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32 &&
	    strspn(text, "0") != 32;
}

void
options_trace_make(char ret[STORE_TRACE_CHARS + 1])
{
	static const char digits[] = "0123456789abcdef";
	static uint8_t pool[32 * STORE_TRACE_CHARS / 2];
	static size_t left;
	const uint8_t *random;

	ret[STORE_TRACE_CHARS] = '\0';
	do {
		/* Each call asks the kernel for our pid: a handful at a time. */
		if (left == 0) {
			arc4random_buf(pool, sizeof(pool));
			left = sizeof(pool);
		}
		left -= STORE_TRACE_CHARS / 2;
		random = pool + left;
		for (size_t i = 0; i < STORE_TRACE_CHARS / 2; i++) {
			ret[2 * i] = digits[random[i] >> 4];
			ret[2 * i + 1] = digits[random[i] & 15];
		}
	} while (!options_trace_valid(ret));
}

static bool
option_trace(struct json_val v, struct options *o, struct refusal *r)
{
	char text[STORE_TRACE_CHARS + 1];

	if (!json_is_string(v))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/options/traceId: expected a string");
	/* One that is not valid is replaced, never a reason to refuse. */
	if (json_str_copy(v, text, sizeof(text)) && options_trace_valid(text))
		strlcpy(o->trace_id, text, sizeof(o->trace_id));
	return true;
}

static bool
option_facts(struct json_val v, struct options *o, struct refusal *r)
{
	char text[65];

	if (!json_str_copy(v, text, sizeof(text)) || strlen(text) != 64 ||
	    strspn(text, "0123456789abcdef") != 64)
		return refuse(r, ERR_INVALID_PARAMETER,
		    "/options/factsSnapshotId: expected 64 lower-case hex"
		    " digits");
	strlcpy(o->facts_snapshot_id, text, sizeof(o->facts_snapshot_id));
	return true;
}

static bool
option_resources(struct json_val v, struct options *o, struct refusal *r)
{
	o->has_resources = true;
	o->text_only = json_str_eq(v, "text");
	if (o->text_only || json_str_eq(v, "all"))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/resources: expected \"text\" or \"all\"");
}

/* Only agents act on it; elsewhere it has to be an object. */
static bool
option_output_schema(struct json_val v, struct options *o, struct refusal *r)
{
	if (json_is_object(v))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/outputSchema: expected an object");
}

static bool
option_allowed(struct json_val v, struct options *o, struct refusal *r)
{
	free(o->allowed);
	o->allowed = NULL;
	return domains_read(v, "/options/allowedDomains", &o->allowed, r);
}

static bool
option_forbidden(struct json_val v, struct options *o, struct refusal *r)
{
	free(o->forbidden);
	o->forbidden = NULL;
	return domains_read(v, "/options/forbiddenDomains", &o->forbidden, r);
}

static bool
option_public_only(struct json_val v, struct options *o, struct refusal *r)
{
	if (json_get_bool(v, &o->public_only))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/publicOnly: expected true or false");
}

static bool
option_share_session(struct json_val v, struct options *o, struct refusal *r)
{
	if (json_get_bool(v, &o->share_session))
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/shareSession: expected true or false");
}

static bool
option_kept(struct json_val v, struct options *o, struct refusal *r)
{
	free(o->kept);
	o->kept = NULL;
	if (!domains_read(v, "/options/clientDomains", &o->kept, r))
		return false;
	if (strlen(o->kept) <= LIMIT_KEEP_BYTES)
		return true;
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/clientDomains: the list is longer than %u bytes",
	    LIMIT_KEEP_BYTES);
}

static const struct {
	const char *name;
	option_fn *read;
} option_rows[] = {
	{ "mode", option_mode },
	{ "timeoutMs", option_timeout },
	{ "idempotencyKey", option_key },
	{ "priority", option_priority },
	{ "traceId", option_trace },
	{ "factsSnapshotId", option_facts },
	{ "outputSchema", option_output_schema },
	{ "allowedDomains", option_allowed },
	{ "forbiddenDomains", option_forbidden },
	{ "resources", option_resources },
	{ "publicOnly", option_public_only },
	{ "shareSession", option_share_session },
	{ "clientDomains", option_kept },
};

#define OPTION_ROWS (sizeof(option_rows) / sizeof(option_rows[0]))

static bool
option_read(struct json_val key, struct json_val val, struct options *o,
    struct refusal *r)
{
	char name[64] = "...";

	for (size_t i = 0; i < OPTION_ROWS; i++)
		if (json_str_eq(key, option_rows[i].name))
			return option_rows[i].read(val, o, r);
	json_str_copy(key, name, sizeof(name));
	return refuse(r, ERR_INVALID_PARAMETER,
	    "/options/%s: there is no such option", name);
}

void
options_clear(struct options *o)
{
	free(o->allowed);
	free(o->forbidden);
	o->allowed = NULL;
	o->forbidden = NULL;
	free(o->kept);
	o->kept = NULL;
}

bool
options_read(struct json_val v, struct options *ret, struct refusal *r)
{
	struct options o;
	struct json_iter it;

	memset(&o, 0, sizeof(o));
	o.mode = MODE_AUTO;
	o.priority = PRIORITY_NORMAL;
	if (!json_is_missing(v) && !json_is_object(v))
		return refuse(
		    r, ERR_INVALID_PARAMETER, "/options: expected an object");
	for (it = json_iter(v); json_iter_next(&it);)
		if (!option_read(it.key, it.val, &o, r)) {
			options_clear(&o);
			return false;
		}
	*ret = o;
	return true;
}

enum run_mode
options_mode(const struct options *o, const struct template *t,
    struct json_val inputs, bool pool_full)
{
	enum run_mode mode = o->mode == MODE_AUTO ? t->mode : o->mode;

	if (mode == MODE_AUTO) {
		mode = MODE_SYNC;
		if (t->sync_input[0] != '\0' &&
		    json_len(json_obj_get(inputs, t->sync_input)) >
			(size_t)t->sync_max)
			mode = MODE_ASYNC;
	}
	return o->mode == MODE_AUTO && pool_full ? MODE_ASYNC : mode;
}

int64_t
options_limit(const struct options *o, const struct template *t,
    const struct settings *s, enum run_mode mode)
{
	int64_t ms = o->timeout_ms > 0 ? o->timeout_ms : s->defaultTimeoutMs;

	if (ms > t->max_timeout_ms)
		ms = t->max_timeout_ms;
	if (ms > s->asyncTimeoutMs)
		ms = s->asyncTimeoutMs;
	if (mode == MODE_SYNC && ms > s->syncTimeoutMs)
		ms = s->syncTimeoutMs;
	return ms;
}
