/*
 * backup: a copy of all that is stored, in a directory of the caller's. The
 * files come from the process that reads the store, one after the other; here
 * they get their place, and the list of their sums.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "config.h"
#include "ctl/backup_name.h"
#include "ctl/file.h"
#include "ctl/side.h"
#include "ctl/text.h"
#include "json/writer.h"

#define SUM_BYTES 32

struct backup {
	struct side side;
	const char *path;
	int dir;
	FILE *sums;
	int file; /* that is being written, or -1 */
	char name[128];
	bool failed;
	unsigned faults;
};

static void __attribute__((format(printf, 2, 3)))
backup_fail(struct backup *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (b->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	side_bar(&b->side, NULL, 0, 0);
	ctl_error("%s", text);
	b->failed = true;
	/* Nothing more is wanted; the other side sees the connection end. */
	client_stop(b->side.client);
}

static void
make_parents(const struct backup *b, const char *name)
{
	char part[sizeof(b->name)];

	strlcpy(part, name, sizeof(part));
	for (char *p = strchr(part, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdirat(b->dir, part, 0700);
		*p = '/';
	}
}

static void
file_begin(struct backup *b, const char *name)
{
	if (b->file != -1 || !backup_name_good(name) ||
	    strlcpy(b->name, name, sizeof(b->name)) >= sizeof(b->name)) {
		backup_fail(b, "the service names a file that no backup has");
		return;
	}
	make_parents(b, name);
	b->file = openat(b->dir, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (b->file == -1)
		backup_fail(b, "%s/%s: %s", b->path, name, strerror(errno));
}

static void
file_data(struct backup *b, const struct ipc_params *p)
{
	const void *bytes;
	size_t len;
	int error;

	bytes = ipc_bin(p, F_DATA, &len);
	error = b->file == -1 ? EBADF : fd_write_all(b->file, bytes, len);
	if (error != 0)
		backup_fail(b, "%s/%s: %s", b->path, b->name, strerror(error));
}

/* As sha256sum(1) writes and reads it. */
static void
file_end(struct backup *b, const struct ipc_params *p)
{
	const uint8_t *sum;
	size_t len;

	sum = ipc_bin(p, F_SHA256, &len);
	if (b->file == -1) {
		backup_fail(b, "the service ends a file that it did not begin");
		return;
	}
	fd_close(&b->file);
	for (size_t i = 0; i < SUM_BYTES; i++)
		fprintf(b->sums, "%02x", sum[i]);
	fprintf(b->sums, "  %s\n", b->name);
}

static void
tell_fault(struct backup *b, const struct ipc_params *p)
{
	struct json_doc *doc;
	const void *json;
	size_t len;

	json = ipc_bin(p, F_RECORD, &len);
	b->faults++;
	if (!json_parse(json, len, NULL, 0, &doc, NULL))
		return;
	side_tell_fault(&b->side, json_root(doc), "not sound: ");
	json_doc_free(&doc);
}

static void
on_note(void *arg, const struct ipc_params *p)
{
	struct backup *b = arg;

	if (b->failed)
		return;
	if (p->msg == MSG_STORE_FILE)
		file_begin(b, ipc_str(p, F_NAME));
	else if (p->msg == MSG_STORE_DATA)
		file_data(b, p);
	else if (p->msg == MSG_STORE_END)
		file_end(b, p);
	else if (p->msg == MSG_STORE_FAULT)
		tell_fault(b, p);
}

/* The directory */

static bool
dir_make(struct backup *b)
{
	int fd;

	if (mkdir(b->path, 0700) == -1 ||
	    (b->dir = open(b->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) ==
		-1) {
		ctl_error("%s: %s", b->path, strerror(errno));
		if (errno == EEXIST)
			ctl_hint("a backup is made in a new directory");
		else if (errno == ENOENT)
			file_hint_above(b->path);
		return false;
	}
	fd = openat(b->dir, BACKUP_SUMS ".part",
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	b->sums = fd == -1 ? NULL : fdopen(fd, "w");
	if (b->sums == NULL)
		ctl_error("%s: %s", b->path, strerror(errno));
	return b->sums != NULL;
}

static bool
manifest_write(struct backup *b, struct json_val record)
{
	struct json_writer w;
	struct buf text;
	char key[64];
	int fd;
	bool good;

	buf_init(&text, 16384);
	json_writer_init_pretty(&w, &text);
	json_write_begin_object(&w);
	json_put_str(&w, "version", PACKAGE_VERSION);
	json_put_int64(&w, "createdAt", clock_stamp_ms());
	for (struct json_iter it = json_iter(record); json_iter_next(&it);)
		if (json_str_copy(it.key, key, sizeof(key)))
			json_put_val(&w, key, it.val);
	json_write_end_object(&w);
	good = json_writer_finish(&w) && buf_add(&text, "\n", 1);
	fd = openat(b->dir, BACKUP_MANIFEST,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	good = good && fd != -1 && fd_write_all(fd, text.data, text.len) == 0;
	fd_close(&fd);
	buf_clear(&text);
	return good;
}

/* The list of sums gets its name when all is on the disk. */
static bool
dir_finish(struct backup *b, struct json_val record)
{
	bool good = manifest_write(b, record) && fflush(b->sums) == 0 &&
	    !ferror(b->sums) && syncfs(b->dir) == 0 &&
	    renameat(b->dir, BACKUP_SUMS ".part", b->dir, BACKUP_SUMS) == 0 &&
	    fsync(b->dir) == 0;

	if (!good)
		ctl_error("%s: %s", b->path, strerror(errno));
	return good;
}

static int64_t
number(struct json_val v, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(v, key), &n);
	return n;
}

static void
print_outcome(const struct backup *b, struct json_val v)
{
	char runs[32], arts[32], kept[32], bytes[32], files[32];

	if (b->side.ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(v);
		return;
	}
	text_bytes(number(v, "bytes"), bytes, sizeof(bytes));
	text_count(number(v, "runs"), "run", runs, sizeof(runs));
	text_count(number(v, "artifacts"), "artifact", arts, sizeof(arts));
	text_count(number(v, "sessions"), "session", kept, sizeof(kept));
	text_count(number(v, "files"), "file", files, sizeof(files));
	printf("%s: %s, %s, %s, %s in %s\n", b->path, runs, arts, kept, bytes,
	    files);
	if (b->faults > 0)
		printf(
		    "%u faults: browsertaskctl fsck tells more\n", b->faults);
}

static enum ctl_exit
backup_take(struct backup *b, struct ctl *ctl)
{
	struct json_val record;
	enum ctl_exit rc;

	rc = side_open(&b->side, ctl, MSG_STORE_BACKUP, "backup", on_note, b);
	if (rc == CTL_OK)
		rc = side_run(&b->side, &record);
	if (b->failed || rc != CTL_OK || b->file != -1)
		return rc == CTL_OK ? CTL_FAILED : rc;
	if (!dir_finish(b, record))
		return CTL_FAILED;
	print_outcome(b, record);
	return b->faults > 0 ? CTL_FAILED : CTL_OK;
}

enum ctl_exit
cmd_backup(struct ctl *ctl)
{
	struct backup b = { .path = ctl->args[0], .dir = -1, .file = -1 };
	enum ctl_exit rc = CTL_FAILED;
	bool whole;

	b.side.sock = b.side.lock = -1;
	b.side.ctl = ctl;
	if (dir_make(&b))
		rc = backup_take(&b, ctl);
	whole = b.dir != -1 && faccessat(b.dir, BACKUP_SUMS, F_OK, 0) == 0;
	if (b.dir != -1 && !whole) {
		/* Where nothing came, nothing is left. */
		unlinkat(b.dir, BACKUP_SUMS ".part", 0);
		if (rmdir(b.path) == -1)
			ctl_hint("%s is not complete: remove it", b.path);
	}
	side_close(&b.side);
	if (b.sums != NULL)
		fclose(b.sums);
	fd_close(&b.file);
	fd_close(&b.dir);
	return rc;
}
