/*
 * A byte of the database that is another one. Whatever it is, nothing is ever
 * answered as if it were what was written; and what cannot be answered, a check
 * finds. LMDB has no checksums: where its own structure is hit, the process may
 * end, which its parent sees. The first two pages are left alone: they tell
 * which of the last two commits holds, and have no checksum either.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t/unit/size.h"
#include "t/unit/storage_rest.h"

#define META_BYTES 8192

enum {
	WRONG = 1, /* something was answered that was never written */
	LOST = 2,  /* something could not be answered */
	FOUND = 4, /* the check told of a fault */
	BLIND = 8, /* the check could not look */
	EXIT_MASK = 15
};

const char *__asan_default_options(void);

/* Its report would end a process with a status that says something else. */
const char *
__asan_default_options(void)
{
	return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0";
}

struct served {
	struct store_txn *txn;
	bool lost, wrong;
	unsigned events;
	const struct rest_run *run;
};

/* An answer: its error, and whether it is what was written. */
static void
judge(struct served *v, int err, bool same)
{
	if (err != STORE_OK)
		v->lost = true;
	else if (!same)
		v->wrong = true;
	/* The next one stands for itself. */
	v->txn->err = STORE_OK;
}

static bool
see_event(uint64_t seq, const struct event_row *row, int err, void *arg)
{
	struct served *v = arg;

	v->events++;
	if (row == NULL)
		v->lost = true;
	else if (seq > 4 || row->doc_len != strlen(v->run->doc) ||
	    memcmp(row->doc, v->run->doc, row->doc_len) != 0)
		v->wrong = true;
	(void)err;
	return v->events < 100;
}

static void
serve_run(struct served *v, const struct rest_run *r)
{
	struct artifact_row row;
	struct run_record rec;
	struct idem_row key;
	const uint8_t *p;
	size_t len = 0;
	int err;

	v->run = r;
	err = run_get(v->txn, &r->rec.id, &rec);
	judge(v, err,
	    rec.status == r->rec.status && rec.uid == r->rec.uid &&
		strcmp(rec.template_id, r->rec.template_id) == 0 &&
		rec.expires_ms == r->rec.expires_ms);
	err = run_doc_get(v->txn, &r->rec.id, RUN_DOC_INPUTS, &p, &len);
	judge(v, err,
	    err == STORE_OK && len == strlen(r->doc) &&
		memcmp(p, r->doc, len) == 0);
	err = artifact_get(v->txn, &r->small, &row);
	judge(v, err, row.size == strlen(r->doc));
	err = artifact_bytes(v->txn, &r->small, &p, &len);
	judge(v, err,
	    err == STORE_OK && len == strlen(r->doc) &&
		memcmp(p, r->doc, len) == 0);
	err = idem_get(v->txn, r->identity, FX_NOW, &key);
	judge(v, err, memcmp(&key.run, &r->rec.id, ULID_BYTES) == 0);
	v->events = 0;
	err = event_list(v->txn, &r->rec.id, 0, 100, see_event, v);
	judge(v, err, v->events <= 4);
	v->lost = v->lost || v->events < 4;
}

/* Lists have no checksum: what they show must be what was asked for. */
static bool
see_listed(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	struct served *v = arg;

	(void)err;
	if (rec == NULL)
		v->lost = true;
	else if (rec->uid != 1001 || memcmp(id, &rec->id, ULID_BYTES) != 0)
		v->wrong = true;
	return ++v->events < 1000;
}

static void
serve_lists(struct served *v)
{
	struct run_filter f = { .by_uid = true, .uid = 1001 };
	uint64_t total = 0;
	int err;

	v->events = 0;
	err = run_list(v->txn, &f, 0, 1000, see_listed, v, &total);
	judge(v, err, true);
	v->lost = v->lost || v->events != REST_RUNS / 3;
}

static int
look(void)
{
	struct check_totals totals;
	struct store *s = rest_open(fx_dir);
	struct served v = { .lost = false };
	int n, code = 0;

	if (s == NULL)
		return FOUND;
	if (store_read_begin(s, &v.txn) != STORE_OK)
		return FOUND;
	for (int i = 0; i < REST_RUNS; i++)
		serve_run(&v, &rest.runs[i]);
	serve_lists(&v);
	v.txn->err = STORE_OK;
	store_read_end(s);
	n = rest_check(s, &totals);
	code |= v.wrong ? WRONG : 0;
	code |= v.lost ? LOST : 0;
	code |= n > 0 ? FOUND : n < 0 ? BLIND : 0;
	return code;
}

/* What a process of its own sees; -1: a signal ended it. */
static int
look_apart(void)
{
	const struct rlimit none = { 0, 0 };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &none);
		/* A page that leads in a circle must not hold us. */
		alarm(20);
		_exit(look());
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
poke(const char *path, off_t at, uint8_t byte)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || pwrite(fd, &byte, 1, at) != 1)
		err(1, "%s", path);
	close(fd);
}

static uint8_t
peek(const char *path, off_t at)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t byte = 0;

	if (fd == -1 || pread(fd, &byte, 1, at) != 1)
		err(1, "%s", path);
	close(fd);
	return byte;
}

/* The same numbers every time. */
static uint32_t
next_random(void)
{
	static uint32_t x = 12345;

	x = x * 1664525u + 1013904223u;
	return x >> 8;
}

int
main(void)
{
	long flips = sized("flipped bytes", 400, 40000);
	long wrong = 0, unseen = 0, ended = 0, found = 0, none = 0;
	char path[512];
	struct stat st;

	rest_new();
	is_int(look_apart(), 0, "all is answered, and no fault is found");
	snprintf(path, sizeof(path), "%s/store/data.mdb", fx_dir);
	if (stat(path, &st) == -1)
		err(1, "%s", path);
	for (long i = 0; i < flips; i++) {
		off_t at = META_BYTES +
		    (off_t)(next_random() %
			(uint32_t)(st.st_size - META_BYTES));
		uint8_t old = peek(path, at);
		int code;

		poke(path, at, old ^ (uint8_t)(1u << (next_random() % 8)));
		code = look_apart();
		poke(path, at, old);
		if (code == -1) {
			ended++;
			continue;
		}
		if ((code & WRONG) != 0) {
			printf(
			    "# answered wrongly: byte %lld\n", (long long)at);
			wrong++;
		}
		if ((code & LOST) != 0 && (code & (FOUND | BLIND)) == 0) {
			printf("# not found: byte %lld\n", (long long)at);
			unseen++;
		}
		found += (code & (FOUND | BLIND)) != 0;
		none += code == 0;
	}
	is_int(wrong, 0, "nothing is answered that was not written");
	is_int(unseen, 0, "and what is lost, a check finds");
	figure("%ld found, %ld ended the process, %ld in space that is not "
	       "used",
	    found, ended, none);
	ok(found > 0, "some were found");
	is_int(look_apart(), 0, "at the end all is as before");
	return done_testing();
}
