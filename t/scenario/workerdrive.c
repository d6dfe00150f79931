/*
 * workerdrive: plays supervisord, launcher and cell to one real workerd, for
 * worker.t: makes the descriptors, starts the browser (as an unprivileged uid,
 * with its own sandbox) and the worker, speaks the worker protocol and prints
 * one line per message.
 *
 * usage: workerdrive [-b BROWSER] [-c ITEMS:REASON] [-dg] [-h MS] [-j I:HEX]
 *     [-k ITEMS] [-o DIR] [-r ITEMS] [-t TEMPLATE] [-x ITEMS] WORKERD <INPUTS
 * -c cancels, -k kills the browser, -x closes the channel after so many items
 * (0: right after run.go); -d describes; -g says run.go too early; -h reads nothing for so long after
 * run.go; -j is a journal row; -o gets the artifacts; -r goes on as
 * another supervisord would, which lost what it had not read yet.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "ipc/chan.h"

#define BROWSER_UID 61717
#define ITEMS_MAX   LIMIT_ITEMS

struct drive {
	struct event_base *base;
	struct chan *chan;
	struct event *hold_timer;
	struct buf inputs;
	struct buf journal;
	struct buf parts[ITEMS_MAX][2];
	struct buf prefix[2], suffix[2], separator[2];
	char names[2][129];
	const char *browser, *workerd, *template_id, *out, *reason;
	int cancel_at, kill_at, close_at, resume_at, hold_ms;
	bool describe, breach, ended, resuming;
	int64_t said; /* numbered messages */
	int items;
	int64_t acted_ms;
	pid_t worker_pid, browser_pid;
	char profile[64];
};

static void
die(const char *what)
{
	fprintf(stderr, "workerdrive: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* ---- starting ---- */

static void
child_fds(const int *fds, int n, int first)
{
	int high[8];

	for (int i = 0; i < n; i++)
		if ((high[i] = fcntl(fds[i], F_DUPFD, 64)) < 0)
			die("dup");
	for (int i = 0; i < n; i++)
		if (dup2(high[i], first + i) < 0)
			die("dup2");
	closefrom(first + n);
}

static void
exec_browser(struct drive *d, int read_fd, int write_fd)
{
	int fds[2] = { read_fd, write_fd };
	char dir[96];

	snprintf(dir, sizeof(dir), "--user-data-dir=%s", d->profile);
	child_fds(fds, 2, 3);
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || setgid(BROWSER_UID) != 0 ||
		setuid(BROWSER_UID) != 0))
		die("setuid");
	if (chdir("/") != 0 || setenv("HOME", d->profile, 1) != 0)
		die("browser");
	if (getenv("BROWSER_LOG") == NULL)
		(void)dup2(open("/dev/null", O_WRONLY), 2);
	execl(d->browser, d->browser, dir, "--remote-debugging-pipe",
	    "--headless", "--no-first-run", "--site-per-process",
	    "--disable-gpu", "--disable-background-networking",
	    "--disable-component-update", "--disable-sync", "--disable-quic",
	    "--disable-breakpad", "--password-store=basic",
	    "--blink-settings=imagesEnabled=false", "--disable-remote-fonts",
	    "--disable-backgrounding-occluded-windows",
	    "--disable-renderer-backgrounding", (char *)NULL);
	die(d->browser);
}

static void
make_profile(struct drive *d)
{
	snprintf(d->profile, sizeof(d->profile), "/tmp/workerdrive.XXXXXX");
	if (mkdtemp(d->profile) == NULL)
		die("mkdtemp");
	if (geteuid() == 0 && chown(d->profile, BROWSER_UID, BROWSER_UID) != 0)
		die("chown");
}

