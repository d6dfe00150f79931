/*
 * The other side of checks, backups and restores. Runs in browsertaskctl, as
 * the caller: a process that it starts has no more rights than the caller, and
 * as root those of the directory's owner.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "ctl/side.h"
#include "ctl/text.h"

#define PATIENT_S  2
#define SIDE_FD    3
#define FRAME_HEAD 4
#define BAR_CELLS  20

bool
side_state_default(char ret_dir[PATH_MAX])
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (geteuid() == 0)
		strlcpy(ret_dir, LOCALSTATEDIR "/lib/browsertask", PATH_MAX);
	else if (xdg != NULL && xdg[0] == '/')
		snprintf(ret_dir, PATH_MAX, "%s/browsertask", xdg);
	else if (home != NULL && home[0] == '/')
		snprintf(
		    ret_dir, PATH_MAX, "%s/.local/state/browsertask", home);
	else
		return false;
	return true;
}

bool
side_state_dir(const struct ctl *ctl, char ret_dir[PATH_MAX])
{
	if (ctl->opt[OPT_STATE_DIR] == NULL)
		return side_state_default(ret_dir);
	strlcpy(ret_dir, ctl->opt[OPT_STATE_DIR], PATH_MAX);
	return true;
}

char *
side_fault_id(struct json_val fault)
{
	static const char *const ids[] = { "runId", "artifactId", "sessionId" };
	char *id;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		id = text_of(json_obj_get(fault, ids[i]));
		if (id != NULL && id[0] != '\0')
			return id;
		free(id);
	}
	return NULL;
}

void
side_tell_fault(struct side *s, struct json_val fault, const char *before)
{
	char *what = text_of(json_obj_get(fault, "what"));
	char *table = text_of(json_obj_get(fault, "table"));
	char *key = text_of(json_obj_get(fault, "key"));
	char *id = side_fault_id(fault);

	side_bar(s, NULL, 0, 0);
	if (id != NULL)
		ctl_error("%s%s: %s", before, id, what == NULL ? "" : what);
	else
		ctl_error("%s%s %s: %s", before, table == NULL ? "" : table,
		    key == NULL ? "" : key, what == NULL ? "" : what);
	free(what);
	free(table);
	free(key);
	free(id);
}

/* Progress. */

void
side_bar(struct side *s, const char *what, int64_t done, int64_t total)
{
	const struct ctl *ctl = s->ctl;
	int64_t full = total <= 0 ? 0 : done * BAR_CELLS / total;
	char line[sizeof(s->bar)] = "", cells[3 * BAR_CELLS + 1] = "";

	if (!ctl->err_tty || ctl->opt[OPT_JSON] != NULL)
		return;
	for (int64_t i = 0; what != NULL && i < BAR_CELLS; i++)
		strlcat(cells,
		    ctl->unicode   ? i < full ? "\xe2\x96\x88" : "\xe2\x96\x91"
			: i < full ? "#"
				   : ".",
		    sizeof(cells));
	if (what != NULL)
		snprintf(line, sizeof(line), "%s %3d %%  %s", cells,
		    total <= 0 ? 100 : (int)(done * 100 / total), what);
	if (strcmp(line, s->bar) == 0)
		return;
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	strlcpy(s->bar, line, sizeof(s->bar));
}

/* What comes. */

static void
take_done(struct side *s, const struct ipc_params *p)
{
	const char *json;
	size_t len;

	json = ipc_bin(p, F_RECORD, &len);
	if (s->done == NULL && (s->done_text = strndup(json, len)) != NULL)
		(void)json_parse((const uint8_t *)s->done_text, len, NULL,
		    JSON_BORROW, &s->done, NULL);
	client_stop(s->client);
}

static void
on_client_note(struct client *client, const struct ipc_params *p, void *arg)
{
	struct side *s = arg;

	s->heard = true;
	if (p->msg == MSG_STORE_PROGRESS) {
		char clean[80];
		struct buf b;

		buf_init(&b, sizeof(clean));
		text_clean(
		    &b, ipc_str(p, F_TEXT), strlen(ipc_str(p, F_TEXT)), false);
		snprintf(clean, sizeof(clean), "%.*s", (int)b.len,
		    b.data == NULL ? "" : (char *)b.data);
		buf_clear(&b);
		side_bar(
		    s, clean, ipc_int(p, F_DONE, 0), ipc_int(p, F_TOTAL, 0));
	} else if (p->msg == MSG_STORE_DONE) {
		take_done(s, p);
	} else if (s->on_note != NULL) {
		s->on_note(s->arg, p);
	}
}

