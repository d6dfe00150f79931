/*
 * Checking, copying and making a store, in a process of its own that runs
 * supervisord's program. The launcher starts it beside the service, for the
 * client whose connection it gets; browsertaskctl starts it where no service
 * runs. It is confined as supervisord is, and to reading unless it makes a
 * store; whatever it finds, it writes to the connection and nowhere else.
 *
 * LMDB does not survive each kind of damage to its pages. What a signal ends is
 * told to the client by bytes that were made before.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "confine/confine.h"
#include "json/writer.h"
#include "launch/launch.h"
#include "storage/backup.h"
#include "storage/check.h"
#include "supervisord/confine.h"
#include "supervisord/inspect.h"
#include "supervisord/inspect_wire.h"
#include "supervisord/reply.h"

/*
 * No page that a reader may still want is used again: one that waits for its
 * other end (a person's Ctrl-Z) would let the store of the service grow.
 */
#define PATIENCE_S  20
#define EXIT_FAULTS 1
#define EXIT_USAGE  64

struct inspect {
	const char *mode, *state_dir;
	bool alone, force;
	struct wire *wire;
	struct buf json;
};

/* What is said. */

static void
say(struct inspect *in, enum msg_id msg)
{
	struct ipc_params p;

	ipc_params_init(&p, msg);
	ipc_set_bin(&p, F_RECORD, in->json.data, in->json.len);
	if (!in->json.failed)
		wire_send(in->wire, &p);
	buf_reset(&in->json);
}

static int64_t
count_of(uint64_t n)
{
	return n < IPC_INT_MAX ? (int64_t)n : IPC_INT_MAX;
}

static void
on_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct inspect *in = arg;
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_PROGRESS);
	ipc_set_str(&p, F_TEXT, what);
	/* What a damaged table counts may be no number that a message has. */
	ipc_set_int(&p, F_DONE, count_of(done));
	ipc_set_int(&p, F_TOTAL, count_of(total));
	wire_send(in->wire, &p);
}

static void
put_fault(struct json_writer *w, const struct check_fault *f)
{
	json_write_begin_object(w);
	json_put_str(w, "fault", fault_name(f->fault));
	json_put_str(w, "harm", fault_harm_name(fault_harm(f->fault)));
	json_put_str(w, "table", f->table);
	json_put_str(w, "key", f->key);
	if (f->has_run)
		json_put_id(w, "runId", "run_", &f->run);
	if (f->has_artifact)
		json_put_id(w, "artifactId", "art_", &f->artifact);
	if (f->has_session)
		json_put_id(w, "sessionId", "sess_", &f->session);
	json_put_str(w, "what", fault_what(f->fault));
	if (f->detail[0] != '\0')
		json_put_str(w, "detail", f->detail);
	json_put_str(w, "advice", fault_advice(f->fault));
	json_write_end_object(w);
}

static void
on_fault(void *arg, const struct check_fault *f)
{
	struct inspect *in = arg;
	struct json_writer w;

	json_writer_init(&w, &in->json);
	put_fault(&w, f);
	say(in, MSG_STORE_FAULT);
}

/* It could not be done. */
static int
say_error(struct inspect *in, enum store_err err, const char *what)
{
	struct json_writer w;
	char text[256];

	snprintf(text, sizeof(text), "%s%s%s", what,
	    what[0] == '\0' ? "" : ": ", store_strerror((int)err));
	json_writer_init(&w, &in->json);
	json_write_begin_object(&w);
	json_put_str(&w, "error", text);
	json_write_end_object(&w);
	say(in, MSG_STORE_DONE);
	return LAUNCH_EXIT_STORE;
}

/* A backup that was changed, at the file that was noticed first. */
static int
say_damage(struct inspect *in, const struct restore *r)
{
	struct json_writer w;
	char text[256];

	snprintf(text, sizeof(text), "%s: is not as the backup was written",
	    restore_name(r)[0] == '\0' ? "SHA256SUMS" : restore_name(r));
	json_writer_init(&w, &in->json);
	json_write_begin_object(&w);
	json_put_str(&w, "error", text);
	json_put_str(&w, "advice",
	    "sha256sum -c SHA256SUMS, in the backup's directory, names all such"
	    " files; restore another backup, since --force takes none of them");
	json_write_end_object(&w);
	say(in, MSG_STORE_DONE);
	return LAUNCH_EXIT_STORE;
}

static bool
is_sound(const struct check_totals *t)
{
	return t->faults[FAULT_LOST] == 0 && t->faults[FAULT_WRONG] == 0;
}

