/*
 * Each finding about a page of the database, by its text and page. A field is
 * damaged within a transaction, the pages are looked at, and it is put back
 * before LMDB walks over anything: no row needs a process of its own.
 */
#include "storage/check_int.h"
#include "t/unit/storage_pages.h"

#define FAULTS_MAX 20  /* that are told */
#define LOOKS_MAX  100 /* at a store that another process writes */

static const struct place none, first = { 0, 1 };
static const struct place same; /* what a field has before */

struct change {
	const struct place *in;
	unsigned skip, width;
	const struct place *from; /* its page, and so much more */
	uint64_t more;
};

struct row {
	const char *name;
	struct change changes[2];
	const struct place *page;
	const char *text;
};

#define MINUS(n)  (UINT64_MAX - (n) + 1)

#define NOT_THERE "a page that is not there is named"
#define TWICE     "two places name the page"
#define OTHER     "it is not the page that is named"
#define NO_LENGTH "its list of free pages has no such length"
#define NO_ORDER  "its list of free pages is out of order"
#define TOO_FEW   "it has not the pages for its value"
#define UNREAD    "it cannot be read"
#define NO_TABLE  "it has what is no table"
#define NO_COMMIT "it tells of a commit that there was not"
#define LEAVES    "an entry leaves its page"
#define KEY_OUT   "a key leaves its page"
#define NO_BOUNDS "its bounds are none"
#define NOT_AMONG "an entry is not where entries are"
#define PAGELESS  "a table has entries and no page"
#define NO_DEPTH  "a table has no such depth"
#define MISCOUNT  "a table has not what it counts"
#define NO_FOLLOW "the last two commits do not follow each other"
#define BEHIND    "the last page is behind the end of the database"
#define GONE      "the commit that is read is not there"
#define NO_FILE   "the database cannot be read"

