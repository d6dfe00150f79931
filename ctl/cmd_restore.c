/*
 * restore: a state directory from a backup. Nothing of it is believed: a
 * process without rights of its own makes and checks the store, and only then
 * does the directory get what a service knows its own by.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/recordfile.h"
#include "ctl/backup_name.h"
#include "ctl/side.h"
#include "ctl/text.h"

#define PIECE_BYTES 262144
#define SUM_BYTES   32
#define LINE_BYTES  256
#define SAID_MAX    20

struct restore {
	struct side side;
	const char *path; /* of the backup */
	int dir;
	char state[PATH_MAX];
	int state_fd;
	int64_t total, done; /* bytes */
	unsigned said;       /* findings that were told */
	uint8_t piece[PIECE_BYTES];
};

/* The state directory. */

static bool
is_locked(int dir)
{
	int fd = openat(dir, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool locked = fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1;

	fd_close(&fd);
	return locked;
}

static void
make_path(char *path)
{
	for (char *p = strchr(path + 1, '/'); p != NULL;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	mkdir(path, 0700);
}

static bool
state_open(struct restore *r)
{
	make_path(r->state);
	r->state_fd = open(r->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->state_fd == -1) {
		ctl_error("%s: %s", r->state, strerror(errno));
		return false;
	}
	if (is_locked(r->state_fd)) {
		ctl_error("a service uses %s", r->state);
		ctl_hint("stop it and move that directory away, or name "
			 "another one with --state-dir");
		return false;
	}
	if (!fd_dir_is_empty(r->state_fd)) {
		ctl_error("%s is not empty", r->state);
		ctl_hint("move it away, or name another one with --state-dir");
		return false;
	}
	return true;
}

/* By these the launcher knows that the directory is a service's. */
static bool
state_finish(struct restore *r)
{
	int fd;

	if (syncfs(r->state_fd) == -1 || fchmod(r->state_fd, 0700) == -1 ||
	    mkdirat(r->state_fd, "profiles", 0700) == -1)
		return false;
	fd = openat(r->state_fd, "lock",
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return false;
	fd_close(&fd);
	return fsync(r->state_fd) == 0;
}

/* What was recorded of the store before says nothing of this one. */
static bool
record_clear(const struct restore *r)
{
	char path[PATH_MAX + 16];

	snprintf(
	    path, sizeof(path), "%s" RECORD_SUFFIX "/" RECORD_FILE, r->state);
	return unlink(path) == 0 || errno == ENOENT;
}

/* The backup. */

static bool
send_file_head(struct restore *r, const char *name, int64_t size)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_FILE);
	ipc_set_str(&p, F_NAME, name);
	ipc_set_int(&p, F_SIZE, size);
	return side_send(&r->side, &p);
}

static bool
send_data(struct restore *r, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_DATA);
	ipc_set_bin(&p, F_DATA, r->piece, len);
	r->done += (int64_t)len;
	side_bar(&r->side, "restoring", r->done, r->total);
	return side_send(&r->side, &p);
}

static bool
send_end(struct restore *r, const uint8_t *sum)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_END);
	ipc_set_bin(&p, F_SHA256, sum, SUM_BYTES);
	return side_send(&r->side, &p);
}

/* false: told. *ret_gone: the other side has ended, and says why. */
static bool
send_file(
    struct restore *r, const char *name, const uint8_t *sum, bool *ret_gone)
{
	int fd = openat(
	    r->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = 0;

	if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		ctl_error("%s/%s: %s", r->path, name,
		    fd == -1 ? strerror(errno) : "it is no file");
		fd_close(&fd);
		return false;
	}
	*ret_gone = !send_file_head(r, name, (int64_t)st.st_size);
	while (!*ret_gone && (n = read(fd, r->piece, sizeof(r->piece))) > 0)
		*ret_gone = !send_data(r, (size_t)n);
	fd_close(&fd);
	if (n == -1) {
		ctl_error("%s/%s: %s", r->path, name, strerror(errno));
		return false;
	}
	*ret_gone = *ret_gone || !send_end(r, sum);
	return true;
}

/* "64 hex digits, two spaces, name" */
static bool
line_read(char *line, uint8_t ret_sum[SUM_BYTES], const char **ret_name)
{
	static const char digits[] = "0123456789abcdef";

	line[strcspn(line, "\n")] = '\0';
	if (strspn(line, digits) != 2 * (size_t)SUM_BYTES ||
	    strncmp(line + 2 * (size_t)SUM_BYTES, "  ", 2) != 0)
		return false;
	for (size_t i = 0; i < 2 * (size_t)SUM_BYTES; i++)
		ret_sum[i / 2] = (uint8_t)(ret_sum[i / 2] << 4 |
		    (strchr(digits, line[i]) - digits));
	*ret_name = line + 2 * (size_t)SUM_BYTES + 2;
	return backup_name_good(*ret_name);
}

typedef bool
line_fn(struct restore *, const char *name, const uint8_t *sum, bool *ret_gone);