static void
put_totals(struct json_writer *w, const struct check_totals *t)
{
	json_put_bool(w, "sound", is_sound(t));
	json_put_int64(w, "records", (int64_t)t->records);
	json_put_int64(w, "runs", (int64_t)t->runs);
	json_put_int64(w, "artifacts", (int64_t)t->artifacts);
	json_put_int64(w, "sessions", (int64_t)t->sessions);
	json_put_int64(w, "keys", (int64_t)t->keys);
	json_put_int64(w, "auditRows", (int64_t)t->audit_rows);
	json_put_int64(w, "files", (int64_t)t->files);
	json_put_int64(w, "bytes", (int64_t)t->bytes);
	json_write_key(w, "faults");
	json_write_begin_object(w);
	for (int h = 0; h < FAULT_HARM__MAX; h++)
		json_put_int64(w, fault_harm_name((enum fault_harm)h),
		    (int64_t)t->faults[h]);
	json_write_end_object(w);
}

static int
say_totals(struct inspect *in, const struct check_totals *t)
{
	struct json_writer w;

	json_writer_init(&w, &in->json);
	json_write_begin_object(&w);
	put_totals(&w, t);
	json_write_end_object(&w);
	say(in, MSG_STORE_DONE);
	return is_sound(t) ? 0 : EXIT_FAULTS;
}

/* Checking and copying. */

static enum store_err
open_to_read(const struct inspect *in, struct store **ret_store,
    struct store_error *error)
{
	struct store_options options = { .read_only = true };

	return store_open(in->state_dir, &options, ret_store, error);
}

static enum store_err
check_store(
    struct inspect *in, struct store *s, bool live, struct check_totals *ret)
{
	const struct check_watch watch = { on_fault, on_progress, in };

	return store_check(s, live, &watch, ret);
}

static int
run_check(struct inspect *in, struct store *s)
{
	struct check_totals totals;
	enum store_err err = check_store(in, s, !in->alone, &totals);

	if (err != STORE_OK)
		return say_error(in, err, "");
	return say_totals(in, &totals);
}

static bool
copy_file(void *arg, const char *name)
{
	struct inspect *in = arg;
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_FILE);
	ipc_set_str(&p, F_NAME, name);
	return wire_send(in->wire, &p);
}

static bool
copy_data(void *arg, const void *bytes, size_t len)
{
	struct inspect *in = arg;
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_DATA);
	ipc_set_bin(&p, F_DATA, bytes, len);
	return wire_send(in->wire, &p);
}

static bool
copy_end(void *arg, const uint8_t sum[BACKUP_SUM_BYTES])
{
	struct inspect *in = arg;
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_END);
	ipc_set_bin(&p, F_SHA256, sum, BACKUP_SUM_BYTES);
	return wire_send(in->wire, &p);
}

static void
copy_progress(void *arg, uint64_t done, uint64_t total)
{
	on_progress(arg, "copying", done, total);
}

static void
copy_fault(void *arg, const char *what)
{
	struct inspect *in = arg;
	struct json_writer w;

	json_writer_init(&w, &in->json);
	json_write_begin_object(&w);
	json_put_str(&w, "what", what);
	json_write_end_object(&w);
	say(in, MSG_STORE_FAULT);
}

static int
run_backup(struct inspect *in, struct store *s)
{
	const struct backup_sink sink = { copy_file, copy_data, copy_end,
		copy_progress, copy_fault, in };
	struct backup_totals t;
	struct json_writer w;
	enum store_err err = store_backup(s, &sink, &t);

	if (err != STORE_OK)
		return say_error(in, err, "");
	json_writer_init(&w, &in->json);
	json_write_begin_object(&w);
	json_put_int64(&w, "format", 1);
	json_put_int64(&w, "schema", t.schema);
	json_put_int64(&w, "stampAt", t.stamp_ms);
	json_put_int64(&w, "records", (int64_t)t.records);
	json_put_int64(&w, "runs", (int64_t)t.runs);
	json_put_int64(&w, "artifacts", (int64_t)t.artifacts);
	json_put_int64(&w, "sessions", (int64_t)t.sessions);
	json_put_int64(&w, "files", (int64_t)t.files);
	json_put_int64(&w, "bytes", (int64_t)t.bytes);
	json_put_int64(&w, "gone", (int64_t)t.gone);
	json_put_int64(&w, "faults", (int64_t)t.faults);
	json_write_end_object(&w);
	say(in, MSG_STORE_DONE);
	return t.faults == 0 ? 0 : EXIT_FAULTS;
}

static int
run_reader(struct inspect *in)
{
	struct store *s = NULL;
	struct store_error error = { 0 };
	enum store_err err = open_to_read(in, &s, &error);
	int code;

	if (err == STORE_OK &&
	    !wire_show_life(
		in->wire, in->alone ? 0 : PATIENCE_S, LAUNCH_EXIT_STORE))
		err = STORE_IO;
	if (err != STORE_OK) {
		store_free(&s);
		return say_error(in, err, error.text);
	}
	supervisord_confine_reader(in->state_dir);
	code = strcmp(in->mode, "backup") == 0 ? run_backup(in, s)
					       : run_check(in, s);
	store_free(&s);
	return code;
}