static const struct row rows[] = {
	/* Commits. */
	{ "a commit too far behind the other",
	    { { &meta, META_COMMIT, 8, &same, 2 } }, &none, NO_FOLLOW },
	{ "two commits in each other's place",
	    { { &meta, META_COMMIT, 8, &same, 1 },
		{ &other_meta, META_COMMIT, 8, &same, 1 } },
	    &none, NO_FOLLOW },
	{ "two commits that came later",
	    { { &meta, META_COMMIT, 8, &same, 2 },
		{ &other_meta, META_COMMIT, 8, &same, 2 } },
	    &none, GONE },
	{ "two commits of a new database",
	    { { &meta, META_COMMIT, 8, &none, 0 },
		{ &other_meta, META_COMMIT, 8, &none, 0 } },
	    &none, GONE },
	{ "one commit of a new database",
	    { { &other_meta, META_COMMIT, 8, &none, 0 } }, &none, NO_FOLLOW },
	{ "more pages than the map has",
	    { { &meta, META_LAST, 8, &map_end, 0 } }, &none, BEHIND },
	{ "no pages", { { &meta, META_LAST, 8, &none, 0 } }, &tables,
	    NOT_THERE },

	/* Trees. */
	{ "a root behind the last page",
	    { { &docs_tree, TREE_ROOT, 8, &past, 0 } }, &past, NOT_THERE },
	{ "a root that is a commit's page",
	    { { &docs_tree, TREE_ROOT, 8, &first, 0 } }, &first, NOT_THERE },
	{ "a root that is another table's",
	    { { &index_tree, TREE_ROOT, 8, &docs, 0 } }, &docs, TWICE },
	{ "no root, of a table with entries",
	    { { &docs_tree, TREE_ROOT, 8, &none, MINUS(1) } }, &none,
	    PAGELESS },
	{ "no root, and entries",
	    { { &empty_tree, TREE_ENTRIES, 8, &none, 1 } }, &none, PAGELESS },
	{ "no root, and a depth", { { &empty_tree, TREE_DEPTH, 2, &none, 1 } },
	    &none, PAGELESS },
	{ "a root, and no depth", { { &index_tree, TREE_DEPTH, 2, &none, 0 } },
	    &index_root, NO_DEPTH },
	{ "a depth that LMDB has not",
	    { { &index_tree, TREE_DEPTH, 2, &none, 33 } }, &index_root,
	    NO_DEPTH },
	{ "a branch where leaves should be",
	    { { &index_tree, TREE_DEPTH, 2, &none, 1 } }, &index_root, OTHER },
	{ "a leaf where branches should be",
	    { { &index_tree, TREE_DEPTH, 2, &none, 32 } }, &index_leaf, OTHER },
	{ "branches", { { &index_tree, TREE_BRANCHES, 8, &same, 1 } },
	    &index_root, MISCOUNT },
	{ "leaves", { { &index_tree, TREE_LEAVES, 8, &same, MINUS(1) } },
	    &index_root, MISCOUNT },
	{ "pages of long values",
	    { { &docs_tree, TREE_OVERFLOWS, 8, &same, 1 } }, &docs, MISCOUNT },
	{ "entries", { { &docs_tree, TREE_ENTRIES, 8, &same, MINUS(1) } },
	    &docs, MISCOUNT },
	{ "entries of the list of free pages",
	    { { &free_tree, TREE_ENTRIES, 8, &same, 1 } }, &lists, MISCOUNT },

	{ "a root behind the file's end",
	    { { &docs_tree, TREE_ROOT, 8, &past, 0 },
		{ &meta, META_LAST, 8, &past, 0 } },
	    &past, UNREAD },

	/* Heads of pages. */
	{ "a page's number", { { &docs, PAGE_NUMBER, 8, &same, 1 } }, &docs,
	    OTHER },
	{ "a page of no kind", { { &docs, PAGE_FLAGS, 2, &none, 0 } }, &docs,
	    OTHER },
	{ "a page of two kinds",
	    { { &docs, PAGE_FLAGS, 2, &none, LEAF | BRANCH } }, &docs, OTHER },
	{ "a page without entries", { { &docs, PAGE_LOWER, 2, &none, 16 } },
	    &docs, MISCOUNT },
	{ "a lower bound within the head",
	    { { &docs, PAGE_LOWER, 2, &none, 14 } }, &docs, NO_BOUNDS },
	{ "a lower bound within a place",
	    { { &docs, PAGE_LOWER, 2, &same, 1 } }, &docs, NO_BOUNDS },
	{ "bounds that change places", { { &docs, PAGE_UPPER, 2, &none, 16 } },
	    &docs, NO_BOUNDS },
	{ "an upper bound behind the page",
	    { { &docs, PAGE_UPPER, 2, &page_bytes, 2 } }, &docs, NO_BOUNDS },

	/* Nodes. */
	{ "a node in the head", { { &docs, PAGE_ENTRY, 2, &none, 8 } }, &docs,
	    NOT_AMONG },
	{ "a node at the end",
	    { { &docs, PAGE_ENTRY, 2, &page_bytes, MINUS(6) } }, &docs,
	    LEAVES },
	{ "a child behind the last page",
	    { { &index_node, NODE_LOW, 2, &past, 0 } }, &past, NOT_THERE },
	{ "a child that is its parent",
	    { { &index_node, NODE_LOW, 2, &index_root, 0 } }, &index_root,
	    TWICE },
	{ "a long key of a leaf",
	    { { &small_node, NODE_KEY_LEN, 2, &page_bytes, 0 } }, &docs,
	    KEY_OUT },
	{ "a long key of a branch",
	    { { &index_node, NODE_KEY_LEN, 2, &page_bytes, 0 } }, &index_root,
	    KEY_OUT },
	{ "a value's length", { { &small_node, NODE_LOW, 2, &page_bytes, 0 } },
	    &docs, LEAVES },
	{ "a long value's place is behind the page",
	    { { &long_node, NODE_KEY_LEN, 2, &long_room, MINUS(7) } }, &docs,
	    LEAVES },
	{ "a table that says it is none",
	    { { &table_node, NODE_FLAGS, 2, &none, 0 } }, &tables, NO_TABLE },
	{ "a table's length", { { &table_node, NODE_LOW, 2, &same, MINUS(1) } },
	    &tables, NO_TABLE },
	{ "a table in a table",
	    { { &small_node, NODE_FLAGS, 2, &none, TABLE } }, &docs, NO_TABLE },

	/* Long values. */
	{ "a long value behind the last page", { { &value, 0, 8, &past, 0 } },
	    &past, NOT_THERE },
	{ "a long value behind the file's end",
	    { { &value, 0, 8, &past, 0 }, { &meta, META_LAST, 8, &past, 0 } },
	    &past, NOT_THERE },
	{ "a long value in another's page", { { &value, 0, 8, &tables, 0 } },
	    &tables, OTHER },
	{ "a long value's number", { { &long_page, PAGE_NUMBER, 8, &same, 1 } },
	    &long_page, OTHER },
	{ "a long value's kind",
	    { { &long_page, PAGE_FLAGS, 2, &none, OVERFLOW | LEAF } },
	    &long_page, OTHER },
	{ "a long value's pages, one less",
	    { { &long_page, PAGE_PAGES, 4, &same, MINUS(1) } }, &long_page,
	    TOO_FEW },
	{ "a long value that is longer than its pages",
	    { { &long_node, NODE_LOW, 2, &same, 1 } }, &long_page, TOO_FEW },
	{ "more pages than there are",
	    { { &long_page, PAGE_PAGES, 4, &past, 0 } }, &long_page,
	    NOT_THERE },

	/* Free pages. */
	{ "a commit of 0", { { &long_list, LIST_KEY, 8, &none, 0 } }, &lists,
	    NO_COMMIT },
	{ "a commit that is to come",
	    { { &short_list, LIST_KEY, 8, &commit, 1 } }, &lists, NO_COMMIT },
	{ "a commit twice", { { &short_list, LIST_KEY, 8, &long_commit, 0 } },
	    &lists, NO_COMMIT },
	{ "a commit of seven bytes",
	    { { &short_list, NODE_KEY_LEN, 2, &none, 7 } }, &lists, NO_COMMIT },
	{ "more free pages than the list has",
	    { { &short_list, LIST_COUNT, 8, &page_bytes, 0 } }, &lists,
	    NO_LENGTH },
	{ "one free page more than the list has",
	    { { &short_list, LIST_COUNT, 8, &short_count, 0 } }, &lists,
	    NO_LENGTH },
	{ "a list with half a number",
	    { { &long_list, NODE_LOW, 2, &same, 4 } }, &list_page, NO_LENGTH },
	{ "a list of nothing", { { &short_list, NODE_LOW, 2, &none, 0 } },
	    &lists, NO_LENGTH },
	{ "a free page twice",
	    { { &short_list, LIST_SECOND, 8, &short_first, 0 } }, &lists,
	    NO_ORDER },
	{ "a free page that is in use",
	    { { &short_list, LIST_FIRST, 8, &docs, 0 } }, &docs, TWICE },
	{ "a free page behind the last page",
	    { { &short_list, LIST_FIRST, 8, &past, 0 } }, &past, NOT_THERE },
	{ "a free page that is a commit's",
	    { { &short_list, LIST_FIRST, 8, &first, 0 } }, &first, NOT_THERE },
	{ "more free pages than a long list has",
	    { { &list_page, PAGE_BYTES, 8, &page_bytes, 0 } }, &list_page,
	    NO_LENGTH },
	{ "a long list that does not fall",
	    { { &list_page, PAGE_BYTES + 16, 8, &past, 0 } }, &list_page,
	    NO_ORDER },
	{ "a free page of a long list that is in use",
	    { { &list_page, PAGE_BYTES + 8, 8, &list_page, 0 } }, &list_page,
	    TWICE },
	{ "a long list without pages",
	    { { &list_page, PAGE_PAGES, 4, &none, 0 } }, &list_page, TOO_FEW },
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

static struct store *store;
static struct store_txn *txn;

/* ---- what is told ---- */

static struct check_fault told[2 * FAULTS_MAX];
static unsigned ntold;

static void
on_fault(void *arg, const struct check_fault *f)
{
	(void)arg;
	if (ntold < sizeof(told) / sizeof(told[0]))
		told[ntold++] = *f;
}

static void
on_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	(void)arg;
	(void)what;
	(void)done;
	(void)total;
}

