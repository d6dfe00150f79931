/* Unit tests of storage/: rows of kept sessions, their states, their end. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "storage/session.h"
#include "storage/sweep.h"
#include "storage/txn.h"
#include "t/unit/storage_fixture.h"

#define TTL 1000

static struct session_record
made(uint32_t uid, int64_t ms)
{
	struct session_record r = { .uid = uid };

	r.id = ulid_new(ms);
	r.created_ms = r.last_used_ms = ulid_time_ms(&r.id);
	r.expires_ms = FX_NOW + TTL;
	r.last_run = ulid_new(ms);
	strlcpy(r.template_id, "login", sizeof(r.template_id));
	return r;
}

static int
insert(struct store_txn *txn, void *arg)
{
	return session_insert(txn, arg);
}

static int
erase(struct store_txn *txn, void *arg)
{
	return session_delete(txn, arg);
}

struct take {
	struct ulid id;
	uint32_t uid;
	int64_t now_ms;
	enum trust_level trust;
	const char *label; /* NULL: none */
};

static int
take(struct store_txn *txn, void *arg)
{
	struct take *t = arg;

	return session_take(txn, &t->id, t->uid, t->trust,
	    t->label == NULL ? "" : t->label, t->now_ms);
}

struct give {
	struct run_record *run;
	int64_t now_ms;
};

static int
give_back(struct store_txn *txn, void *arg)
{
	struct give *g = arg;
	int rc = run_update(txn, g->run);

	return rc != STORE_OK ? rc
			      : session_give_back(txn, &g->run->session,
				    &g->run->id, g->now_ms, g->now_ms + TTL);
}

static int
get(struct store *s, const struct ulid *id, struct session_record *ret)
{
	int rc = session_get(fx_read(s), id, ret);

	store_read_end(s);
	return rc;
}

static int
entries(const char *dir)
{
	char path[400];
	struct dirent *e;
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "%s/%s", fx_dir, dir);
	if ((d = opendir(path)) == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static unsigned
rows(struct store *s, enum store_table table)
{
	struct txn_walk w;
	struct key all;
	unsigned n = 0;

	key_init(&all);
	walk_up(&w, fx_read(s), table, &all, NULL);
	while (walk_next(&w))
		n++;
	walk_end(&w);
	store_read_end(s);
	return n;
}

static void
test_rows(void)
{
	struct session_record r = made(7, FX_NOW), got, bad;
	struct take t = { r.id, 7, FX_NOW, TRUST_LOCAL, NULL };
	struct store *s;

	fx_new();
	s = fx_open();
	is_int(get(s, &r.id, &got), STORE_NOT_FOUND, "no session yet");
	is_int(fx_write(s, insert, &r), STORE_OK, "made");
	is_int(fx_write(s, insert, &r), STORE_EXISTS, "only once");
	is_int(get(s, &r.id, &got), STORE_OK, "read");
	ok(memcmp(&got, &r, sizeof(r)) == 0, "as it was written");
	bad = made(7, FX_NOW);
	bad.created_ms++;
	is_int(fx_write(s, insert, &bad), STORE_INVALID, "its id has its time");
	t.uid = 8;
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND, "not another uid's");
	t.uid = 0;
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND, "not even root's");
	t.uid = 7;
	t.trust = TRUST_REMOTE;
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND, "nor a remote client's");
	t.trust = TRUST_LOCAL;
	t.now_ms = FX_NOW + TTL;
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND, "none that has expired");
	t.now_ms--;
	is_int(fx_write(s, take, &t), STORE_OK, "1 ms before, it is taken");
	get(s, &r.id, &got);
	ok(got.expires_ms == 0 && rows(s, TABLE_EXPIRY) == 0,
	    "and does not expire any more");
	is_int(fx_write(s, erase, &r.id), STORE_OK, "deleted");
	ok(rows(s, TABLE_SESSIONS) == 0 && rows(s, TABLE_SESSIONS_BY_UID) == 0,
	    "with all that belongs to it");
	is_int(fx_write(s, erase, &r.id), STORE_NOT_FOUND, "only once");
	store_free(&s);
}

struct share {
	struct ulid id;
	bool shared;
};