static void
start_all(struct drive *d)
{
	int sock[2], to[2], from[2], secrets[2];
	int null = open("/dev/null", O_RDWR);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) != 0 ||
	    pipe(to) != 0 || pipe(from) != 0 || pipe(secrets) != 0)
		die("pipes");
	make_profile(d);
	if (d->browser != NULL && (d->browser_pid = fork()) == 0) {
		(void)setpgid(0, 0);
		exec_browser(d, to[0], from[1]);
	}
	(void)close(secrets[1]);
	if ((d->worker_pid = fork()) == 0) {
		int fds[4] = { sock[1], from[0], to[1], secrets[0] };

		(void)signal(SIGPIPE, SIG_DFL);
		(void)dup2(null, 0);
		(void)dup2(null, 1);
		child_fds(fds, d->describe ? 1 : 4, 3);
		execl(d->workerd, "workerd", d->describe ? "--describe" : NULL,
		    (char *)NULL);
		die(d->workerd);
	}
	for (int i = 0; i < 2; i++) {
		(void)close(to[i]);
		(void)close(from[i]);
	}
	(void)close(null);
	(void)close(secrets[0]);
	(void)close(sock[1]);
	(void)fd_set_nonblock(sock[0]);
	d->chan = (struct chan *)(intptr_t)sock[0];
}

/* ---- the protocol ---- */

static void
send_note(struct drive *d, struct ipc_params *p)
{
	if (chan_note(d->chan, p) != CHAN_OK) {
		fprintf(
		    stderr, "workerdrive: %s\n", chan_invalid_reason(d->chan));
		exit(2);
	}
}

static void
send_hello(struct drive *d)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	ipc_set_int(&p, F_EPOCH, 1);
	ipc_set_int(&p, F_CELL_ID, 1);
	send_note(d, &p);
	chan_set_phase(d->chan, d->describe ? PEER_DESCRIBE : PEER_IDLE);
	if (d->describe) {
		ipc_params_init(&p, MSG_W_DESCRIBE);
		send_note(d, &p);
	}
	ipc_params_init(&p, MSG_W_PING);
	ipc_set_int(&p, F_N, 42);
	send_note(d, &p);
}

static void
send_run(struct drive *d)
{
	struct ipc_params p;
	size_t at = 0;

	ipc_params_init(&p, MSG_W_RUN_BEGIN);
	ipc_set_str(&p, F_RUN_ID, "run_01ARZ3NDEKTSV4RRFFQ69G5FAV");
	ipc_set_str(&p, F_SESSION_ID, "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV");
	ipc_set_int(&p, F_ATTEMPT, 1);
	ipc_set_str(&p, F_TEMPLATE_ID, d->template_id);
	ipc_set_int(&p, F_LIMIT_MS, 300000);
	ipc_set_str(&p, F_TRACE_ID, "0af7651916cd43dd8448eb211c80319c");
	ipc_set_str(&p, F_RESOURCES, "text");
	ipc_set_int(&p, F_MAX_TABS, 20);
	ipc_set_int(&p, F_MEMORY_BYTES, 64 << 20);
	ipc_set_bool(&p, F_KEEP, false);
	ipc_set_bool(&p, F_TAKEOVER, false);
	ipc_set_bool(&p, F_STATE, false);
	ipc_set_bool(&p, F_SECRETS, false);
	ipc_set_str(&p, F_TRUST, "local");
	send_note(d, &p);
	chan_set_phase(d->chan, PEER_RUN);
	if (d->breach) {
		ipc_params_init(&p, MSG_W_RUN_GO);
		send_note(d, &p);
		return;
	}
	do {
		size_t n = d->inputs.len - at;

		n = n < LIMIT_CHUNK_BYTES ? n : LIMIT_CHUNK_BYTES;
		ipc_params_init(&p, MSG_W_RUN_INPUT);
		ipc_set_bin(&p, F_DATA, d->inputs.data + at, n);
		at += n;
		ipc_set_bool(&p, F_LAST, at == d->inputs.len);
		send_note(d, &p);
	} while (at < d->inputs.len);
	ipc_params_init(&p, MSG_W_RUN_JOURNAL);
	ipc_set_bin(&p, F_ENTRIES, d->journal.data, d->journal.len);
	ipc_set_bool(&p, F_LAST, true);
	send_note(d, &p);
	ipc_params_init(&p, MSG_W_RUN_GO);
	send_note(d, &p);
}

