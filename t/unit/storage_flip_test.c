/*
 * A byte of the database that is another one. Whatever it is, nothing is ever
 * answered that was not written; and what cannot be answered, or only as it was
 * before, a check finds. LMDB has no checksums: where its own structure is hit,
 * the process may end, but then a check tells of damage, and nothing ever hangs.
 * One flip of eight is in the first two pages, which tell which of the last two
 * commits holds.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t/unit/size.h"
#include "t/unit/storage_rest.h"

#define META_PAGES 2
#define META_BYTES 152 /* of a page, that are used */

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

/*
 * A page that is taken for a longer one has what was there before: the record
 * as an earlier commit had it, which a check has to find.
 */
static bool
is_earlier(const struct run_record *rec, const struct rest_run *r)
{
	return r->rec.status == RUN_RUNNING && rec->status == RUN_QUEUED;
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
	v->lost = v->lost || (err == STORE_OK && is_earlier(&rec, r));
	judge(v, err,
	    (rec.status == r->rec.status || is_earlier(&rec, r)) &&
		rec.uid == r->rec.uid &&
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

/* The check alone, as fsck runs it. */
static int
check(void)
{
	struct store_options options = { .read_only = true };
	struct check_totals totals;
	struct store *s;

	if (store_open(fx_dir, &options, &s, NULL) != STORE_OK)
		return FOUND;
	return rest_check(s, &totals) == 0 ? 0 : FOUND;
}

/* A signal for which fsck has its last words. */
static bool
is_damage(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT ||
	    sig == SIGFPE || sig == SIGILL;
}

/* What a process of its own sees; negative: the signal that ended it. */
static int
apart(int (*sees)(void))
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
		_exit(sees());
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
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

static off_t
place(long i, off_t size)
{
	off_t page = sysconf(_SC_PAGESIZE);

	if (i % 8 == 0)
		return next_random() % META_PAGES * page +
		    next_random() % META_BYTES;
	return META_PAGES * page +
	    (off_t)(next_random() % (uint32_t)(size - META_PAGES * page));
}

int
main(void)
{
	long flips = sized("flipped bytes", 400, 40000);
	long wrong = 0, unseen = 0, untold = 0, ended = 0, dead = 0;
	long found = 0, none = 0;
	char path[512];
	struct stat st;

	rest_new();
	is_int(apart(look), 0, "all is answered, and no fault is found");
	snprintf(path, sizeof(path), "%s/store/data.mdb", fx_dir);
	if (stat(path, &st) == -1)
		err(1, "%s", path);
	for (long i = 0; i < flips; i++) {
		off_t at = place(i, st.st_size);
		uint8_t old = peek(path, at);
		int code, checked = FOUND;

		poke(path, at, old ^ (uint8_t)(1u << (next_random() % 8)));
		code = apart(look);
		if (code < 0)
			checked = apart(check);
		poke(path, at, old);
		if (code < 0) {
			ended++;
			dead += checked < 0 && is_damage(-checked);
			if (!is_damage(-code) ||
			    (checked != FOUND && !is_damage(-checked))) {
				printf(
				    "# byte %lld: ended by %d, checked: %d\n",
				    (long long)at, -code, checked);
				untold++;
			}
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
	is_int(untold, 0, "what ends a process, a check tells of");
	figure("%ld found, %ld ended the process, and %ld of them the check; "
	       "%ld in space that is not used",
	    found, ended, dead, none);
	ok(found > flips / 20, "some were found");
	ok(ended <= flips / 50, "few end the process");
	is_int(apart(look), 0, "at the end all is as before");
	return done_testing();
}