static int
share(struct store_txn *txn, void *arg)
{
	const struct share *h = arg;

	return session_share(txn, &h->id, h->shared);
}

static void
test_labels(void)
{
	struct session_record r = made(7, FX_NOW), got;
	struct take t = { r.id, 7, FX_NOW, TRUST_LOCAL, NULL };
	struct share h = { r.id, true };
	struct store *s;

	strlcpy(r.owner, "one", sizeof(r.owner));
	fx_new();
	s = fx_open();
	is_int(fx_write(s, share, &h), STORE_NOT_FOUND, "nothing to share");
	fx_write(s, insert, &r);
	get(s, &r.id, &got);
	is_str(got.owner, "one", "a session has its client's label");
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND,
	    "clients without a label do not get it");
	t.label = "two";
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND, "nor others");
	t.label = "one";
	is_int(fx_write(s, take, &t), STORE_OK, "those of the label do");
	t.label = SESSION_ALL_LABELS;
	is_int(fx_write(s, take, &t), STORE_OK, "and those of all labels");
	t.label = "two";
	is_int(fx_write(s, share, &h), STORE_OK, "it is shared");
	is_int(fx_write(s, take, &t), STORE_OK, "for all");
	h.shared = false;
	is_int(fx_write(s, share, &h), STORE_OK, "and no more");
	is_int(fx_write(s, take, &t), STORE_NOT_FOUND, "for others");
	store_free(&s);
}

/* Two runs of one session, the second waiting for the first. */
static void
test_give_back(void)
{
	struct session_record r = made(1000, FX_NOW), got;
	struct take t = { r.id, 1000, FX_NOW, TRUST_LOCAL, NULL };
	struct run_record a = fx_run(), b = fx_run();
	struct give g = { &a, FX_NOW + 50 };
	uint64_t live = 9;
	struct store *s;

	fx_new();
	s = fx_open();
	a.session = b.session = r.id;
	a.owns_session = b.owns_session = false;
	fx_write(s, insert, &r);
	fx_write(s, take, &t);
	fx_write(s, fx_insert, &a);
	fx_write(s, fx_insert, &b);
	a.status = RUN_RUNNING;
	fx_write(s, fx_update, &a);
	session_live_runs(fx_read(s), &r.id, &live);
	store_read_end(s);
	is_int(live, 2, "two runs are live");
	fx_end_run(&a, RUN_SUCCEEDED, FX_NOW + 50, FX_NOW + 5000);
	is_int(fx_write(s, give_back, &g), STORE_OK, "the first gives it back");
	get(s, &r.id, &got);
	ok(got.expires_ms == 0 && got.last_used_ms == FX_NOW + 50 &&
		memcmp(&got.last_run, &a.id, ULID_BYTES) == 0,
	    "it is noted, and the other one keeps the session from expiring");
	fx_end_run(&b, RUN_CANCELED, FX_NOW + 60, FX_NOW + 5000);
	g = (struct give){ &b, FX_NOW + 60 };
	is_int(fx_write(s, give_back, &g), STORE_OK, "the last one, too");
	get(s, &r.id, &got);
	is_int(got.expires_ms, FX_NOW + 60 + TTL, "now it will expire");
	fx_write(s, erase, &r.id);
	is_int(fx_write(s, give_back, &g), STORE_OK, "one that is gone stays");
	is_int(rows(s, TABLE_SESSIONS), 0, "gone");
	store_free(&s);
}

struct page {
	struct ulid ids[8];
	size_t n, max;
};

static bool
page_add(
    const struct ulid *id, const struct session_record *r, int err, void *arg)
{
	struct page *p = arg;

	if (p->n == p->max || err != STORE_OK ||
	    memcmp(id, &r->id, sizeof(*id)) != 0)
		return false;
	p->ids[p->n++] = *id;
	return true;
}