/* The process started here is over; a signal may have done it. */
static void
side_wait(struct side *s)
{
	int status = 0;

	if (s->pid <= 0)
		return;
	while (waitpid(s->pid, &status, 0) == -1 && errno == EINTR)
		;
	s->pid = 0;
	if (WIFSIGNALED(status))
		ctl_error(
		    "supervisord -I was ended by signal %d", WTERMSIG(status));
}

/*
 * Its work may take long, but the process of a service says every few seconds
 * that it lives. One that was started here is the caller's own to end.
 */
static enum client_status
side_listen(struct side *s)
{
	enum client_status status = CLIENT_STOPPED;

	do {
		s->heard = false;
		status = client_wait(s->client, s->own ? -1 : CLIENT_SILENT_MS);
	} while (s->done == NULL && status != CLIENT_LOST &&
	    (status != CLIENT_TIMEOUT || s->heard));
	return status;
}

static enum ctl_exit
tell_unfinished(enum client_status status)
{
	if (status == CLIENT_TIMEOUT) {
		ctl_error("no answer: the process that reads the store has said"
			  " nothing for %d s",
		    CLIENT_SILENT_MS / 1000);
		ctl_hint("the service hangs, or the machine has too much to do:"
			 " try again; browsertaskctl doctor looks for more");
	} else {
		ctl_error("it ended before it was through");
		ctl_hint("the log of the service tells more; a damaged "
			 "database can end a process that reads it");
	}
	return CTL_FAILED;
}

enum ctl_exit
side_run(struct side *s, struct json_val *ret_record)
{
	enum client_status status;
	struct json_val root;
	char *error, *advice;

	if (s->client == NULL && (s->client = client_over(s->sock)) == NULL) {
		s->sock = -1;
		ctl_error("supervisord: %s", strerror(errno));
		return CTL_FAILED;
	}
	s->sock = -1;
	client_on_note(s->client, on_client_note, s);
	status = side_listen(s);
	side_bar(s, NULL, 0, 0);
	side_wait(s);
	if (s->done == NULL)
		return tell_unfinished(status);
	root = json_root(s->done);
	error = text_of(json_obj_get(root, "error"));
	advice = text_of(json_obj_get(root, "advice"));
	if (error != NULL && error[0] != '\0')
		ctl_error("%s", error);
	if (advice != NULL && advice[0] != '\0')
		ctl_hint("%s", advice);
	*ret_record = root;
	status = error != NULL && error[0] != '\0' ? CLIENT_ERROR : CLIENT_OK;
	free(error);
	free(advice);
	return status == CLIENT_OK ? CTL_OK : CTL_FAILED;
}

bool
side_send(struct side *s, const struct ipc_params *p)
{
	uint8_t head[FRAME_HEAD];
	struct buf b;
	bool good;

	buf_init(&b, LIMIT_FRAME_BYTES);
	good = ipc_encode_note(&b, p, NULL);
	for (int i = 0; i < FRAME_HEAD; i++)
		head[i] = (uint8_t)(b.len >> (8 * (FRAME_HEAD - 1 - i)));
	good = good && fd_write_all(s->sock, head, sizeof(head)) == 0 &&
	    fd_write_all(s->sock, b.data, b.len) == 0;
	buf_clear(&b);
	return good;
}

/* Starting. */

/* Beside this program as it is installed or built, or where it should be. */
static void
find_supervisord(char ret_path[PATH_MAX])
{
	static const char *const places[] = { "libexec/browsertask/supervisord",
		"supervisord/supervisord" };
	char top[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", top, sizeof(top) - 1);

	top[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2; up++)
		if ((slash = strrchr(top, '/')) != NULL)
			*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(ret_path, PATH_MAX, "%.3000s/%s", top, places[i]);
		if (access(ret_path, X_OK) == 0)
			return;
	}
	strlcpy(ret_path, PKGLIBEXECDIR "/supervisord", PATH_MAX);
}

/* What root reads of others, it reads as they. */
static bool
become_owner(const char *dir)
{
	struct stat st;

	if (geteuid() != 0 || stat(dir, &st) == -1 || st.st_uid == 0)
		return true;
	return setgroups(0, NULL) == 0 &&
	    setresgid(st.st_gid, st.st_gid, st.st_gid) == 0 &&
	    setresuid(st.st_uid, st.st_uid, st.st_uid) == 0;
}

