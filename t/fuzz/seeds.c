/*
 * Makes what can be made from the tables: a message of every row for the IPC
 * and launch targets, and the dictionaries. Runs when the tests are built:
 *
 *	seeds DIRECTORY
 *
 * writes files into DIRECTORY/TARGET and the files DIRECTORY/TARGET.dict.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cdp/cdp.h"
#include "ipc/mp.h"
#include "ipc/scan.h"
#include "json/schema_int.h"
#include "launch/launch.h"
#include "model/settings.h"
#include "t/fuzz/ipc_sample.h"

static const char *top;

static FILE *
open_file(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, dir);
	if (mkdir(path, 0755) == -1 && errno != EEXIST)
		err(1, "%s", path);
	snprintf(path, sizeof(path), "%s/%s/%s", top, dir, name);
	f = fopen(path, "w");
	if (f == NULL)
		err(1, "%s", path);
	return f;
}

static void
close_file(FILE *f)
{
	if (ferror(f) || fclose(f) != 0)
		err(1, "writing");
}

static void
seed(const char *target, const char *name, const void *head, size_t head_len,
    const void *body, size_t body_len)
{
	FILE *f = open_file(target, name);

	fwrite(head, 1, head_len, f);
	fwrite(body, 1, body_len, f);
	close_file(f);
}

/* The message as it is sent: twice, each behind its length. */
static void
chan_seed(const struct msg_row *row, const char *name, unsigned phase,
    const struct buf *msg)
{
	uint8_t head[4] = { (uint8_t)row->dir, (uint8_t)phase, 3, 1 };
	bool packets = ipc_is_packets(row->dir);
	struct buf b;

	buf_init(&b, LIMIT_FRAME_BYTES);
	for (int i = 0; i < 2; i++) {
		uint8_t len[4] = { 0, 0, (uint8_t)(msg->len >> 8),
			(uint8_t)msg->len };

		buf_add(&b, len + (packets ? 3 : 0), packets ? 1 : 4);
		buf_add(&b, msg->data, msg->len);
	}
	seed("ipc_chan", name, head, sizeof(head), b.data, b.len);
	buf_clear(&b);
}

static void
ipc_seeds(const struct msg_row *row)
{
	uint8_t deep = IPC_DEPTH_MAX, head[3] = { (uint8_t)row->dir, 0, 1 };
	char name[64];
	struct buf b;

	while ((1u << head[1] & row->phases) == 0)
		head[1]++;
	buf_init(&b, LIMIT_FRAME_BYTES);
	for (int all = 0; all < 2; all++) {
		buf_reset(&b);
		ipc_sample(row, all, &b);
		snprintf(name, sizeof(name), "%d-%s-%s", row->dir, row->name,
		    all ? "all" : "least");
		seed("ipc_msg", name, head, sizeof(head), b.data, b.len);
		if (all)
			seed("ipc_scan", name, &deep, 1, b.data, b.len);
		else
			chan_seed(row, name, head[1], &b);
	}
	buf_clear(&b);
}

static void
ipc_responses(void)
{
	static const uint8_t head[3] = { IPC_OUT, 1, 0 };
	struct buf b;

	buf_init(&b, 4096);
	if (!ipc_encode_result(&b, 1, "{\"a\":1}", 7))
		errx(1, "a result");
	seed("ipc_msg", "result", head, 3, b.data, b.len);
	buf_reset(&b);
	if (!ipc_encode_error(&b, 1, "{\"a\":1}", 7))
		errx(1, "an error");
	seed("ipc_msg", "error", head, 3, b.data, b.len);
	buf_clear(&b);
}

/* Each type on each link with each number of descriptors is tried: few of
 * them are right. */
static void
launch_seeds(void)
{
	const struct launch_limits least = { LAUNCH_MEMORY_LEAST,
		LAUNCH_PROFILE_LEAST, 0, LAUNCH_PROCESSES_LEAST, 0 };
	char name[64];

	for (int type = 1; type < LAUNCH__MAX; type++)
		for (int link = 0; link < LAUNCH_LINK__MAX; link++) {
			uint8_t head[2] = { (uint8_t)link,
				(uint8_t)launch_type_fds(
				    (enum launch_type)type) };
			struct launch_msg m;

			launch_msg_init(&m, (enum launch_type)type,
			    (type >= LAUNCH_FORGET &&
				type <= LAUNCH_SECRET_DROP) ||
				    (type >= LAUNCH_EGRESS &&
					type <= LAUNCH_EGRESS_LINK) ||
				    type == LAUNCH_ADOPT_END ||
				    type == LAUNCH_SECRET_KEPT ||
				    type == LAUNCH_RESTART
				? 0
				: 7);
			if (type == LAUNCH_SPAWN)
				m.u.spawn.limits = least;
			if (type == LAUNCH_START)
				m.u.start.limits = least;
			if (type == LAUNCH_ADOPT)
				m.u.adopt.spawn.limits = least;
			if (type == LAUNCH_SECRET_KEPT)
				m.u.kept.count = 2;
			if (type == LAUNCH_FORGET || type == LAUNCH_KNOWN)
				strlcpy(m.u.profile.name, "kept",
				    sizeof(m.u.profile.name));
			snprintf(name, sizeof(name), "%d-%s", link,
			    launch_type_name((enum launch_type)type));
			seed("launch", name, head, 2, &m, sizeof(m));
		}
}

static FILE *
open_dict(const char *target)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.dict", target);
	return open_file(".", name);
}

static void
dict_bytes(FILE *f, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	fputc('"', f);
	for (size_t i = 0; i < len; i++)
		if (p[i] < 0x20 || p[i] > 0x7e || p[i] == '"' || p[i] == '\\')
			fprintf(f, "\\x%02x", p[i]);
		else
			fputc(p[i], f);
	fputs("\"\n", f);
}

