/*
 * scripted: stands in for workerd in tests of supervisord. It speaks the real
 * worker protocol to the real supervisord, proves its browser like workerd does
 * (one tab), and then does what the run's inputs say, one word at a time:
 *
 *   item, bad, big     the next item: good, failed, good with 150,000 bytes
 *   long               the next item, with a record of 1,000 bytes
 *   half               bytes of the next item, but not its end
 *   half1              the same, but only in the first attempt
 *   step:N, done:N, stepfail:N   a step starts, ends, fails
 *   act                the run changes something; told first, and done when
 *                      that is stored
 *   arts:N, mibs:N     N artifacts of a few bytes, or of a MiB each
 *   name:TEXT, mime:TEXT   an artifact with that name or media type
 *   phase:NAME         the run is in that phase
 *   steps:N            N steps with details of 8 KB each
 *   warn, art, result  a warning, an artifact, a result document
 *   pic, pdf           an artifact that is a picture or PDF of 300,000 bytes
 *   state              the state of its session's browser, if that is kept
 *   given              a warning that tells which state it was given
 *   hold               waits to be told to end, then ends
 *   hold1              the same, but only in the first attempt
 *   pings:N            goes on when asked N times whether it lives
 *   deaf               waits and does not end when told to
 *   mute               waits and reads nothing, not even pings
 *   mute1              the same, but only in the first attempt
 *   exit               ends without a word
 *   breach             ends as one does that breaks its confinement
 *   garbage            sends what is no message
 *   early              sends a message its phase does not permit
 *   crash              kills the browser, then holds
 *   hog:NAME           has the browser want too much (t/launch/hog), then holds
 *   fail:CODE          ends the run as failed
 *   forget             tells another supervisord that it could not keep all
 *
 * Like workerd it keeps what it says of a run until that is acknowledged, says
 * it again to another supervisord, and stays until all is acknowledged; a word
 * that waits or ends it otherwise does not.
 *
 * Four templates: scripted (restart-safe, of items), fragile (neither), keeper
 * (the same, but its session is kept) and remote (not for local clients).
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/msg.h"
#include "json/tape.h"
#include "model/limits.h"

enum {
	FD_IPC = 3,
	FD_CDP_IN,
	FD_CDP_OUT
};

#define INPUT_BYTES   (1u << 20)
#define STATE_BYTES   60 /* of those that this sends */
#define ITEMS_MAX     1000
#define KEPT_MAX      4096
#define BIG_CHUNKS    3
#define BIG_BYTES     50000
#define PICTURE_BYTES 50000
#define PICTURE_PARTS 6
#define COMMON_META                                                           \
	"\"version\":\"1.2.3\",\"name\":\"N\",\"description\":\"D\","         \
	"\"inputs\":{\"type\":\"object\",\"additionalProperties\":false,"     \
	"\"required\":[\"do\"],\"properties\":{\"do\":{\"type\":\"array\","   \
	"\"maxItems\":1000,\"items\":{\"type\":\"string\"}},"                 \
	"\"note\":{\"type\":\"string\"}}},\"outputs\":{\"type\":\"object\"}," \
	"\"exampleInputs\":{\"do\":[]},"                                      \
	"\"limits\":{\"maxTimeoutMs\":600000},"                               \
	"\"executionMode\":\"auto\",\"syncUpTo\":{\"input\":\"do\","          \
	"\"max\":3},\"resources\":\"text\","

static const char *const metas[] = {
	"{\"id\":\"scripted\"," COMMON_META
	"\"trustLevelSupport\":[\"local\"],\"supportsPartialSuccess\":true,"
	"\"partialSuccessThreshold\":0.5,\"restartSafe\":true,"
	"\"items\":true}",
	"{\"id\":\"fragile\"," COMMON_META
	"\"trustLevelSupport\":[\"local\"],\"supportsPartialSuccess\":false,"
	"\"restartSafe\":false,\"items\":false}",
	"{\"id\":\"keeper\"," COMMON_META
	"\"trustLevelSupport\":[\"local\"],\"supportsPartialSuccess\":false,"
	"\"restartSafe\":false,\"items\":false,\"keepsSession\":true}",
	"{\"id\":\"remote\"," COMMON_META
	"\"trustLevelSupport\":[\"remote\"],\"supportsPartialSuccess\":false,"
	"\"restartSafe\":false}",
};

