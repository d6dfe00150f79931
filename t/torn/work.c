/* The workload: its turns, and what each of them acknowledged. */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "storage/audit.h"
#include "storage/event.h"
#include "storage/sweep.h"
#include "t/torn/work.h"

#define RUNS 8 /* that have not ended, at most */

struct live {
	struct run_record r;
	struct spool *spool; /* NULL: it is not running */
	uint32_t items;
};

struct worker {
	const char *dir;
	const struct disk_log *log;
	struct work *work;
	struct work_rand rand;
	struct store *store;
	int64_t now_ms;
	struct live runs[RUNS];
	unsigned nruns, submitted, artifacts;
	struct ulid sessions[WORK_VERSIONS]; /* whose life is not over */
	unsigned nsessions;
};

static void
must(int rc, const char *what)
{
	if (rc != STORE_OK)
		errx(1, "%s: %s", what, store_strerror(rc));
}

static void
acknowledged(struct worker *k)
{
	struct work_state *st = &k->work->states[k->work->nstates];

	if (++k->work->nstates == WORK_STATES)
		errx(1, "too many commits");
	st->at = k->log->count;
	work_hash(k->store, st->hash);
}

static void
submit(struct worker *k)
{
	struct live *l = &k->runs[k->nruns];

	*l = (struct live){ 0 };
	work_run_make(&l->r, k->submitted++, k->now_ms);
	must(work_submit(k->store, &l->r, k->now_ms), "submit");
	acknowledged(k);
	k->nruns++;
}

static int
start_write(struct store_txn *txn, void *arg)
{
	struct live *l = arg;
	struct event_row e = { .kind = EVENT_RUN_STARTED,
		.stamp_ms = l->r.updated_ms };
	uint64_t seq;
	int rc;

	if ((rc = run_get(txn, &l->r.id, &l->r)) != STORE_OK)
		return rc;
	l->r.status = RUN_RUNNING;
	if ((rc = run_update(txn, &l->r)) != STORE_OK)
		return rc;
	return event_append(txn, &l->r.id, &e, &seq);
}

static void
start(struct worker *k, struct live *l)
{
	struct store_txn *txn;
	uint64_t end;

	must((int)store_read_begin(k->store, &txn), "read");
	must(journal_spool_end(txn, &l->r.id, &end), "spool end");
	store_read_end(k->store);
	must((int)spool_open(k->store, &l->r.id, end, 1 << 20, &l->spool),
	    "spool");
	must(work_write(k->store, start_write, l, k->now_ms), "start");
	acknowledged(k);
}

static void
item(struct worker *k, struct live *l)
{
	size_t len = work_between(&k->rand, 200, WORK_ITEM_BYTES);

	must(
	    work_item(k->store, l->spool, &l->r.id, l->items++, len, k->now_ms),
	    "item");
	acknowledged(k);
}

/* An artifact, and what a run ends with. */
struct made {
	struct artifact_row row;
	const void *bytes;
	struct live *run; /* that ends, or NULL */
	int64_t now_ms;
};

static int
end_rows(struct store_txn *txn, struct made *m)
{
	struct run_record *r = &m->run->r;
	struct session_record s = { .id = r->session,
		.uid = r->uid,
		.created_ms = r->created_ms,
		.last_used_ms = m->now_ms,
		.expires_ms = m->now_ms + 40 * WORK_TICK,
		.template_id = "login",
		.last_run = r->id };
	struct event_row e = { .kind = EVENT_RUN_COMPLETED,
		.stamp_ms = m->now_ms };
	struct audit_entry row = { .time_ms = m->now_ms,
		.actor = AUDIT_SERVICE,
		.action = AUDIT_RUN_END,
		.run = r->id,
		.detail = "succeeded" };
	uint64_t seq;
	int rc;

	if ((rc = run_get(txn, &r->id, r)) != STORE_OK)
		return rc;
	r->status = RUN_SUCCEEDED;
	r->updated_ms = r->ended_ms = m->now_ms;
	r->expires_ms = m->now_ms + 25 * WORK_TICK;
	if ((rc = run_update(txn, r)) != STORE_OK ||
	    (rc = artifact_set_expiry(
		 txn, &r->id, m->now_ms + 12 * WORK_TICK)) != STORE_OK ||
	    (rc = session_insert(txn, &s)) != STORE_OK ||
	    (rc = event_append(txn, &r->id, &e, &seq)) != STORE_OK)
		return rc;
	return audit_append(txn, &row);
}

static int
made_write(struct store_txn *txn, void *arg)
{
	struct made *m = arg;
	int rc = artifact_insert(txn, &m->row, m->bytes);

	if (rc == STORE_OK && m->run != NULL)
		rc = end_rows(txn, m);
	return rc;
}

static void
make(struct worker *k, struct live *l, bool end)
{
	static uint8_t bytes[70000];
	struct made m = { .run = end ? l : NULL, .now_ms = k->now_ms };
	size_t len = work_between(&k->rand, 100, 50000), piece;
	struct artifact_writer *w;
	struct ulid id = l->r.session;

	id.b[6] = 'a';
	id.b[10] = (uint8_t)(k->artifacts >> 8);
	id.b[11] = (uint8_t)k->artifacts++;
	memset(bytes, (int)k->artifacts, sizeof(bytes));
	must((int)artifact_writer_new(k->store, &id, sizeof(bytes), &w), "new");
	for (size_t at = 0; at < len; at += piece) {
		piece = len - at < 20000 ? len - at : 20000;
		must((int)artifact_writer_append(w, bytes + at, piece), "add");
	}
	must((int)artifact_writer_finish(w, &m.row, &m.bytes), "finish");
	m.row.run = l->r.id;
	m.row.uid = l->r.uid;
	m.row.created_ms = k->now_ms;
	strlcpy(m.row.mime, "text/html", sizeof(m.row.mime));
	strlcpy(m.row.name, "page.html", sizeof(m.row.name));
	must(work_write(k->store, made_write, &m, k->now_ms), "artifact");
	acknowledged(k);
	artifact_writer_free(&w);
}