static void
test_list(void)
{
	struct session_record r[4];
	struct page p = { .max = 8 };
	struct store *s;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 4; i++) {
		r[i] = made(i == 2 ? 8 : 7, FX_NOW + i);
		fx_write(s, insert, &r[i]);
	}
	session_list(fx_read(s), true, 7, NULL, page_add, &p);
	store_read_end(s);
	ok(p.n == 3 && memcmp(&p.ids[0], &r[3].id, ULID_BYTES) == 0 &&
		memcmp(&p.ids[1], &r[1].id, ULID_BYTES) == 0 &&
		memcmp(&p.ids[2], &r[0].id, ULID_BYTES) == 0,
	    "newest first, of one uid");
	p = (struct page){ .max = 1 };
	session_list(fx_read(s), true, 7, &r[3].id, page_add, &p);
	store_read_end(s);
	ok(p.n == 1 && memcmp(&p.ids[0], &r[1].id, ULID_BYTES) == 0,
	    "goes on behind an id");
	p = (struct page){ .max = 8 };
	session_list(fx_read(s), false, 0, &r[3].id, page_add, &p);
	store_read_end(s);
	is_int(p.n, 3, "of all uids");
	p = (struct page){ .max = 8 };
	session_list(fx_read(s), true, 9, NULL, page_add, &p);
	store_read_end(s);
	is_int(p.n, 0, "none of another");
	store_free(&s);
}

static bool
state_is(struct store *s, const struct ulid *id, const char *text)
{
	struct buf got;
	bool same;

	buf_init(&got, STATE_FILE_BYTES);
	same = session_state_read(s, id, &got) == STORE_OK &&
	    got.len == strlen(text) && memcmp(got.data, text, got.len) == 0;
	buf_clear(&got);
	return same;
}

/* What a reader is told; it must not have got a byte with an error. */
static enum store_err
state_err(struct store *s, const struct ulid *id)
{
	enum store_err err;
	struct buf got;

	buf_init(&got, STATE_FILE_BYTES);
	err = session_state_read(s, id, &got);
	if (err != STORE_OK && got.len != 0)
		errx(1, "bytes of a state that is refused");
	buf_clear(&got);
	return err;
}

static void
state_path(const struct ulid *id, char ret[400])
{
	char name[ULID_CHARS + 1];

	ulid_format(id, name);
	snprintf(ret, 400, "%s/sessions/%s", fx_dir, name);
}

static void
state_put(struct store *s, const struct ulid *id, const char *text)
{
	struct session_state *st;

	if (session_state_new(s, id, &st) != STORE_OK ||
	    session_state_append(st, text, strlen(text)) != STORE_OK ||
	    session_state_commit(st) != STORE_OK)
		errx(1, "a state");
	session_state_free(&st);
}

static void
test_state(void)
{
	struct session_record r = made(7, FX_NOW);
	struct session_state *st;
	struct purge_result purged;
	struct stat sb;
	struct store *s;
	char path[400];
	static char much[LIMIT_STATE_BYTES];

	fx_new();
	s = fx_open();
	fx_write(s, insert, &r);
	is_int(state_err(s, &r.id), STORE_NOT_FOUND, "no state yet");
	is_int(session_state_new(s, &r.id, &st), STORE_OK, "a writer");
	session_state_append(st, "first ", 6);
	session_state_append(st, "state", 5);
	is_int(state_err(s, &r.id), STORE_NOT_FOUND,
	    "nothing is seen before it is committed");
	is_int(session_state_commit(st), STORE_OK, "committed");
	session_state_free(&st);
	ok(state_is(s, &r.id, "first state"), "then it is there");
	state_path(&r.id, path);
	ok(stat(path, &sb) == 0 && (sb.st_mode & 07777) == 0600,
	    "for its owner only");
	session_state_new(s, &r.id, &st);
	session_state_append(st, "half", 4);
	session_state_free(&st);
	ok(state_is(s, &r.id, "first state"), "a broken one changes nothing");
	session_state_new(s, &r.id, &st);
	is_int(session_state_append(st, much, sizeof(much)), STORE_OK,
	    "as much as is allowed");
	is_int(session_state_append(st, much, 1), STORE_LIMIT, "not more");
	is_int(session_state_commit(st), STORE_OK, "and that is stored");
	session_state_free(&st);
	is_int(state_err(s, &r.id), STORE_OK, "and read");
	state_put(s, &r.id, "first state");
	is_int(entries("incoming"), 0, "writers leave nothing behind");
	store_purge(s, &purged);
	ok(purged.states == 0 && state_is(s, &r.id, "first state"),
	    "a state with a row survives the purge");
	fx_write(s, erase, &r.id);
	store_purge(s, &purged);
	ok(purged.states == 1 && entries("sessions") == 0, "one without goes");
	unlink(path);
	is_int(symlink("/dev/zero", path), 0, "a link in its place");
	is_int(state_err(s, &r.id), STORE_IO, "is not followed");
	session_state_remove(s, &r.id);
	is_int(entries("sessions"), 0, "and removed");
	store_free(&s);
}