static struct {
	struct buf inputs, state;
	bool done[ITEMS_MAX]; /* in an earlier attempt */
	int64_t attempt;
	char trust[17];
	uint32_t items, finished, pings;
	enum ipc_phase phase;
	bool told; /* to end */
	bool go;
	bool forgets;
	struct buf kept[KEPT_MAX]; /* message N at N % KEPT_MAX */
	int64_t said, acked;
} run = { .phase = PEER_HELLO };

/*
 * send() and recv() are calls of their own, which a kept cell's filter does not
 * have, since no worker needs them.
 */
static bool
put(const void *bytes, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return sendmsg(FD_IPC, &m, MSG_NOSIGNAL) != -1;
}

static ssize_t
take(void *bytes, size_t len)
{
	struct iovec iov = { bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(FD_IPC, &m, 0);
}

static void
say(const struct ipc_params *p)
{
	char why[IPC_REASON_MAX];
	struct buf b;

	buf_init(&b, LIMIT_PACKET_BYTES);
	if (!ipc_encode_note(&b, p, why) || !put(b.data, b.len))
		_exit(70);
	if ((msg_row(p->msg)->flags & IPC_KEPT) != 0) {
		struct buf *at = &run.kept[++run.said % KEPT_MAX];

		buf_clear(at);
		*at = b;
	} else
		buf_clear(&b);
}

static void
resume(const struct ipc_params *p)
{
	struct ipc_params answer;

	ipc_params_init(&answer, MSG_S_RUN_RESUMED);
	ipc_set_int(&answer, F_EPOCH, ipc_int(p, F_EPOCH, 0));
	ipc_set_int(&answer, F_N, run.acked + 1);
	ipc_set_bool(&answer, F_GO, run.go);
	ipc_set_bool(
	    &answer, F_WHOLE, !run.forgets && run.said - run.acked <= KEPT_MAX);
	say(&answer);
	for (int64_t n = run.acked + 1; n <= run.said; n++) {
		const struct buf *b = &run.kept[n % KEPT_MAX];

		if (!put(b->data, b->len))
			_exit(70);
	}
}

static void
on_journal(const struct ipc_params *p)
{
	size_t len;
	const uint8_t *at = ipc_bin(p, F_ENTRIES, &len);

	for (; len >= 12; at += 12, len -= 12) {
		uint32_t index = (uint32_t)at[2] << 8 | at[3];

		if (index < ITEMS_MAX)
			run.done[index] = true;
	}
}

static void
on_msg(const struct ipc_params *p)
{
	struct ipc_params answer;
	const void *data;
	size_t len;

	switch (p->msg) {
	case MSG_W_RUN_BEGIN:
		run.attempt = ipc_int(p, F_ATTEMPT, 0);
		strlcpy(run.trust, ipc_str(p, F_TRUST), sizeof(run.trust));
		run.phase = PEER_RUN;
		break;
	case MSG_W_RUN_INPUT:
		data = ipc_bin(p, F_DATA, &len);
		buf_add(&run.inputs, data, len);
		break;
	case MSG_W_RUN_STATE:
		data = ipc_bin(p, F_DATA, &len);
		buf_add(&run.state, data, len);
		break;
	case MSG_W_RUN_JOURNAL:
		on_journal(p);
		break;
	case MSG_W_PING:
		run.pings++;
		ipc_params_init(&answer, MSG_S_PONG);
		ipc_set_int(&answer, F_N, ipc_int(p, F_N, 0));
		say(&answer);
		break;
	case MSG_W_RUN_CANCEL:
		run.told = true;
		break;
	case MSG_W_RUN_GO:
		run.go = true;
		break;
	case MSG_W_RUN_ACK:
		run.acked = ipc_int(p, F_N, 0);
		break;
	case MSG_W_RUN_RESUME:
		resume(p);
		break;
	default:
		break;
	}
}

/* Reads until that message came; MSG__MAX: until told to end. */
static void
await(enum msg_id msg)
{
	static uint8_t bytes[LIMIT_PACKET_BYTES + 1];
	struct ipc_gate gate = { .dir = IPC_DOWN };
	char why[IPC_REASON_MAX];
	struct ipc_msg m;
	ssize_t n;

	while (msg != MSG__MAX || !run.told) {
		n = take(bytes, sizeof(bytes) - 1);
		if (n <= 0)
			_exit(0);
		gate.phase = run.phase;
		if (ipc_decode(&gate, bytes, (size_t)n, &m, why) != IPC_OK)
			_exit(71);
		on_msg(&m.params);
		if (m.params.msg == msg)
			return;
	}
}

/* One tab, so that there is a renderer whose sandbox can be seen. */
static void
open_tab(void)
{
	static const char command[] =
	    "{\"id\":1,\"method\":\"Target.createTarget\","
	    "\"params\":{\"url\":\"about:blank\"}}";
	char c = 'x', seen[8] = "";

	if (write(FD_CDP_OUT, command, sizeof(command)) == -1)
		_exit(72);
	while (strcmp(seen, "\"id\":1,") != 0) {
		if (read(FD_CDP_IN, &c, 1) != 1)
			_exit(73);
		memmove(seen, seen + 1, 6);
		seen[6] = c;
	}
}

static void
describe(void)
{
	struct ipc_params p;

	run.phase = PEER_DESCRIBE;
	await(MSG_W_DESCRIBE);
	for (size_t i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		ipc_params_init(&p, MSG_S_TEMPLATE_META);
		ipc_set_bin(&p, F_DATA, metas[i], strlen(metas[i]));
		ipc_set_bool(&p, F_LAST, true);
		say(&p);
	}
	ipc_params_init(&p, MSG_S_DESCRIBE_DONE);
	say(&p);
	_exit(0);
}

static void
send_end(bool good, const char *code)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_RUN_END);
	ipc_set_bool(&p, F_SUCCESS, good);
	if (code != NULL) {
		ipc_set_str(&p, F_ERROR_CODE, code);
		ipc_set_str(&p, F_MESSAGE, "as the script says");
	}
	say(&p);
	while (run.acked < run.said)
		await(MSG_W_RUN_ACK);
	_exit(0);
}

