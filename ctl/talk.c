/*
 * Talking: to the service, and about it to people. Every failure names what
 * was tried and the next step.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "ctl/ctl.h"
#include "ctl/text.h"
#include "json/writer.h"

#define PRETTY_BYTES_MAX (64u << 20)
#define LABEL_COLUMNS    10
#define TRIES            3
#define SAID_LEFT        6 /* of a second line, as wide as "hint: " */

static const char starting_hint[] =
    "it may be starting anew: try again; browsertaskctl doctor looks for more";

static void __attribute__((format(printf, 2, 0)))
say(const char *who, const char *fmt, va_list ap)
{
	char text[2048];
	int error = errno;
	struct buf b;

	vsnprintf(text, sizeof(text), fmt, ap);
	buf_init(&b, 2 * sizeof(text) + 1);
	text_clean(&b, text, strlen(text), false);
	buf_add(&b, "", 1);
	fprintf(stderr, "%s: ", who);
	text_wrap(stderr, b.data == NULL ? "" : (char *)b.data,
	    text_columns(STDERR_FILENO), strlen(who) + 2, SAID_LEFT);
	buf_clear(&b);
	errno = error;
}

void
ctl_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("browsertaskctl", fmt, ap);
	va_end(ap);
}

static bool hinted;

bool
ctl_hinted(void)
{
	return hinted;
}

void
ctl_hint(const char *fmt, ...)
{
	va_list ap;

	hinted = true;
	va_start(ap, fmt);
	say("hint", fmt, ap);
	va_end(ap);
}

/* What to do about a part of the request, which the message begins with. */
static bool
tell_part(const struct ctl *ctl, const char *message)
{
	static const char *const rows[][2] = {
		{ "cursor: ",
		    "a cursor is what the hint below a list has; without "
		    "--cursor the list begins anew" },
		{ "/options/idempotencyKey: ",
		    "--key takes a text of your own that names what is to be "
		    "done once" },
		{ "/options/allowedDomains",
		    "--allow-domains takes hosts with commas between, such as "
		    "example.com,*.example.com:443" },
		{ "/options/forbiddenDomains",
		    "--forbid-domains takes hosts with commas between, such as "
		    "example.com,*.example.com:443" },
	};

	if (strncmp(message, "/inputs", strlen("/inputs")) == 0 &&
	    ctl->nargs > 0) {
		ctl_hint("browsertaskctl templates %s shows what it takes",
		    ctl->args[0]);
		return true;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(message, rows[i][0], strlen(rows[i][0])) != 0)
			continue;
		ctl_hint("%s", rows[i][1]);
		return true;
	}
	return false;
}