static void
flip(int fd, size_t bit)
{
	off_t at = (off_t)bit / 8;
	uint8_t byte;

	if (pread(fd, &byte, 1, at) != 1)
		err(1, "read");
	byte ^= (uint8_t)(1 << bit % 8);
	if (pwrite(fd, &byte, 1, at) != 1)
		err(1, "write");
}

/* Each changed bit, each shorter file, one that is longer, another one's. */
static void
test_state_damage(void)
{
	static const char text[] = "{\"cookies\":[]}";
	struct session_record r = made(7, FX_NOW), other = made(7, FX_NOW);
	size_t len = strlen(text) + STATE_SEAL_BYTES;
	char path[400], others[400];
	int fd, refused = 0;
	struct store *s;

	fx_new();
	s = fx_open();
	state_put(s, &r.id, text);
	state_path(&r.id, path);
	if ((fd = open(path, O_RDWR | O_CLOEXEC)) == -1)
		err(1, "%s", path);
	for (size_t bit = 0; bit < len * 8; bit++) {
		flip(fd, bit);
		refused += state_err(s, &r.id) == STORE_CORRUPT;
		flip(fd, bit);
	}
	is_int(refused, len * 8, "a state is refused with any bit changed");
	ok(state_is(s, &r.id, text), "and right without the change");
	is_int(pwrite(fd, "x", 1, (off_t)len), 1, "a longer file");
	is_int(state_err(s, &r.id), STORE_CORRUPT, "is refused");
	for (refused = 0; len-- > 0;)
		refused += ftruncate(fd, (off_t)len) == 0 &&
		    state_err(s, &r.id) == STORE_CORRUPT;
	is_int(refused, strlen(text) + STATE_SEAL_BYTES,
	    "so is each shorter one, and one that is empty");
	close(fd);
	state_put(s, &r.id, text);
	state_path(&other.id, others);
	is_int(link(path, others), 0, "the file of another session");
	is_int(state_err(s, &other.id), STORE_CORRUPT, "is not this one's");
	store_free(&s);
}

static struct ulid ended;
static unsigned nended;

static void
on_ended(void *arg, const struct ulid *id)
{
	ended = *id;
	nended++;
}

static void
swept(void *arg, int err, const struct sweep_result *r)
{
	if (err == STORE_OK)
		*(struct sweep_result *)arg = *r;
}

static unsigned
sweep(struct store *s, int64_t now_ms)
{
	struct sweep_result r = { .sessions = 99 };

	store_sweep(s, now_ms, TTL, 100, swept, on_ended, &r);
	store_commit(s, FX_NOW);
	return r.sessions;
}

static void
test_expiry(void)
{
	struct session_record r = made(7, FX_NOW), other = made(7, FX_NOW);
	struct take t = { other.id, 7, FX_NOW, TRUST_LOCAL, NULL };
	struct store *s;

	fx_new();
	s = fx_open();
	fx_write(s, insert, &r);
	fx_write(s, insert, &other);
	fx_write(s, take, &t);
	state_put(s, &r.id, "");
	is_int(state_err(s, &r.id), STORE_OK, "an empty state is one");
	is_int(sweep(s, FX_NOW + TTL - 1), 0, "alive 1 ms before its end");
	is_int(sweep(s, FX_NOW + TTL), 1, "over at its end");
	ok(nended == 1 && memcmp(&ended, &r.id, sizeof(ended)) == 0,
	    "which is told");
	is_int(entries("sessions"), 0, "its state goes with it");
	is_int(sweep(s, FX_NOW + TTL * 100), 0, "one in use does not expire");
	is_int(rows(s, TABLE_SESSIONS), 1, "and is left");
	store_free(&s);
}

int
main(void)
{
	test_rows();
	test_labels();
	test_give_back();
	test_list();
	test_state();
	test_state_damage();
	test_expiry();
	return done_testing();
}