static void
send_part(uint32_t index, const char *text, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_ITEM_DATA);
	ipc_set_int(&p, F_INDEX, index);
	ipc_set_int(&p, F_PART, 0);
	ipc_set_bin(&p, F_DATA, text, len);
	say(&p);
}

static void
send_item(bool good, bool big, bool wide)
{
	static char filler[BIG_BYTES];
	uint32_t index = run.items++;
	struct ipc_params p;
	char text[1200];

	run.finished++;
	if (run.done[index])
		return;
	snprintf(text, sizeof(text), "{\"i\":%u,\"attempt\":%d", index,
	    (int)run.attempt);
	if (wide)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    ",\"url\":\"%01000d\"", 0);
	strlcat(text, "}", sizeof(text));
	if (!big) {
		send_part(index, text, strlen(text));
	} else {
		memset(filler, ' ', sizeof(filler));
		for (int i = 0; i < BIG_CHUNKS; i++)
			send_part(index, filler, sizeof(filler));
		send_part(index, "1", 1);
	}
	ipc_params_init(&p, MSG_S_ITEM_END);
	ipc_set_int(&p, F_INDEX, index);
	ipc_set_bin(&p, F_DIGEST, "\1\2\3\4\5\6\7\10", 8);
	ipc_set_bool(&p, F_SUCCESS, good);
	ipc_set_bin(&p, F_RECORD, text, strlen(text));
	ipc_set_int(&p, F_DONE, run.finished);
	say(&p);
}