/* What to do about an error, where a command of ours helps. */
static const char *
command_hint(struct json_val error)
{
	static const char *const rows[][2] = {
		{ "RUN_NOT_FOUND",
		    "browsertaskctl runs lists the runs; a run "
		    "expires some time after its end" },
		{ "TEMPLATE_NOT_FOUND",
		    "browsertaskctl templates lists the "
		    "templates" },
		{ "SESSION_NOT_FOUND",
		    "browsertaskctl sessions lists those that are kept; a run "
		    "without --session gets a new one" },
		{ "ARTIFACT_NOT_FOUND",
		    "browsertaskctl artifacts RUN "
		    "lists a run's artifacts" },
		{ "TRUST_LEVEL_NOT_ALLOWED",
		    "ask as root, or as the user browsertaskd runs as" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (json_str_eq(json_obj_get(error, "errorCode"), rows[i][0]))
			return rows[i][1];
	return NULL;
}

static void
tell_error(const struct ctl *ctl, struct json_val error)
{
	const char *hint = command_hint(error);
	char *code = text_of(json_obj_get(error, "errorCode"));
	char *message = text_of(json_obj_get(error, "message"));
	char *advice = text_of(json_obj_get(error, "recoverHint"));

	if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(error);
	ctl_error("%s (%s)", message == NULL ? "refused" : message,
	    code == NULL ? "?" : code);
	if (message != NULL && tell_part(ctl, message))
		;
	else if (hint != NULL)
		ctl_hint("%s", hint);
	else if (advice != NULL && advice[0] != '\0')
		ctl_hint("%s", advice);
	free(code);
	free(message);
	free(advice);
}

/* The error that answered hello, as client_connect() tells it. */
static bool
tell_refusal(const struct ctl *ctl, const char *error)
{
	struct json_doc *doc;

	if (error == NULL ||
	    !json_parse((const uint8_t *)error, strlen(error), NULL,
		JSON_BORROW, &doc, NULL))
		return false;
	tell_error(ctl, json_root(doc));
	json_doc_free(&doc);
	return true;
}

enum ctl_exit
ctl_connect(struct ctl *ctl)
{
	char reason[CLIENT_REASON_MAX];
	enum client_status status;
	int tries = 0;

	if (ctl->client != NULL)
		return CTL_OK;
	/* The one that took it may just be ending; the next one follows. */
	do
		status = client_connect("browsertaskctl", ctl->opt[OPT_SOCKET],
		    &ctl->client, reason);
	while (status == CLIENT_LOST && ++tries < TRIES);
	if (status == CLIENT_OK)
		return CTL_OK;
	if (status == CLIENT_NO_SERVICE) {
		ctl_error("no service answers (%s)", reason);
		if (strstr(reason, strerror(EACCES)) != NULL)
			ctl_hint("ask as root or as the socket's owner, or be "
				 "in the group of the setting "
				 "clientGroup");
		else
			ctl_hint("start browsertaskd, or name its socket with "
				 "--socket or $BROWSERTASK_SOCKET; "
				 "browsertaskctl doctor looks for more");
	} else if (status == CLIENT_LOST || status == CLIENT_TIMEOUT) {
		ctl_error("the service does not answer (%s)", reason);
		ctl_hint("%s", starting_hint);
	} else if (!tell_refusal(ctl, strchr(reason, '{'))) {
		ctl_error("the service does not take this client (%s)", reason);
		ctl_hint("use the browsertaskctl that was installed with the "
			 "service");
	}
	return CTL_NO_SERVICE;
}

enum ctl_exit
ctl_connect_admin(struct ctl *ctl)
{
	static char path[CLIENT_PATH_MAX + 16];
	enum ctl_exit rc = ctl_connect(ctl);
	char *name;

	if (rc != CTL_OK || client_hello(ctl->client)->admin)
		return rc;
	snprintf(path, sizeof(path), "%s", client_path(ctl->client));
	name = strrchr(path, '/');
	if (name == NULL)
		return CTL_OK;
	snprintf(
	    name + 1, sizeof(path) - (size_t)(name + 1 - path), "admin.sock");
	client_free(&ctl->client);
	ctl->opt[OPT_SOCKET] = path;
	return ctl_connect(ctl);
}

/* "run.get: value out of range: runId" */
static enum ctl_exit
tell_bad_request(const char *reason)
{
	static const char range[] = "value out of range: ";
	const char *field = strstr(reason, range);

	if (field != NULL)
		ctl_error("what was given as %s is too short, too long or out "
			  "of range",
		    field + strlen(range));
	else
		ctl_error("%s", reason);
	return CTL_USAGE;
}

/* What to do about a request that was sent, and not answered. */
static const char *
unanswered_hint(enum msg_id msg, enum client_status status)
{
	if (msg == MSG_RUN_SUBMIT)
		return "the run may have been taken: browsertaskctl runs lists "
		       "it once the service answers; with --key the same may "
		       "be submitted twice";
	if (msg == MSG_PROFILE_GET)
		return starting_hint;
	if (status == CLIENT_TIMEOUT)
		return "the service hangs, or the machine has too much to do: "
		       "try again; browsertaskctl doctor looks for more";
	return "browsertaskctl status tells whether the service is there";
}

enum ctl_exit
ctl_call(struct ctl *ctl, const struct ipc_params *p, int timeout_ms,
    struct ctl_answer *ret_answer)
{
	enum ctl_exit rc = ctl_connect(ctl);
	struct ctl_answer a = { 0 };
	enum client_status status;

	if (rc != CTL_OK)
		return rc;
	status = client_call(ctl->client, p, timeout_ms, &a.bytes);
	if (status == CLIENT_LOST && p->msg == MSG_PROFILE_GET) {
		/* It only asks, and the next one answers as well. */
		client_free(&ctl->client);
		if ((rc = ctl_connect(ctl)) != CTL_OK)
			return rc;
		status = client_call(ctl->client, p, timeout_ms, &a.bytes);
	}
	if (status == CLIENT_BAD_REQUEST)
		return tell_bad_request(client_reason(ctl->client));
	if (status != CLIENT_OK && status != CLIENT_ERROR) {
		ctl_error("%s: %s", msg_row(p->msg)->name,
		    client_reason(ctl->client));
		ctl_hint("%s", unanswered_hint(p->msg, status));
		return CTL_NO_SERVICE;
	}
	if (!json_parse((const uint8_t *)a.bytes.json, a.bytes.len, NULL,
		JSON_BORROW, &a.doc, NULL)) {
		ctl_error("the service's answer is no JSON");
		client_answer_free(&a.bytes);
		return CTL_REFUSED;
	}
	a.root = json_root(a.doc);
	if (status == CLIENT_ERROR) {
		tell_error(ctl, a.root);
		ctl_answer_free(&a);
		return CTL_REFUSED;
	}
	*ret_answer = a;
	return CTL_OK;
}

void
ctl_answer_free(struct ctl_answer *a)
{
	json_doc_free(&a->doc);
	client_answer_free(&a->bytes);
	memset(a, 0, sizeof(*a));
}

void
ctl_print_json(struct json_val v)
{
	const uint8_t *raw;
	struct buf b;
	size_t len;

	buf_init(&b, PRETTY_BYTES_MAX);
	if (json_pretty(v, &b))
		printf("%.*s\n", (int)b.len, (char *)b.data);
	else if (json_raw(v, &raw, &len))
		printf("%.*s\n", (int)len, (const char *)raw);
	buf_clear(&b);
}

void
ctl_print_written(struct json_writer *w, const struct buf *b)
{
	struct json_doc *doc;

	if (!json_writer_finish(w) ||
	    !json_parse(b->data, b->len, NULL, JSON_BORROW, &doc, NULL))
		return;
	ctl_print_json(json_root(doc));
	json_doc_free(&doc);
}

bool
ctl_number(const struct ctl *ctl, enum ctl_option option, int64_t min,
    int64_t max, int64_t *ret_value)
{
	const char *text = ctl->opt[option];
	char *end;
	long long v;

	if (text == NULL)
		return true;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < min || v > max) {
		ctl_error("%s is no number from %" PRId64 " to %" PRId64, text,
		    min, max);
		return false;
	}
	*ret_value = v;
	return true;
}

enum ctl_exit
ctl_exit_of(struct json_val run)
{
	struct json_val status = json_obj_get(run, "status");

	if (json_str_eq(status, "partial_success"))
		return CTL_PARTIAL;
	if (json_str_eq(status, "failed") || json_str_eq(status, "canceled"))
		return CTL_FAILED;
	return CTL_OK;
}

void
show_text(const char *label, const char *fmt, ...)
{
	va_list ap;

	printf("%-*s ", LABEL_COLUMNS, label);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void
show_line(const char *label, struct json_val v)
{
	char *text;

	if (json_is_missing(v) || json_is_null(v))
		return;
	text = text_of(v);
	if (text != NULL && text[0] != '\0')
		show_text(label, "%s", text);
	free(text);
}

bool
ctl_set_moment(const struct ctl *ctl, enum ctl_option option, int64_t now_ms,
    enum msg_key key, struct ipc_params *p)
{
	const char *text = ctl->opt[option];
	int64_t ms;

	if (text == NULL)
		return true;
	if (!ctl_moment(text, now_ms, &ms)) {
		ctl_error("%s is no time", text);
		ctl_hint("2h (ago), 30m, 7d, 14:30, 2026-11-21 and "
			 "\"2026-11-21 14:30\" are");
		return false;
	}
	ipc_set_int(p, key, ms);
	return true;
}