static void
state(struct worker *k, const struct ulid *session)
{
	static uint8_t bytes[WORK_STATE_BYTES];
	size_t number = k->work->nversions++, len;
	struct work_version *v = &k->work->versions[number];
	struct session_state *st;

	if (number == WORK_VERSIONS)
		errx(1, "too many states");
	*v = (struct work_version){ .session = *session,
		.begun = k->log->count };
	len = work_version_bytes(number, bytes);
	must((int)session_state_new(k->store, session, &st), "state");
	must((int)session_state_append(st, bytes, len / 2), "state");
	must((int)session_state_append(st, bytes + len / 2, len - len / 2),
	    "state");
	must((int)session_state_commit(st), "state");
	v->done = k->log->count;
	session_state_free(&st);
}

static void
finish(struct worker *k, struct live *l)
{
	state(k, &l->r.session);
	make(k, l, true);
	k->sessions[k->nsessions++] = l->r.session;
	spool_free(&l->spool);
	must((int)spool_remove(k->store, &l->r.id), "spool");
	*l = k->runs[--k->nruns];
}

static void
swept(void *arg, int err, const struct sweep_result *result)
{
	(void)arg;
	(void)result;
	must(err, "sweep");
}

static void
session_over(void *arg, const struct ulid *session)
{
	struct worker *k = arg;

	for (unsigned i = 0; i < k->nsessions; i++)
		if (memcmp(&k->sessions[i], session, sizeof(*session)) == 0)
			k->sessions[i] = k->sessions[--k->nsessions];
}

static void
trimmed(void *arg, int err, unsigned rows, bool more)
{
	(void)arg;
	(void)rows;
	(void)more;
	must(err, "audit trim");
}

static void
retention(struct worker *k)
{
	must((int)store_sweep(k->store, k->now_ms, 5 * WORK_TICK, 20, swept,
		 session_over, k),
	    "sweep");
	must((int)store_trim(
		 k->store, k->now_ms, 5 * WORK_TICK, 150000, 20, swept, NULL),
	    "trim");
	must((int)audit_trim(k->store, k->now_ms, 0, 20, 8, trimmed, NULL),
	    "audit trim");
	must((int)store_commit(k->store, k->now_ms), "retention");
	acknowledged(k);
}

static void
open_again(struct worker *k)
{
	struct purge_result purged;
	enum store_err rc;

	for (unsigned i = 0; i < k->nruns; i++)
		spool_free(&k->runs[i].spool);
	store_free(&k->store);
	k->store = work_open(k->dir, &rc);
	must((int)rc, "open");
	acknowledged(k);
	must((int)work_recover(k->store, k->now_ms, &purged), "recover");
	acknowledged(k);
}

/* Large documents, so that the map must grow. */
static int
grow_write(struct store_txn *txn, void *arg)
{
	static uint8_t large[400000];
	struct live *l = arg;
	int rc;

	memset(large, 'l', sizeof(large));
	rc = run_doc_put(txn, &l->r.id, RUN_DOC_STEPS, large, sizeof(large));
	return rc != STORE_OK ? rc
			      : run_doc_put(txn, &l->r.id, RUN_DOC_WARNINGS,
				    large, sizeof(large));
}

static void
grow(struct worker *k)
{
	uint64_t before = store_stats(k->store).map_growths;

	for (unsigned i = 0; i < k->nruns && i < 2; i++) {
		must(work_write(k->store, grow_write, &k->runs[i], k->now_ms),
		    "grow");
		acknowledged(k);
	}
	if (k->nruns > 1 && store_stats(k->store).map_growths == before)
		errx(1, "the map did not grow");
}

static void
turn(struct worker *k)
{
	unsigned dice = work_between(&k->rand, 0, 99);
	struct live *l;

	k->now_ms += WORK_TICK;
	if (k->nruns < 2 || (dice < 15 && k->nruns < RUNS)) {
		submit(k);
		return;
	}
	l = &k->runs[work_between(&k->rand, 0, k->nruns - 1)];
	if (l->spool == NULL)
		start(k, l);
	else if (dice < 55)
		item(k, l);
	else if (dice < 70)
		make(k, l, false);
	else if (dice < 82)
		finish(k, l);
	else if (dice < 90 && k->nsessions > 0)
		state(k,
		    &k->sessions[work_between(&k->rand, 0, k->nsessions - 1)]);
	else
		retention(k);
}

void
work_run(const char *dir, uint64_t seed, unsigned turns,
    const struct disk_log *log, struct work *work)
{
	struct worker k = { .dir = dir,
		.log = log,
		.work = work,
		.rand = { seed },
		.now_ms = WORK_NOW };

	work->nstates = work->nversions = 0;
	open_again(&k);
	for (unsigned i = 1; i <= turns; i++) {
		turn(&k);
		if (i % (turns / 3) == 0)
			open_again(&k);
		/* Now and then the system writes back what it holds. */
		if (i % 20 == 0)
			record_write_back();
	}
	grow(&k);
	for (unsigned i = 0; i < k.nruns; i++)
		spool_free(&k.runs[i].spool);
	store_free(&k.store);
}