static void
send_step(const char *name, enum msg_id msg, bool good)
{
	struct ipc_params p;

	ipc_params_init(&p, msg);
	ipc_set_str(&p, F_NAME, name);
	if (msg == MSG_S_STEP_END) {
		ipc_set_bool(&p, F_SUCCESS, good);
		ipc_set_int(&p, F_DURATION_MS, 7);
		if (!good)
			ipc_set_str(&p, F_ERROR_CODE, "ELEMENT_NOT_FOUND");
	}
	say(&p);
}

static void
send_artifact_data(const char *bytes, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_ARTIFACT_DATA);
	ipc_set_int(&p, F_SLOT, 2);
	ipc_set_bin(&p, F_DATA, bytes, len);
	say(&p);
}

static void
send_artifact_end(const char *mime, const char *name)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_ARTIFACT_END);
	ipc_set_int(&p, F_SLOT, 2);
	ipc_set_str(&p, F_KIND, "markdown");
	ipc_set_str(&p, F_MIME, mime);
	ipc_set_str(&p, F_NAME, name);
	say(&p);
}

static void
send_artifact(const char *mime, const char *name)
{
	send_artifact_data("a\xc3\xa9z", 4);
	send_artifact_end(mime, name);
}

static void
send_mib(void)
{
	static char chunk[32768];

	memset(chunk, 'm', sizeof(chunk));
	for (int i = 0; i < 32; i++)
		send_artifact_data(chunk, sizeof(chunk));
	send_artifact_end("text/plain", "large.txt");
}

static void
send_large_step(void)
{
	char meta[8192];
	struct ipc_params p;

	memset(meta, 'm', sizeof(meta));
	memcpy(meta, "{\"m\":\"", 6);
	memcpy(meta + sizeof(meta) - 3, "\"}", 3);
	ipc_params_init(&p, MSG_S_STEP_END);
	ipc_set_str(&p, F_NAME, "s");
	ipc_set_bool(&p, F_SUCCESS, true);
	ipc_set_int(&p, F_DURATION_MS, 7);
	ipc_set_bin(&p, F_META, meta, sizeof(meta) - 1);
	say(&p);
}

static void
send_phase(const char *name)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_PHASE);
	ipc_set_str(&p, F_PHASE, name);
	say(&p);
}

/* NAME:N does something N times; false: it is no such word. */
static bool
obey_many(const char *word)
{
	const char *colon = strchr(word, ':');
	unsigned long n = colon == NULL ? 0 : strtoul(colon + 1, NULL, 10);

	if (strncmp(word, "arts:", 5) == 0)
		for (; n > 0; n--)
			send_artifact("text/markdown", "note.md");
	else if (strncmp(word, "mibs:", 5) == 0)
		for (; n > 0; n--)
			send_mib();
	else if (strncmp(word, "steps:", 6) == 0)
		for (; n > 0; n--)
			send_large_step();
	else if (strncmp(word, "name:", 5) == 0)
		send_artifact("text/plain", word + 5);
	else if (strncmp(word, "mime:", 5) == 0)
		send_artifact(word + 5, "note.md");
	else if (strncmp(word, "phase:", 6) == 0)
		send_phase(word + 6);
	else
		return false;
	return true;
}

/*
 * A picture or the like, for whoever does not look: longer than a chunk of an
 * answer.
 */