static void
dict_quoted(FILE *f, const char *word)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "\"%s\"", word);

	dict_bytes(f, text, (size_t)len);
}

static void
dict_words(FILE *f, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dict_bytes(f, words[i], strlen(words[i]));
}

#define WORDS(f, words) dict_words(f, words, sizeof(words) / sizeof(words[0]))

static void
ipc_dict(const char *target)
{
	FILE *f = open_dict(target);
	struct buf b;

	buf_init(&b, 4096);
	for (int i = 0; i < MSG__MAX + F__MAX; i++) {
		buf_reset(&b);
		if (i < MSG__MAX)
			mp_put_cstr(&b, msg_row((enum msg_id)i)->name);
		else
			mp_put_cstr(
			    &b, msg_key_name((enum msg_key)(i - MSG__MAX)));
		dict_bytes(f, b.data, b.len);
	}
	buf_clear(&b);
	close_file(f);
}

static void
json_dict(const char *target)
{
	static const char *const words[] = { "{\"\":", "[]", "{}", "null",
		"true", "false", "\\u0000", "\\ud800", "\\udc00", "\\\"",
		"\\\\", "\\/", "1e308", "5e-324", "-0", "0.1",
		"9223372036854775807", "-9223372036854775808",
		"18446744073709551616", "1e9007199254740993", "\xef\xbf\xbd",
		"\xed\xa0\x80", "\xf4\x8f\xbf\xbf", "\xc2\x80",
		"\"id\":", "\"method\":", "\"sessionId\":" };
	FILE *f = open_dict(target);

	WORDS(f, words);
	close_file(f);
}

static void
schema_dict(void)
{
	static const char *const words[] = { "{\"schema\":", ",\"value\":",
		"\"string\"", "\"number\"", "\"integer\"", "\"boolean\"",
		"\"object\"", "\"array\"", "\"null\"", "\"#\"", "\"#/$defs/a\"",
		"\"http://json-schema.org/draft-07/schema#\"",
		"\"https://json-schema.org/draft/2020-12/schema\"", "[^a]",
		"\\d", "\\p{L}", "\\u{1}", "(?:", "(?=", "{1,2}", "$", "^" };
	FILE *f = open_dict("schema");

	for (int op = 0; op < OP__MAX; op++)
		dict_quoted(f, schema_keyword_name((enum op)op));
	WORDS(f, words);
	close_file(f);
}

static void
submit_dict(void)
{
	static const char *const words[] = { "\"id\":\"t\"",
		"\"version\":\"1.0.0\"", "\"name\":", "\"description\":",
		"\"inputs\":", "\"outputs\":", "{\"type\":\"object\"}",
		"\"limits\":", "\"maxTimeoutMs\":", "\"trustLevelSupport\":",
		"\"executionMode\":", "\"auto\"",
		"\"syncUpTo\":", "\"supportsPartialSuccess\":",
		"\"partialSuccessThreshold\":", "\"restartSafe\":",
		"\"keepsSession\":", "\"exampleInputs\":", "\"errorCodes\":",
		"\"mode\":", "\"timeoutMs\":", "\"idempotencyKey\":",
		"\"priority\":", "\"traceId\":", "\"factsSnapshotId\":",
		"\"outputSchema\":", "\"allowedDomains\":", "\"resources\":" };
	FILE *f = open_dict("submit");

	WORDS(f, words);
	close_file(f);
}

static void
cdp_dict(void)
{
	static const char *const words[] = { "{\"id\":1,\"result\":{",
		"{\"id\":2,\"error\":{\"code\":-32000,\"message\":\"",
		",\"sessionId\":\"S1\"}", "{\"method\":\"", ",\"params\":{",
		"\"id\":", "\"result\":", "\"error\":", "\"sessionId\":",
		"\"params\":", "\"method\":", "\"S1\"", "}" };
	FILE *f = open_dict("cdp");

	for (int i = 0; i < CDP_EV__MAX; i++)
		dict_quoted(f, cdp_event_name((enum cdp_event_kind)i));
	WORDS(f, words);
	dict_bytes(f, "", 1);
	close_file(f);
}

static void
conf_dict(void)
{
	static const char *const words[] = { " = ", "+=", "yes", "no", "\"",
		"'", "# ", "/*", "*/", "//", "${HOME}", "{", "}", "(", ")", ",",
		"\\x41", "\\101", "\n", "include", "-1", "0x10" };
	FILE *f = open_dict("conf");
	const struct setting_info *row;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++)
		dict_bytes(f, row->name, strlen(row->name));
	WORDS(f, words);
	close_file(f);
}

static void
ctl_dict(void)
{
	static const char *const words[] = { "a=", "a:=", "=@f", "@f", "-",
		"\n%%\n", "\n", ":=[", "\"a\"",
		"{\"properties\":{\"a\":", "{\"type\":\"", "array",
		"\"items\":", "integer", "boolean", "object", "\r\n" };
	FILE *f = open_dict("ctl");

	WORDS(f, words);
	close_file(f);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: seeds DIRECTORY");
	top = argv[1];
	if (mkdir(top, 0755) == -1 && errno != EEXIST)
		err(1, "%s", top);
	for (int i = 0; i < MSG__MAX; i++)
		ipc_seeds(msg_row((enum msg_id)i));
	ipc_responses();
	launch_seeds();
	ipc_dict("ipc_scan");
	ipc_dict("ipc_msg");
	ipc_dict("ipc_chan");
	json_dict("json");
	schema_dict();
	submit_dict();
	cdp_dict();
	conf_dict();
	ctl_dict();
	return 0;
}
