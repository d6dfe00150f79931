/*
 * bareloop: the floor the benchmark measures against. The least a program can
 * do to read pages over the CDP pipe: K kept tabs, each in a window of its own;
 * navigate, load event, evaluate, next. No deadlines, no recovery, no records.
 *
 *   bareloop -b BROWSER -k TABS -u URLFILE -s SCRIPTFILE [-- BROWSER-FLAG...]
 *
 * Prints one JSON line. Runs as an ordinary user, the browser's sandbox on.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"

#define MAX_TABS 16
#define MAX_URLS 10000

struct tab {
	char session[64];
	int url; /* index, -1 idle */
};

static int cmd_fd, reply_fd, next_id = 1, tab_count;
static struct tab tabs[MAX_TABS];
static char *urls[MAX_URLS];
static int url_count, url_next, pages;
static long long elements, characters;
static struct buf script, in, out;

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void
add_json_string(struct buf *b, const char *s, size_t len)
{
	buf_add(b, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			buf_addf(b, "\\%c", c);
		else if (c < 0x20)
			buf_addf(b, "\\u%04x", c);
		else
			buf_add(b, &c, 1);
	}
	buf_add(b, "\"", 1);
}

static void
read_file(const char *path, struct buf *b)
{
	char chunk[65536];
	ssize_t n;
	int fd = open(path, O_RDONLY);

	if (fd == -1)
		err(1, "%s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(b, chunk, (size_t)n);
	close(fd);
}

static void
read_urls(const char *path)
{
	struct buf b;
	char *line, *rest;
	size_t len;

	buf_init(&b, 16u << 20);
	read_file(path, &b);
	rest = (char *)buf_take(&b, &len);
	while ((line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0' && url_count < MAX_URLS)
			urls[url_count++] = line;
}

static pid_t
start_browser(const char *path, char **flags)
{
	char *argv[64] = { (char *)(uintptr_t)path,
		(char *)(uintptr_t) "--remote-debugging-pipe" };
	int to[2], from[2], n = 2;
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) == -1 || pipe2(from, O_CLOEXEC) == -1)
		err(1, "pipe");
	while (*flags != NULL && n < 63)
		argv[n++] = *flags++;
	pid = fork();
	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		int a = fcntl(to[0], F_DUPFD, 20);
		int b = fcntl(from[1], F_DUPFD, 20);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		dup2(a, 3);
		dup2(b, 4);
		execv(path, argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	cmd_fd = to[1];
	reply_fd = from[0];
	return pid;
}

static void
send_out(void)
{
	size_t off = 0;
	ssize_t n;

	while (off < out.len) {
		n = write(cmd_fd, out.data + off, out.len - off);
		if (n <= 0)
			err(1, "write to browser");
		off += (size_t)n;
	}
	buf_reset(&out);
}

static int
command(const char *session, const char *method, const char *params)
{
	buf_addf(&out, "{\"id\":%d,\"method\":\"%s\",\"params\":%s", next_id,
	    method, params);
	if (session != NULL)
		buf_addf(&out, ",\"sessionId\":\"%s\"", session);
	buf_add(&out, "}", 2); /* with the NUL */
	send_out();
	return next_id++;
}

/* The next message, NUL-terminated, valid until the next call. */
static char *
next_message(void)
{
	static size_t used, scanned;
	uint8_t *end, *room;
	ssize_t n;

	if (used > 0) {
		memmove(in.data, in.data + used, in.len - used);
		in.len -= used;
		used = scanned = 0;
	}
	for (;;) {
		end = in.len == scanned
		    ? NULL
		    : memchr(in.data + scanned, 0, in.len - scanned);
		if (end != NULL) {
			used = (size_t)(end - in.data) + 1;
			return (char *)in.data;
		}
		scanned = in.len;
		room = buf_reserve(&in, 1u << 20);
		if (room == NULL)
			errx(1, "message too large");
		n = read(reply_fd, room, 1u << 20);
		if (n <= 0)
			errx(1, "the browser ended");
		in.len += (size_t)n;
	}
}

static bool
member(const char *msg, const char *key, char *ret, size_t size)
{
	char pattern[64];
	const char *p, *end;

	snprintf(pattern, sizeof(pattern), "\"%s\":\"", key);
	p = strstr(msg, pattern);
	if (p == NULL)
		return false;
	p += strlen(pattern);
	end = strchr(p, '"');
	if (end == NULL || (size_t)(end - p) >= size)
		return false;
	memcpy(ret, p, (size_t)(end - p));
	ret[end - p] = '\0';
	return true;
}

static char *
wait_reply(int id)
{
	char prefix[32], *msg;

	snprintf(prefix, sizeof(prefix), "{\"id\":%d,", id);
	do
		msg = next_message();
	while (strncmp(msg, prefix, strlen(prefix)) != 0);
	return msg;
}

static void
open_tab(struct tab *t)
{
	char target[64], params[160];
	int id = command(NULL, "Target.createTarget",
	    "{\"url\":\"about:blank\",\"newWindow\":true}");

	if (!member(wait_reply(id), "targetId", target, sizeof(target)))
		errx(1, "no target");
	snprintf(params, sizeof(params),
	    "{\"targetId\":\"%s\",\"flatten\":true}", target);
	id = command(NULL, "Target.attachToTarget", params);
	if (!member(
		wait_reply(id), "sessionId", t->session, sizeof(t->session)))
		errx(1, "no session");
	wait_reply(command(t->session, "Page.enable", "{}"));
	t->url = -1;
}

static void
navigate(struct tab *t)
{
	struct buf b;

	t->url = -1;
	if (url_next == url_count)
		return;
	t->url = url_next++;
	buf_init(&b, 65536);
	buf_add_str(&b, "{\"url\":");
	add_json_string(&b, urls[t->url], strlen(urls[t->url]));
	buf_add(&b, "}", 2);
	command(t->session, "Page.navigate", (char *)b.data);
	buf_clear(&b);
}

static long long
number_after(const char *msg, const char *key)
{
	const char *p = strstr(msg, key);

	return p == NULL ? 0 : strtoll(p + strlen(key), NULL, 10);
}

static void
on_message(char *msg)
{
	char session[64];
	size_t len = strlen(msg), tail = len > 120 ? len - 120 : 0;
	struct tab *t = NULL;

	if (!member(msg + tail, "sessionId", session, sizeof(session)))
		return;
	for (int i = 0; i < tab_count; i++)
		if (strcmp(tabs[i].session, session) == 0)
			t = &tabs[i];
	if (t == NULL)
		return;
	if (strncmp(msg, "{\"method\":\"Page.loadEventFired\"", 31) == 0) {
		if (t->url != -1)
			command(t->session, "Runtime.evaluate",
			    (char *)script.data);
	} else if (strstr(msg, "\"totalElements\":") != NULL) {
		elements += number_after(msg, "\"totalElements\":");
		characters += number_after(msg, "\"textLength\":");
		pages++;
		navigate(t);
	}
}

static void
usage(void)
{
	fprintf(stderr,
	    "usage: bareloop -b BROWSER -k TABS -u URLFILE "
	    "-s SCRIPTFILE [-- FLAG...]\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	const char *browser = NULL, *urlfile = NULL, *scriptfile = NULL;
	struct buf source;
	double started;
	pid_t pid;
	int c;

	while ((c = getopt(argc, argv, "b:k:u:s:")) != -1) {
		if (c == 'b')
			browser = optarg;
		else if (c == 'k')
			tab_count = (int)strtol(optarg, NULL, 10);
		else if (c == 'u')
			urlfile = optarg;
		else if (c == 's')
			scriptfile = optarg;
		else
			usage();
	}
	if (browser == NULL || urlfile == NULL || scriptfile == NULL ||
	    tab_count < 1 || tab_count > MAX_TABS)
		usage();
	buf_init(&source, 8u << 20);
	buf_init(&script, 16u << 20);
	buf_init(&in, 64u << 20);
	buf_init(&out, 16u << 20);
	read_urls(urlfile);
	read_file(scriptfile, &source);
	buf_add_str(&script,
	    "{\"returnByValue\":true,\"awaitPromise\":true,"
	    "\"expression\":");
	add_json_string(&script, (char *)source.data, source.len);
	buf_add(&script, "}", 2);

	pid = start_browser(browser, argv + optind);
	for (int i = 0; i < tab_count; i++)
		open_tab(&tabs[i]);
	started = now();
	for (int i = 0; i < tab_count; i++)
		navigate(&tabs[i]);
	while (pages < url_count)
		on_message(next_message());
	printf("{\"pages\":%d,\"seconds\":%.3f,\"elements\":%lld,"
	       "\"characters\":%lld}\n",
	    pages, now() - started, elements, characters);
	fflush(stdout);
	command(NULL, "Browser.close", "{}");
	close(cmd_fd);
	waitpid(pid, NULL, 0);
	return 0;
}