static void
send_picture(const char *kind, const char *mime, const char *name)
{
	static uint8_t bytes[PICTURE_BYTES];
	struct ipc_params p;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	for (int part = 0; part < PICTURE_PARTS; part++) {
		ipc_params_init(&p, MSG_S_ARTIFACT_DATA);
		ipc_set_int(&p, F_SLOT, 3);
		ipc_set_bin(&p, F_DATA, bytes, sizeof(bytes));
		say(&p);
	}
	ipc_params_init(&p, MSG_S_ARTIFACT_END);
	ipc_set_int(&p, F_SLOT, 3);
	ipc_set_str(&p, F_KIND, kind);
	ipc_set_str(&p, F_MIME, mime);
	ipc_set_str(&p, F_NAME, name);
	say(&p);
}

static void
send_result(const char *text)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_RESULT_DATA);
	ipc_set_bin(&p, F_DATA, text, strlen(text));
	say(&p);
}

static void
send_state(void)
{
	static const char state[] = "{\"cookies\":[]}";
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_STATE_DATA);
	ipc_set_bin(&p, F_DATA, state, strlen(state));
	say(&p);
	ipc_params_init(&p, MSG_S_STATE_END);
	say(&p);
}

static void
send_given(void)
{
	char text[100];
	struct ipc_params p;

	snprintf(text, sizeof(text), "given: %.*s", (int)run.state.len,
	    run.state.len == 0 ? "" : (const char *)run.state.data);
	ipc_params_init(&p, MSG_S_WARNING);
	ipc_set_str(&p, F_TEXT, text);
	say(&p);
}

static void
hold(void)
{
	await(MSG__MAX);
	send_end(false, "RUN_CANCELED");
}

/* After which the browser is none any more. */
static void
end_browser(const char *method)
{
	char command[256];
	int n = snprintf(
	    command, sizeof(command), "{\"id\":2,\"method\":\"%s\"}", method);

	if (write(FD_CDP_OUT, command, (size_t)n + 1) == -1)
		_exit(74);
	hold();
}

static void
obey(const char *word)
{
	struct ipc_params p;

	if (strcmp(word, "item") == 0 || strcmp(word, "big") == 0) {
		send_item(true, word[0] == 'b', false);
	} else if (strcmp(word, "long") == 0) {
		send_item(true, false, true);
	} else if (strcmp(word, "bad") == 0) {
		send_item(false, false, false);
	} else if (strcmp(word, "half") == 0 ||
	    (strcmp(word, "half1") == 0 && run.attempt == 1)) {
		if (!run.done[run.items])
			send_part(run.items, "{\"half\":", 8);
	} else if (strncmp(word, "step:", 5) == 0) {
		send_step(word + 5, MSG_S_STEP_START, true);
	} else if (strncmp(word, "done:", 5) == 0) {
		send_step(word + 5, MSG_S_STEP_END, true);
	} else if (strncmp(word, "stepfail:", 9) == 0) {
		send_step(word + 9, MSG_S_STEP_END, false);
	} else if (strcmp(word, "warn") == 0) {
		ipc_params_init(&p, MSG_S_WARNING);
		ipc_set_str(&p, F_TEXT, "take care");
		say(&p);
	} else if (strcmp(word, "act") == 0) {
		ipc_params_init(&p, MSG_S_EFFECT);
		ipc_set_str(&p, F_ACTION, "click");
		say(&p);
		await(MSG_W_RUN_EFFECT);
	} else if (strcmp(word, "art") == 0) {
		send_artifact("text/markdown", "note.md");
	} else if (obey_many(word)) {
		/* done */
	} else if (strcmp(word, "pic") == 0) {
		send_picture("screenshot", "image/png", "page.png");
	} else if (strcmp(word, "pdf") == 0) {
		send_picture("pdf", "application/pdf", "page.pdf");
	} else if (strcmp(word, "result") == 0) {
		send_result("{\"answer\":42}");
	} else if (strcmp(word, "state") == 0) {
		send_state();
	} else if (strcmp(word, "given") == 0) {
		send_given();
	} else if (strcmp(word, "trust") == 0) {
		char text[64];

		snprintf(text, sizeof(text), "{\"trust\":\"%s\"}", run.trust);
		send_result(text);
	} else if (strcmp(word, "hold") == 0 ||
	    (strcmp(word, "hold1") == 0 && run.attempt == 1)) {
		hold();
	} else if (strncmp(word, "pings:", 6) == 0) {
		uint32_t until =
		    run.pings + (uint32_t)strtoul(word + 6, NULL, 10);

		while (run.pings != until && !run.told)
			await(MSG_W_PING);
	} else if (strcmp(word, "forget") == 0) {
		run.forgets = true;
	} else if (strcmp(word, "mute") == 0 ||
	    (strcmp(word, "mute1") == 0 && run.attempt == 1)) {
		for (;;)
			poll(NULL, 0, -1);
	} else if (strcmp(word, "deaf") == 0) {
		for (;;)
			await(MSG_W_DESCRIBE);
	} else if (strcmp(word, "exit") == 0) {
		_exit(3);
	} else if (strcmp(word, "breach") == 0) {
		raise(SIGSYS);
	} else if (strcmp(word, "garbage") == 0) {
		put("\xc1\xc1", 2);
		hold();
	} else if (strcmp(word, "early") == 0) {
		ipc_params_init(&p, MSG_S_DESCRIBE_DONE);
		say(&p);
		hold();
	} else if (strcmp(word, "crash") == 0) {
		end_browser("Browser.crash");
	} else if (strncmp(word, "hog:", 4) == 0) {
		char method[160];

		snprintf(method, sizeof(method), "Hog.%s", word + 4);
		end_browser(method);
	} else if (strncmp(word, "fail:", 5) == 0) {
		send_end(false, word + 5);
	}
}

