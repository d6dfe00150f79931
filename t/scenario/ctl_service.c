/*
 * ctl_service SOCKET DIR: a service of canned answers for the test of
 * browsertaskctl. Says "ready" on standard output when it listens; leaves the
 * inputs and options of a submission in DIR.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "ipc/chan.h"

#define ERROR(code)                                                  \
	"{\"errorCode\":\"" code "\",\"message\":\"no such thing\"," \
	"\"recoverHint\":\"Look again.\",\"retryable\":false,\"details\":{}}"
#define ITEM(url, title, ok)                                           \
	"{\"url\":\"" url "\",\"title\":\"" title "\",\"status\":200," \
	"\"pageType\":\"article\",\"elementCount\":12,"                \
	"\"contentSections\":3,\"elapsedMs\":420,\"success\":" ok "}"
#define BAD_ITEM                                                             \
	"{\"url\":\"http://c/\",\"success\":false,\"error\":{\"errorCode\":" \
	"\"NAVIGATION_TIMEOUT\",\"message\":\"took too long\"}}"
#define RUN(id, status, result, error)                                      \
	"{\"runId\":\"" id "\",\"templateId\":\"batch_extract_pages\","     \
	"\"status\":\"" status "\",\"progress\":{\"doneSteps\":1,"          \
	"\"totalSteps\":3},\"metrics\":{\"elapsedMs\":1500,\"queueMs\":5}," \
	"\"createdAt\":1763762400000,\"artifactIds\":[\"art_T\"],"          \
	"\"result\":" result ",\"error\":" error "}"
#define RESULT                                                                      \
	"{\"summary\":{\"total\":3,\"succeeded\":2,\"failed\":1},\"items\":[" ITEM( \
	    "http://a/", "\xe4\xbd\xa0\xe5\xa5\xbd",                                \
	    "true") "," ITEM("http://b/", "red \\u001b[31malert\\u202e",            \
	    "true") "," BAD_ITEM "]}"

#define SHOWN                                                                    \
	"{\"success\":true,\"sessionId\":null,\"finalPage\":{\"url\":"           \
	"\"http://a/\",\"title\":\"red \\u001b[31malert\"},\"terms\":[\"a\","    \
	"\"b\"],\"pageInfo\":{\"type\":\"list\",\"elements\":[{\"tag\":\"a\"}]," \
	"\"counts\":{\"link\":{\"x\":1}}},\"pages\":[{\"page\":{\"url\":"        \
	"\"http://a/1\"},\"n\":1,\"content\":{\"sections\":[{}]}},{\"n\":2}]}"

/* What a run of 30 has when it was canceled after three. */
#define CUT                                                         \
	"{\"summary\":{\"total\":30,\"succeeded\":2,\"failed\":1}," \
	"\"items\":[" BAD_ITEM "]}"
#define SHORT                                                      \
	"{\"summary\":{\"total\":3,\"succeeded\":3,\"failed\":0}," \
	"\"items\":[" BAD_ITEM "],\"truncated\":{\"shownItems\":1}}"

static const char *const runs[][2] = {
	{ "run_S", RUN("run_S", "succeeded", SHOWN, "null") },
	{ "run_A", RUN("run_A", "succeeded", RESULT, "null") },
	{ "run_P", RUN("run_P", "partial_success", RESULT, "null") },
	{ "run_C", RUN("run_C", "partial_success", CUT, "null") },
	{ "run_T", RUN("run_T", "succeeded", SHORT, "null") },
	{ "run_F", RUN("run_F", "failed", "null", ERROR("RUN_TIMEOUT")) },
	{ "run_R", RUN("run_R", "running", "null", "null") },
};

static const char templates[] =
    "{\"templates\":[{\"id\":\"batch_extract_pages\",\"version\":\"1.0.0\","
    "\"description\":\"Reads pages.\",\"inputs\":{\"type\":\"object\","
    "\"required\":[\"urls\"],\"properties\":{\"urls\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"},\"description\":\"pages\"},"
    "\"concurrency\":{\"type\":\"integer\"},\"csv\":{\"type\":"
    "\"boolean\"}}},\"exampleInputs\":{\"urls\":[\"http://x/\"]}}]}";