static void
finish(struct drive *d)
{
	(void)event_base_loopbreak(d->base);
}

static void
send_ack(struct drive *d)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_RUN_ACK);
	ipc_set_int(&p, F_N, d->said);
	send_note(d, &p);
}

static void
resume(struct drive *d)
{
	struct ipc_params p;

	send_ack(d);
	ipc_params_init(&p, MSG_W_RUN_RESUME);
	ipc_set_int(&p, F_EPOCH, 2);
	ipc_set_int(&p, F_N, d->said);
	send_note(d, &p);
	d->resuming = true;
}

static void
take_resumed(struct drive *d, const struct ipc_params *p)
{
	say("run.resumed %d %d %d", ipc_int(p, F_N, 0) == d->said + 1,
	    ipc_bool(p, F_GO, false), ipc_bool(p, F_WHOLE, false));
	d->resuming = false;
}

/* What the options ask for once `items` items are done. */
static void
act(struct drive *d)
{
	struct ipc_params p;

	if (d->items == d->cancel_at && !d->ended) {
		d->acted_ms = clock_mono_ms();
		ipc_params_init(&p, MSG_W_RUN_CANCEL);
		ipc_set_str(&p, F_REASON, d->reason);
		send_note(d, &p);
	}
	if (d->items == d->kill_at) {
		d->acted_ms = clock_mono_ms();
		(void)kill(-d->browser_pid, SIGKILL);
	}
	if (d->items == d->resume_at)
		resume(d);
	if (d->items == d->close_at) {
		d->acted_ms = clock_mono_ms();
		finish(d);
	}
}

static void
on_hold_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct drive *d = ctx;

	(void)fd;
	(void)what;
	chan_hold_reading(d->chan, false);
}

static void
on_ready(struct drive *d)
{
	struct timeval tv = { d->hold_ms / 1000, d->hold_ms % 1000 * 1000 };

	send_run(d);
	act(d);
	if (d->hold_ms > 0) {
		chan_hold_reading(d->chan, true);
		(void)evtimer_add(d->hold_timer, &tv);
	}
}

static void
take_collect(struct drive *d, const struct ipc_params *p)
{
	int part = (int)ipc_int(p, F_PART, 0);
	size_t len;
	const void *bytes;

	if (part > 1)
		return;
	snprintf(
	    d->names[part], sizeof(d->names[part]), "%s", ipc_str(p, F_NAME));
	bytes = ipc_bin(p, F_PREFIX, &len);
	(void)buf_add(&d->prefix[part], bytes, len);
	bytes = ipc_bin(p, F_SEPARATOR, &len);
	(void)buf_add(&d->separator[part], bytes, len);
	bytes = ipc_bin(p, F_SUFFIX, &len);
	(void)buf_add(&d->suffix[part], bytes, len);
	say("collect %d %s", part, d->names[part]);
}

static void
take_item(struct drive *d, const struct ipc_params *p)
{
	size_t len;
	const uint8_t *digest = ipc_bin(p, F_DIGEST, &len);
	const char *record = ipc_bin(p, F_RECORD, &len);

	d->items++;
	printf("item %d %d %d ", (int)ipc_int(p, F_INDEX, 0),
	    ipc_bool(p, F_SUCCESS, false), (int)ipc_int(p, F_DONE, 0));
	for (int i = 0; i < 8; i++)
		printf("%02x", digest[i]);
	say(" %.*s", (int)len, record);
	act(d);
}

static void
take_end(struct drive *d, const struct ipc_params *p)
{
	const char *code = ipc_str(p, F_ERROR_CODE);
	const char *step = ipc_str(p, F_FAILED_STEP);
	const char *message = ipc_str(p, F_MESSAGE);

	d->ended = true;
	chan_set_phase(d->chan, PEER_ENDED);
	send_ack(d);
	say("run.end %d %s %s %s", ipc_bool(p, F_SUCCESS, false),
	    code == NULL ? "-" : code, step == NULL ? "-" : step,
	    message == NULL ? "-" : message);
	if (d->acted_ms > 0)
		say("after-ms %d", (int)(clock_mono_ms() - d->acted_ms));
}