static const struct check_watch watch = { on_fault, on_progress, NULL };

static bool
look(struct check *c)
{
	c->store = store;
	c->txn = txn;
	c->watch = &watch;
	ntold = 0;
	return check_pages(c);
}

/* At which place among the faults; -1: not told. */
static int
told_at(uint64_t page, const char *text)
{
	char key[CHECK_KEY_CHARS + 1];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)page);
	for (unsigned i = 0; i < ntold; i++)
		if (told[i].fault == FAULT_PAGES_DAMAGED &&
		    strcmp(told[i].table, "pages") == 0 &&
		    strcmp(told[i].key, key) == 0 &&
		    strcmp(told[i].detail, text) == 0)
			return (int)i;
	return -1;
}

static void
show_told(void)
{
	for (unsigned i = 0; i < ntold; i++)
		printf("# told: %s in %s %s: %s\n", fault_name(told[i].fault),
		    told[i].table, told[i].key, told[i].detail);
}

/* What is found first: more may follow from it. */
static void
is_first(uint64_t page, const char *text, const char *name)
{
	if (!ok(told_at(page, text) == 0, "%s: %s", name, text)) {
		printf("# not first, of page %llu\n", (unsigned long long)page);
		show_told();
	}
}

static void
is_told(uint64_t page, const char *text, const char *name)
{
	if (!ok(told_at(page, text) >= 0, "%s: %s", name, text))
		show_told();
}

static void
is_sound(const char *name)
{
	struct check c = { .live = false };

	if (!ok(look(&c) && ntold == 0, "%s", name))
		show_told();
}

/* ---- the tests ---- */