/* Each file of the backup, in the order it was written. */
static bool
each_file(struct restore *r, line_fn *fn)
{
	int fd = openat(r->dir, BACKUP_SUMS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *in = fd == -1 ? NULL : fdopen(fd, "r");
	char line[LINE_BYTES];
	uint8_t sum[SUM_BYTES];
	bool good = in != NULL, gone = false;
	const char *name;

	if (in == NULL) {
		ctl_error("%s/%s: %s", r->path, BACKUP_SUMS, strerror(errno));
		ctl_hint("a backup without it is not complete, or none");
	}
	while (good && !gone && fgets(line, sizeof(line), in) != NULL) {
		memset(sum, 0, sizeof(sum));
		if (line_read(line, sum, &name)) {
			good = fn(r, name, sum, &gone);
			continue;
		}
		ctl_error(
		    "%s/%s: no list of a backup's files", r->path, BACKUP_SUMS);
		good = false;
	}
	if (in != NULL)
		fclose(in);
	return good;
}

static bool
add_size(
    struct restore *r, const char *name, const uint8_t *sum, bool *ret_gone)
{
	struct stat st;

	(void)sum;
	(void)ret_gone;
	if (fstatat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		ctl_error("%s/%s: %s", r->path, name, strerror(errno));
		return false;
	}
	r->total += (int64_t)st.st_size;
	return true;
}

static void
send_done(struct restore *r)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_DONE);
	ipc_set_bin(&p, F_RECORD, "{}", 2);
	(void)side_send(&r->side, &p);
}

/* The outcome. */

static void
on_note(void *arg, const struct ipc_params *p)
{
	struct restore *r = arg;
	struct json_doc *doc;
	const void *json;
	size_t len;

	if (p->msg != MSG_STORE_FAULT || r->said++ >= SAID_MAX)
		return;
	json = ipc_bin(p, F_RECORD, &len);
	if (!json_parse(json, len, NULL, 0, &doc, NULL))
		return;
	side_tell_fault(&r->side, json_root(doc), "");
	json_doc_free(&doc);
}

static int64_t
number(struct json_val v, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(v, key), &n);
	return n;
}

static void
hint_start(const char *state)
{
	char usual[PATH_MAX];

	if (!side_state_default(usual) || strcmp(usual, state) != 0)
		ctl_hint("start the service: browsertaskd -s %s", state);
	else if (geteuid() == 0)
		ctl_hint("start the service: systemctl start browsertaskd");
	else
		ctl_hint("start the service: browsertaskd");
}

static enum ctl_exit
judge(struct restore *r, struct json_val v)
{
	const struct ctl *ctl = r->side.ctl;
	char runs[32], arts[32], kept[32];
	bool sound = false;

	json_get_bool(json_obj_get(v, "sound"), &sound);
	if (!sound && ctl->opt[OPT_FORCE] == NULL) {
		ctl_error("%s: the backup is not sound; nothing was restored",
		    r->path);
		ctl_hint("take another one, or this one as it is with "
			 "--force");
		return CTL_FAILED;
	}
	if (!state_finish(r) || !record_clear(r)) {
		ctl_error("%s: %s", r->state, strerror(errno));
		return CTL_FAILED;
	}
	if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(v);
		return CTL_OK;
	}
	text_count(number(v, "runs"), "run", runs, sizeof(runs));
	text_count(number(v, "artifacts"), "artifact", arts, sizeof(arts));
	text_count(number(v, "sessions"), "session", kept, sizeof(kept));
	printf("%s: %s, %s, %s%s\n", r->state, runs, arts, kept,
	    sound ? "" : ", NOT sound");
	hint_start(r->state);
	return CTL_OK;
}

static enum ctl_exit
restore_run(struct restore *r, struct ctl *ctl)
{
	const char *flag = ctl->opt[OPT_FORCE] != NULL ? "-F" : NULL;
	struct json_val record;
	enum ctl_exit rc;
	bool sent;

	if (!each_file(r, add_size))
		return CTL_FAILED;
	rc = side_start(&r->side, ctl, "restore", r->state, flag);
	if (rc != CTL_OK)
		return rc;
	r->side.on_note = on_note;
	r->side.arg = r;
	sent = each_file(r, send_file);
	if (!sent)
		return CTL_FAILED;
	send_done(r);
	side_bar(&r->side, "checking", 0, 1);
	rc = side_run(&r->side, &record);
	return rc == CTL_OK ? judge(r, record) : rc;
}

enum ctl_exit
cmd_restore(struct ctl *ctl)
{
	struct restore *r = calloc(1, sizeof(*r));
	enum ctl_exit rc = CTL_FAILED;

	if (r == NULL) {
		ctl_error("no memory");
		return CTL_FAILED;
	}
	r->path = ctl->args[0];
	r->state_fd = -1;
	r->side = (struct side){ .ctl = ctl, .sock = -1, .lock = -1 };
	r->dir = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir == -1) {
		ctl_error("%s: %s", r->path, strerror(errno));
		ctl_hint("name a directory that browsertaskctl backup made");
	} else if (!side_state_dir(ctl, r->state))
		ctl_error("--state-dir: which state directory?");
	else if (state_open(r))
		rc = restore_run(r, ctl);
	side_close(&r->side);
	fd_close(&r->state_fd);
	fd_close(&r->dir);
	free(r);
	return rc;
}