static const char artifacts[] =
    "{\"runId\":\"run_A\",\"artifacts\":[{\"artifactId\":\"art_T\",\"kind\":"
    "\"extraction\",\"mimeType\":\"application/json\",\"totalSize\":11,"
    "\"name\":\"pages.json\"},{\"artifactId\":\"art_B\",\"kind\":"
    "\"screenshot\",\"mimeType\":\"image/png\",\"totalSize\":5,"
    "\"name\":\"a.png\"}]}";

static struct event_base *base;
static const char *dir;
static int lost; /* connections dropped for run_L */

static void
answer(struct chan *c, uint32_t seq, const char *json)
{
	if (strstr(json, "\"errorCode\"") == json + 1)
		chan_error(c, seq, json, strlen(json));
	else
		chan_result(c, seq, json, strlen(json));
}

static const char *
run_json(const char *id)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		if (strcmp(runs[i][0], id) == 0 ||
		    (strcmp(id, "run_L") == 0 && i == 0))
			return runs[i][1];
	return ERROR("RUN_NOT_FOUND");
}

static void
send_event(struct chan *c, const char *run, int seq, const char *type,
    const char *data)
{
	struct ipc_params p;
	char json[1024];

	snprintf(json, sizeof(json),
	    "{\"runId\":\"%s\",\"seq\":%d,\"type\":\"%s\",\"time\":"
	    "1763762400123,\"data\":%s}",
	    run, seq, type, data);
	ipc_params_init(&p, MSG_EVENT);
	ipc_set_str(&p, F_RUN_ID, run);
	ipc_set_int(&p, F_SEQ, seq);
	ipc_set_bin(&p, F_EVENT, json, strlen(json));
	chan_note(c, &p);
}

static void
follow(struct chan *c, uint32_t seq, const char *run, int64_t after)
{
	static const char *const datas[] = { "{}",
		"{\"done\":1,\"total\":3,\"failed\":0,\"ok\":true,\"item\":"
		"{\"url\":\"http://a/\",\"title\":\"\xe4\xbd\xa0\"}}",
		"{\"done\":2,\"total\":3,\"failed\":1,\"ok\":false,\"item\":"
		"{\"url\":\"http://b/\",\"errorCode\":\"PAGE_CRASHED\",\"message\":\"it crashed\"}}",
		"{\"done\":3,\"total\":3,\"failed\":1,\"ok\":true,\"item\":"
		"{\"url\":\"http://c/\",\"title\":\"C\"}}",
		"{}" };
	static const char *const types[] = { "run_started", "progress",
		"progress", "progress", "run_completed" };
	bool drop = strcmp(run, "run_L") == 0 && lost++ == 0;
	bool ends = strcmp(run, "run_R") != 0 && !drop;

	if (strcmp(run, "run_X") == 0) {
		answer(c, seq, ERROR("RUN_NOT_FOUND"));
		return;
	}
	answer(c, seq, RUN("run_A", "running", "null", "null"));
	for (int i = (int)after; i < (ends ? 5 : 2); i++)
		send_event(c, run, i + 1, types[i], datas[i]);
	if (drop)
		chan_finish(c);
}

static void
submit(struct chan *c, uint32_t seq, const struct ipc_params *p)
{
	static const enum msg_key keys[] = { F_INPUTS, F_OPTIONS };
	char path[4096];
	const void *json;
	size_t len;
	FILE *f;

	for (int i = 0; i < 2; i++) {
		json = ipc_bin(p, keys[i], &len);
		snprintf(
		    path, sizeof(path), "%s/%s", dir, msg_key_name(keys[i]));
		f = fopen(path, "w");
		if (f == NULL || json == NULL)
			exit(1);
		fwrite(json, 1, len, f);
		fclose(f);
	}
	if (strcmp(ipc_str(p, F_TEMPLATE_ID), "none") == 0)
		answer(c, seq, ERROR("TEMPLATE_NOT_FOUND"));
	else
		answer(c, seq,
		    "{\"runId\":\"run_A\",\"status\":\"queued\",\"mode\":"
		    "\"async\",\"deduplicated\":true}");
}