static void
declare(struct json_val script)
{
	struct ipc_params p;
	struct json_iter it;
	int64_t total = 0;

	for (it = json_iter(script); json_iter_next(&it);)
		total += json_str_eq(it.val, "item") ||
		    json_str_eq(it.val, "bad") || json_str_eq(it.val, "big") ||
		    json_str_eq(it.val, "long");
	ipc_params_init(&p, MSG_S_TOTAL);
	ipc_set_int(&p, F_TOTAL, total);
	say(&p);
	ipc_params_init(&p, MSG_S_COLLECT);
	ipc_set_int(&p, F_PART, 0);
	ipc_set_str(&p, F_KIND, "extraction");
	ipc_set_str(&p, F_MIME, "application/json");
	ipc_set_str(&p, F_NAME, "items.json");
	ipc_set_bin(&p, F_PREFIX, "[", 1);
	ipc_set_bin(&p, F_SEPARATOR, ",", 1);
	ipc_set_bin(&p, F_SUFFIX, "]", 1);
	say(&p);
}

int
main(int argc, char *argv[])
{
	struct json_doc *doc;
	struct json_val script;
	struct json_iter it;
	struct ipc_params p;
	char word[128];

	/* As workerd: the end of its browser is no signal. */
	(void)signal(SIGPIPE, SIG_IGN);
	buf_init(&run.state, STATE_BYTES);
	buf_init(&run.inputs, INPUT_BYTES);
	await(MSG_W_HELLO);
	ipc_params_init(&p, MSG_S_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	say(&p);
	if (argc > 1 && strcmp(argv[1], "--describe") == 0)
		describe();
	run.phase = PEER_IDLE;
	open_tab();
	ipc_params_init(&p, MSG_S_READY);
	ipc_set_str(&p, F_PRODUCT, "scripted");
	say(&p);
	await(MSG_W_RUN_GO);
	if (!json_parse(run.inputs.data, run.inputs.len, NULL, 0, &doc, NULL))
		_exit(75);
	script = json_obj_get(json_root(doc), "do");
	declare(script);
	for (it = json_iter(script); json_iter_next(&it);)
		if (json_str_copy(it.val, word, sizeof(word)))
			obey(word);
	send_end(true, NULL);
}