/* Making. */

/* One message of the backup; *ret_done: it was the last. */
static enum store_err
restore_take(struct restore *r, const struct ipc_params *p, bool *ret_done)
{
	const void *bytes;
	size_t len;

	switch (p->msg) {
	case MSG_STORE_FILE:
		return restore_file(
		    r, ipc_str(p, F_NAME), (uint64_t)ipc_int(p, F_SIZE, 0));
	case MSG_STORE_DATA:
		bytes = ipc_bin(p, F_DATA, &len);
		return restore_data(r, bytes, len);
	case MSG_STORE_END:
		return restore_end(r, ipc_bin(p, F_SHA256, &len));
	case MSG_STORE_DONE:
		*ret_done = true;
		return STORE_OK;
	default:
		return STORE_CORRUPT;
	}
}

static enum store_err
restore_receive(struct inspect *in, struct restore *r)
{
	enum store_err err = STORE_OK;
	struct ipc_params p;
	bool done = false;

	while (err == STORE_OK && !done) {
		if (!wire_receive(in->wire, &p))
			return STORE_CLOSED;
		err = restore_take(r, &p, &done);
	}
	return err;
}

/* What was made is looked at before it is taken. */
static int
restore_check(struct inspect *in, struct restore *r)
{
	struct check_totals totals;
	struct store_error error = { 0 };
	struct store *s = NULL;
	enum store_err err = open_to_read(in, &s, &error);

	if (err == STORE_OK)
		err = check_store(in, s, false, &totals);
	store_free(&s);
	if (err != STORE_OK)
		return say_error(in, err, error.text);
	if (is_sound(&totals) || in->force)
		restore_keep(r);
	return say_totals(in, &totals);
}

static int
restore_make(struct inspect *in, struct restore *r)
{
	struct store_error error = { .text = "the backup" };
	enum store_err err = restore_receive(in, r);

	if (err == STORE_CORRUPT)
		return say_damage(in, r);
	if (err == STORE_OK)
		err = restore_finish(r, &error);
	if (err == STORE_OK)
		err = restore_tell(r, clock_stamp_ms());
	return err == STORE_OK ? restore_check(in, r)
			       : say_error(in, err, error.text);
}

static int
run_restore(struct inspect *in)
{
	struct store_error error = { 0 };
	struct restore *r = NULL;
	enum store_err err;
	int code;

	/* It ends, and cleans up, when the other end of the connection does. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	supervisord_confine(in->state_dir, NULL, NULL);
	err = restore_new(in->state_dir, &r, &error);
	code = err == STORE_OK ? restore_make(in, r)
			       : say_error(in, err, error.text);
	restore_free(&r);
	return code;
}

/* Starting. */

static void
prepare_last_words(struct inspect *in)
{
	const struct check_fault f = { .fault = FAULT_PAGES_DAMAGED,
		.table = "pages" };
	struct json_writer w;

	json_writer_init(&w, &in->json);
	json_write_begin_object(&w);
	json_put_bool(&w, "sound", false);
	json_put_str(&w, "error", fault_what(f.fault));
	json_put_str(&w, "advice", fault_advice(f.fault));
	json_write_end_object(&w);
	wire_last_words(in->wire, in->json.data, in->json.len, EXIT_FAULTS);
	buf_reset(&in->json);
}

static bool
read_arguments(struct inspect *in, int argc, char *const *argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "I:s:aFw")) != -1) {
		if (ch == 'I')
			in->mode = optarg;
		else if (ch == 's')
			in->state_dir = optarg;
		else if (ch == 'a')
			in->alone = true;
		else if (ch == 'F')
			in->force = true;
		else if (ch == 'w')
			confine_filter_waive();
		else
			return false;
	}
	return in->mode != NULL && in->state_dir != NULL && optind == argc &&
	    (strcmp(in->mode, "check") == 0 ||
		strcmp(in->mode, "backup") == 0 ||
		strcmp(in->mode, "restore") == 0);
}

bool
inspect_wanted(int argc, char *const *argv)
{
	return argc > 1 && strcmp(argv[1], "-I") == 0;
}

int
inspect_main(int argc, char *const *argv)
{
	struct inspect in = { 0 };
	int code;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!read_arguments(&in, argc, argv) ||
	    (in.wire = wire_new(WIRE_FD)) == NULL) {
		fprintf(stderr,
		    "supervisord -I is started by browsertaskd and "
		    "browsertaskctl only\n");
		return EXIT_USAGE;
	}
	buf_init(&in.json, 8192);
	prepare_last_words(&in);
	setproctitle("%s", in.mode);
	code = strcmp(in.mode, "restore") == 0 ? run_restore(&in)
					       : run_reader(&in);
	buf_clear(&in.json);
	wire_free(&in.wire);
	return code;
}