static void
chunk(struct chan *c, uint32_t seq, const char *id, int64_t offset)
{
	char json[256], part[16];
	int len = offset == 0 ? 4 : 6;

	if (strcmp(id, "art_B") == 0) {
		answer(c, seq,
		    "{\"artifactId\":\"art_B\",\"offset\":0,\"length\":5,"
		    "\"data\":\"AP8bWwo=\",\"complete\":true}");
		return;
	}
	/* The same text in two chunks, escaped by hand. */
	snprintf(part, sizeof(part), "%s",
	    offset == 0 ? "{\\\"a\\\"" : ":\\\"\\\\n\\\"}");
	snprintf(json, sizeof(json),
	    "{\"artifactId\":\"art_T\",\"offset\":%d,\"length\":%d,"
	    "\"data\":\"%s\",\"complete\":%s}",
	    (int)offset, len, part, offset == 0 ? "false" : "true");
	answer(c, seq, json);
}

static void
hello(struct chan *c, uint32_t seq)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_HELLO_ANSWER);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&p, F_VERSION, "9.9.9");
	ipc_set_str(&p, F_TRUST, "local");
	ipc_set_bool(&p, F_ADMIN, false);
	chan_answer(c, seq, &p);
	chan_set_phase(c, PEER_READY);
}

static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	const struct ipc_params *p = &m->params;

	switch (p->msg) {
	case MSG_HELLO:
		hello(c, m->seq);
		break;
	case MSG_TEMPLATE_LIST:
		answer(c, m->seq, templates);
		break;
	case MSG_RUN_SUBMIT:
		submit(c, m->seq, p);
		break;
	case MSG_RUN_GET:
		answer(c, m->seq, run_json(ipc_str(p, F_RUN_ID)));
		break;
	case MSG_RUN_FOLLOW:
		follow(c, m->seq, ipc_str(p, F_RUN_ID),
		    ipc_int(p, F_AFTER_SEQ, 0));
		break;
	case MSG_RUN_CANCEL:
		answer(c, m->seq,
		    strcmp(ipc_str(p, F_RUN_ID), "run_R") == 0
			? "{\"success\":true}"
			: "{\"success\":false,\"reason\":\"it has ended\"}");
		break;
	case MSG_RUN_LIST:
		answer(c, m->seq,
		    "{\"runs\":[" RUN("run_R", "running", "null",
			"null") "," RUN("run_F", "failed", "null",
			"null") "],\"total\":7,\"limit\":50,\"offset\":0,"
				"\"nextCursor\":\"run_F\"}");
		break;
	case MSG_RUN_EVENTS:
		answer(c, m->seq,
		    ipc_int(p, F_AFTER_SEQ, 0) < 2
			? "{\"status\":\"succeeded\",\"events\":[{\"seq\":1,"
			  "\"type\":\"run_created\",\"time\":1,\"data\":{}},"
			  "{\"seq\":2,\"type\":\"run_completed\",\"time\":2,"
			  "\"data\":{\"x\":1}}],\"lastSeq\":2}"
			: "{\"status\":\"succeeded\",\"events\":[],"
			  "\"lastSeq\":2}");
		break;
	case MSG_ARTIFACT_LIST:
		answer(c, m->seq, artifacts);
		break;
	case MSG_ARTIFACT_GET:
		chunk(c, m->seq, ipc_str(p, F_ARTIFACT_ID),
		    ipc_int(p, F_OFFSET, 0));
		break;
	case MSG_PROFILE_GET:
		answer(c, m->seq,
		    "{\"maxConcurrentRuns\":5,\"runTtlMs\":1800000,\"runs\":"
		    "{\"queued\":0,\"running\":1}}");
		break;
	default:
		answer(c, m->seq, ERROR("INVALID_PARAMETER"));
	}
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	chan_free(&c);
}

static void
on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *ctx)
{
	static const struct chan_ops ops = { .on_msg = on_msg,
		.on_closed = on_closed };

	chan_new(base, fd, IPC_IN, &ops, NULL);
}

int
main(int argc, char **argv)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (argc != 3 || strlen(argv[1]) >= sizeof(sun.sun_path))
		return 2;
	memcpy(sun.sun_path, argv[1], strlen(argv[1]) + 1);
	dir = argv[2];
	base = event_base_new();
	if (evconnlistener_new_bind(base, on_accept, NULL,
		LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)&sun,
		sizeof(sun)) == NULL)
		return 1;
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	event_base_dispatch(base);
	return 0;
}