static void
take_data(struct drive *d, const struct ipc_params *p)
{
	int part = (int)ipc_int(p, F_PART, 0);
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (part < 2)
		(void)buf_add(
		    &d->parts[ipc_int(p, F_INDEX, 0)][part], data, len);
}

static void
on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	struct drive *d = ctx;
	const struct ipc_params *p = &msg->params;
	const char *bytes;
	size_t len;

	(void)chan;
	if (p->msg == MSG_S_RUN_RESUMED)
		take_resumed(d, p);
	if (d->resuming || p->msg == MSG_S_RUN_RESUMED)
		return;
	d->said += (msg_row(p->msg)->flags & IPC_KEPT) != 0;
	switch (p->msg) {
	case MSG_S_HELLO:
		say("hello %d", (int)ipc_int(p, F_PROTO, 0));
		send_hello(d);
		break;
	case MSG_S_READY:
		say("ready %s", ipc_str(p, F_PRODUCT));
		on_ready(d);
		break;
	case MSG_S_PONG:
		say("pong %d", (int)ipc_int(p, F_N, 0));
		break;
	case MSG_S_COLLECT:
		take_collect(d, p);
		break;
	case MSG_S_ITEM_DATA:
		take_data(d, p);
		break;
	case MSG_S_ITEM_END:
		if (ipc_has(p, F_DATA))
			take_data(d, p);
		take_item(d, p);
		break;
	case MSG_S_RUN_END:
		take_end(d, p);
		break;
	case MSG_S_STEP_END:
		bytes = ipc_bin(p, F_META, &len);
		say("step.end %s %d %s %.*s", ipc_str(p, F_NAME),
		    ipc_bool(p, F_SUCCESS, false),
		    ipc_has(p, F_ERROR_CODE) ? ipc_str(p, F_ERROR_CODE) : "-",
		    (int)len, bytes == NULL ? "" : bytes);
		break;
	case MSG_S_RESULT_DATA:
	case MSG_S_TEMPLATE_META:
		bytes = ipc_bin(p, F_DATA, &len);
		say("%s %.*s", msg_row(p->msg)->name, (int)len, bytes);
		break;
	case MSG_S_WARNING:
		say("warning %s", ipc_str(p, F_TEXT));
		break;
	default:
		say("%s", msg_row(p->msg)->name);
		break;
	}
}

static void
on_closed(struct chan *chan, const char *reason, void *ctx)
{
	(void)chan;
	say("closed %s", reason);
	finish(ctx);
}

/* ---- the end ---- */

static void
write_artifact(struct drive *d, int part)
{
	char path[512];
	bool first = true;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", d->out, d->names[part]);
	f = fopen(path, "w");
	if (f == NULL)
		die(path);
	fwrite(d->prefix[part].data, 1, d->prefix[part].len, f);
	for (int i = 0; i < ITEMS_MAX; i++) {
		const struct buf *b = &d->parts[i][part];

		if (b->len == 0)
			continue;
		if (!first)
			fwrite(d->separator[part].data, 1,
			    d->separator[part].len, f);
		first = false;
		fwrite(b->data, 1, b->len, f);
	}
	fwrite(d->suffix[part].data, 1, d->suffix[part].len, f);
	if (fclose(f) != 0)
		die(path);
}