static void
test_row(const struct row *row)
{
	uint64_t before[2] = { 0, 0 };
	struct check c = { .live = false };

	for (int i = 0; i < 2 && row->changes[i].in != NULL; i++) {
		const struct change *ch = &row->changes[i];
		uint64_t at = ch->in->at + ch->skip;

		before[i] = peek(at, ch->width);
		poke(at, ch->width,
		    (ch->from == &same ? before[i] : ch->from->page) +
			ch->more);
	}
	ok(look(&c), "%s: looked at", row->name);
	is_first(row->page->page, row->text, row->name);
	for (int i = 0; i < 2 && row->changes[i].in != NULL; i++)
		poke(row->changes[i].in->at + row->changes[i].skip,
		    row->changes[i].width, before[i]);
}

/* A file that ends behind the head of a long list. */
static void
test_short(void)
{
	off_t end = (off_t)(list_page.at + PAGE_BYTES);
	struct check c = { .live = false };
	struct stat st;
	size_t len;
	uint8_t *rest;

	if (fstat(data, &st) == -1 || st.st_size <= end)
		err(1, "the database");
	len = (size_t)(st.st_size - end);
	if ((rest = malloc(len)) == NULL ||
	    pread(data, rest, len, end) != (ssize_t)len ||
	    ftruncate(data, end) == -1)
		err(1, "truncate");
	look(&c);
	is_told(list_page.page, UNREAD, "a long list that the file has not");
	if (pwrite(data, rest, len, end) != (ssize_t)len)
		err(1, "the database again");
	free(rest);
}

static void
test_no_file(const char *path)
{
	struct check c = { .live = false };
	char away[520];

	snprintf(away, sizeof(away), "%s.away", path);
	if (rename(path, away) == -1)
		err(1, "%s", away);
	look(&c);
	is_first(0, NO_FILE, "no file");
	if (rename(away, path) == -1)
		err(1, "%s", path);
}

/* All of a list's pages are the same: as many faults as it is long. */
static void
test_many(void)
{
	struct check c = { .live = false };
	uint64_t before[2 * FAULTS_MAX];
	uint64_t at = list_page.at + PAGE_BYTES + 8;

	for (int i = 0; i < 2 * FAULTS_MAX; i++) {
		before[i] = peek(at + (uint64_t)i * 8, 8);
		poke(at + (uint64_t)i * 8, 8, before[0]);
	}
	look(&c);
	is_int(ntold, FAULTS_MAX, "of many faults some are told");
	is_int(c.totals.faults[fault_harm(FAULT_PAGES_DAMAGED)], FAULTS_MAX,
	    "and counted");
	for (int i = 0; i < 2 * FAULTS_MAX; i++)
		poke(at + (uint64_t)i * 8, 8, before[i]);
}

/* A commit that another process has overwritten, and one that it writes. */
static void
test_live(void)
{
	struct check c = { .live = true };
	int again = 0;

	for (int i = 0; i < 2; i++)
		poke((i == 0 ? meta : other_meta).at + META_COMMIT, 8,
		    commit.page + 2 - (uint64_t)i);
	while (again < 2 * LOOKS_MAX && !look(&c) && ntold == 0)
		again++;
	is_int(again, LOOKS_MAX - 1, "another commit is asked for, not always");
	is_first(0, GONE, "then");
	poke(other_meta.at + META_COMMIT, 8, commit.page - 1);
	ok(look(&c), "a commit that stays half written");
	is_first(0, NO_FOLLOW, "at last");
	poke(meta.at + META_COMMIT, 8, commit.page);
	c = (struct check){ .live = true };
	ok(look(&c) && ntold == 0, "and none when all is written");
}

/* What fsck does: the pages, and then the tables that they hold. */
static void
test_whole(void)
{
	struct check_totals totals;

	ntold = 0;
	poke(free_tree.at + TREE_ENTRIES, 8, nodes_in(lists) + 1);
	is_int(store_check(store, false, &watch, &totals), STORE_OK, "a check");
	is_first(lists.page, MISCOUNT, "of all tells it, too");
	is_int(ntold, 1, "once");
	poke(free_tree.at + TREE_ENTRIES, 8, nodes_in(lists));
	ntold = 0;
	is_int(store_check(store, false, &watch, &totals), STORE_OK, "one");
	if (!ok(ntold == 0, "of what is not damaged tells nothing"))
		show_told();
}

int
main(void)
{
	struct store_options opt = { .read_only = true };
	char path[512];

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	pages_make();
	snprintf(path, sizeof(path), "%s/store/data.mdb", fx_dir);
	pages_find(path);
	store = fx_open_with(&opt);
	txn = fx_read(store);
	is_sound("a sound store has no fault");
	for (size_t i = 0; i < NROWS; i++)
		test_row(&rows[i]);
	is_sound("nor has it when all is put back");
	test_short();
	test_no_file(path);
	test_many();
	test_live();
	is_sound("nor then");
	store_read_end(store);
	test_whole();
	store_free(&store);
	close(data);
	return done_testing();
}