static _Noreturn void
child_exec(const char *path, const char *mode, const char *dir,
    const char *flag, int sock)
{
	/* execve changes none of them; its prototype is older than const. */
	char *argv[] = { (char *)(uintptr_t) "supervisord",
		(char *)(uintptr_t) "-I", (char *)(uintptr_t)mode,
		(char *)(uintptr_t) "-s", (char *)(uintptr_t)dir,
		(char *)(uintptr_t) "-a", (char *)(uintptr_t)flag, NULL };

	if (fd_move(sock, SIDE_FD) == 0 && become_owner(dir)) {
		closefrom(SIDE_FD + 1);
		execv(path, argv);
	}
	fprintf(stderr, "browsertaskctl: %s: %s\n", path, strerror(errno));
	_exit(127);
}

enum ctl_exit
side_start(struct side *s, struct ctl *ctl, const char *mode, const char *dir,
    const char *flag)
{
	char path[PATH_MAX];
	int pair[2];

	find_supervisord(path);
	if (access(path, X_OK) == -1) {
		ctl_error("%s: %s", path, strerror(errno));
		return CTL_FAILED;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
		ctl_error("a socket: %s", strerror(errno));
		return CTL_FAILED;
	}
	s->ctl = ctl;
	s->own = true;
	s->pid = fork();
	if (s->pid == 0)
		child_exec(path, mode, dir, flag, pair[1]);
	close(pair[1]);
	s->sock = pair[0];
	if (s->pid == -1) {
		ctl_error("a process: %s", strerror(errno));
		return CTL_FAILED;
	}
	return CTL_OK;
}

/* The launcher's lock: whoever holds it has the store to itself. */
static enum ctl_exit
take_lock(struct side *s, const char *dir)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s/lock", dir);
	s->lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (s->lock == -1) {
		ctl_error("%s: %s", path, strerror(errno));
		ctl_hint("%s",
		    errno == EACCES
			? "ask as root, or as the user whose directory it is"
			: "--state-dir is the directory that browsertaskd is "
			  "given with -s");
		return CTL_FAILED;
	}
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return CTL_OK;
	ctl_error("a service uses %s", dir);
	ctl_hint("leave --state-dir away: the service does it while it runs");
	return CTL_FAILED;
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	ctl_error("not begun yet: the service does one check or backup at a "
		  "time");
}

/* The answer comes when it is this one's turn. */
static enum ctl_exit
ask(struct side *s, enum msg_id request)
{
	const struct timeval patience = { PATIENT_S, 0 };
	struct event *late = evtimer_new(client_base(s->client), on_late, NULL);
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	if (late != NULL)
		event_add(late, &patience);
	ipc_params_init(&p, request);
	rc = ctl_call(s->ctl, &p, CLIENT_WHILE_ALIVE, &a);
	if (rc == CTL_OK)
		ctl_answer_free(&a);
	if (late != NULL)
		event_free(late);
	return rc;
}

enum ctl_exit
side_open(struct side *s, struct ctl *ctl, enum msg_id request,
    const char *mode, void (*on_note)(void *, const struct ipc_params *),
    void *arg)
{
	enum ctl_exit rc;

	*s = (struct side){ .ctl = ctl, .sock = -1, .lock = -1 };
	s->on_note = on_note;
	s->arg = arg;
	if (ctl->opt[OPT_STATE_DIR] != NULL) {
		rc = take_lock(s, ctl->opt[OPT_STATE_DIR]);
		return rc != CTL_OK
		    ? rc
		    : side_start(s, ctl, mode, ctl->opt[OPT_STATE_DIR], NULL);
	}
	if ((rc = ctl_connect_admin(ctl)) != CTL_OK) {
		ctl_hint("--state-dir DIR does it where no service runs");
		return rc;
	}
	s->client = ctl->client;
	client_on_note(s->client, on_client_note, s);
	return ask(s, request);
}

void
side_close(struct side *s)
{
	side_bar(s, NULL, 0, 0);
	fd_close(&s->sock);
	if (s->own)
		client_free(&s->client);
	side_wait(s);
	fd_close(&s->lock);
	json_doc_free(&s->done);
	free(s->done_text);
	s->done_text = NULL;
}