static void
end_all(struct drive *d)
{
	char command[128];
	struct rusage ru;
	int status;

	chan_free(&d->chan);
	if (wait4(d->worker_pid, &status, 0, &ru) != d->worker_pid)
		die("wait");
	if (d->close_at >= 0)
		say("after-ms %d", (int)(clock_mono_ms() - d->acted_ms));
	say("exit %d",
	    WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status));
	say("cpu-ms %d user-ms %d",
	    (int)(ru.ru_utime.tv_sec * 1000 + ru.ru_utime.tv_usec / 1000 +
		ru.ru_stime.tv_sec * 1000 + ru.ru_stime.tv_usec / 1000),
	    (int)(ru.ru_utime.tv_sec * 1000 + ru.ru_utime.tv_usec / 1000));
	say("rss-kib %ld", ru.ru_maxrss);
	if (d->browser_pid > 0) {
		(void)kill(-d->browser_pid, SIGKILL);
		(void)waitpid(d->browser_pid, &status, 0);
	}
	for (int part = 0; part < 2; part++)
		if (d->out != NULL && d->names[part][0] != '\0')
			write_artifact(d, part);
	snprintf(command, sizeof(command), "rm -rf %s", d->profile);
	(void)!system(command);
}

static void
add_journal(struct drive *d, const char *row)
{
	unsigned index = 0, byte;
	uint8_t bytes[12] = { 0 };
	const char *hex = strchr(row, ':');

	if (hex == NULL || sscanf(row, "%u", &index) != 1 ||
	    strlen(++hex) != 16)
		die("-j INDEX:16 hex digits");
	bytes[2] = (uint8_t)(index >> 8);
	bytes[3] = (uint8_t)index;
	for (int i = 0; i < 8; i++) {
		if (sscanf(hex + i * 2, "%2x", &byte) != 1)
			die("-j");
		bytes[4 + i] = (uint8_t)byte;
	}
	(void)buf_add(&d->journal, bytes, sizeof(bytes));
}

static void
read_options(struct drive *d, int argc, char **argv)
{
	int c;

	d->cancel_at = d->kill_at = d->close_at = d->resume_at = -1;
	d->template_id = "batch_extract_pages";
	while ((c = getopt(argc, argv, "b:c:dgh:j:k:o:r:t:x:")) != -1) {
		long n = optarg == NULL ? 0 : strtol(optarg, NULL, 10);

		switch (c) {
		case 'b':
			d->browser = optarg;
			break;
		case 'c':
			d->cancel_at = (int)n;
			d->reason = strchr(optarg, ':') + 1;
			break;
		case 'd':
			d->describe = true;
			break;
		case 'g':
			d->breach = true;
			break;
		case 'h':
			d->hold_ms = (int)n;
			break;
		case 'j':
			add_journal(d, optarg);
			break;
		case 'k':
			d->kill_at = (int)n;
			break;
		case 'o':
			d->out = optarg;
			break;
		case 'r':
			d->resume_at = (int)n;
			break;
		case 't':
			d->template_id = optarg;
			break;
		case 'x':
			d->close_at = (int)n;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind != 1)
		exit(2);
	d->workerd = argv[optind];
}

static void
init_buffers(struct drive *d)
{
	buf_init(&d->inputs, LIMIT_INPUT_BYTES);
	buf_init(&d->journal, 65536);
	for (int part = 0; part < 2; part++) {
		buf_init(&d->prefix[part], 8192);
		buf_init(&d->suffix[part], 8192);
		buf_init(&d->separator[part], 8192);
		for (int i = 0; i < ITEMS_MAX; i++)
			buf_init(&d->parts[i][part], 64 << 20);
	}
}

int
main(int argc, char **argv)
{
	static const struct chan_ops ops = { on_msg, NULL, on_closed, NULL,
		NULL };
	static struct drive d;
	uint8_t block[65536];
	size_t n;

	init_buffers(&d);
	read_options(&d, argc, argv);
	(void)signal(SIGPIPE, SIG_IGN);
	while (!d.describe && (n = fread(block, 1, sizeof(block), stdin)) > 0)
		(void)buf_add(&d.inputs, block, n);
	start_all(&d);
	d.base = event_base_new();
	d.hold_timer = evtimer_new(d.base, on_hold_timer, &d);
	d.chan = chan_new(d.base, (int)(intptr_t)d.chan, IPC_UP, &ops, &d);
	if (d.chan == NULL)
		die("chan");
	(void)event_base_dispatch(d.base);
	end_all(&d);
	return 0;
}
