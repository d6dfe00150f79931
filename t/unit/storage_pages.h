/*
 * storage_pages: a store with pages of every kind, and where they are in its
 * file. The offsets are those of LMDB's format 1, written down here once more,
 * not taken from check_pages.c.
 */
#ifndef T_UNIT_STORAGE_PAGES_H
#define T_UNIT_STORAGE_PAGES_H

#include <fcntl.h>
#include <sys/stat.h>

#include "storage/txn.h"
#include "t/unit/storage_fixture.h"

#define RUNS 60 /* whose index has leaves below a branch */

enum {
	PAGE_NUMBER = 0,
	PAGE_FLAGS = 10,
	PAGE_LOWER = 12,
	PAGE_UPPER = 14,
	PAGE_PAGES = 12, /* of a long value */
	PAGE_BYTES = 16, /* a long value begins */
	PAGE_ENTRY = 16, /* where the first node is */

	META_MAP = 16,
	META_FREE = 24, /* the tree of free pages */
	META_TABLES = 72,
	META_LAST = 120,
	META_COMMIT = 128,

	TREE_DEPTH = 6,
	TREE_BRANCHES = 8,
	TREE_LEAVES = 16,
	TREE_OVERFLOWS = 24,
	TREE_ENTRIES = 32,
	TREE_ROOT = 40,

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	NODE_LOW = 0, /* of a value's length, or of a child's page */
#else
	NODE_LOW = 2,
#endif
	NODE_FLAGS = 4,
	NODE_KEY_LEN = 6,
	NODE_KEY = 8,

	LIST_KEY = NODE_KEY, /* of free pages: the commit that left them */
	LIST_COUNT = NODE_KEY + 8,
	LIST_FIRST = NODE_KEY + 16,
	LIST_SECOND = NODE_KEY + 24,

	BRANCH = 1, /* flags of pages */
	LEAF = 2,
	OVERFLOW = 4,
	BIG = 1, /* flags of nodes */
	TABLE = 2,
};

/* Something in the file: where it is, and its number as a page. */
struct place {
	uint64_t at, page;
};

static struct place meta, other_meta, past, map_end;
static struct place free_tree, index_tree, docs_tree, empty_tree;
static struct place tables, index_root, index_leaf, docs, value;
static struct place table_node, index_node, small_node, long_node, long_page;
static struct place lists, short_list, long_list, list_page;
/* Numbers that are no pages. */
static struct place page_bytes, long_room, commit, long_commit;
static struct place short_first, short_count;

static size_t page_size;
static int data; /* the file */

union number {
	uint8_t b[8];
	uint16_t two;
	uint32_t four;
	uint64_t eight;
};

static inline uint64_t
peek(uint64_t at, unsigned width)
{
	union number n = { .eight = 0 };

	if (pread(data, n.b, width, (off_t)at) != (ssize_t)width)
		err(1, "read at %llu", (unsigned long long)at);
	return width == 2 ? n.two : width == 4 ? n.four : n.eight;
}

static inline void
poke(uint64_t at, unsigned width, uint64_t number)
{
	union number n = { .eight = number };

	if (width == 2)
		n.two = (uint16_t)number;
	else if (width == 4)
		n.four = (uint32_t)number;
	if (pwrite(data, n.b, width, (off_t)at) != (ssize_t)width)
		err(1, "write at %llu", (unsigned long long)at);
}

static inline struct place
page_of(uint64_t number)
{
	return (struct place){ number * page_size, number };
}

static inline struct place
number_of(uint64_t number)
{
	return (struct place){ 0, number };
}

static inline unsigned
nodes_in(struct place page)
{
	return (unsigned)(peek(page.at + PAGE_LOWER, 2) - PAGE_ENTRY) / 2;
}

static inline struct place
node_in(struct place page, unsigned i)
{
	page.at += peek(page.at + PAGE_ENTRY + (uint64_t)i * 2, 2);
	return page;
}

static inline struct place
root_of(struct place tree)
{
	return page_of(peek(tree.at + TREE_ROOT, 8));
}

static inline struct place
node_of_table(const char *name)
{
	size_t len = strlen(name);

	for (unsigned i = 0; i < nodes_in(tables); i++) {
		struct place node = node_in(tables, i);
		char key[32];

		if (peek(node.at + NODE_KEY_LEN, 2) == len &&
		    pread(data, key, len, (off_t)(node.at + NODE_KEY)) ==
			(ssize_t)len &&
		    memcmp(key, name, len) == 0)
			return node;
	}
	errx(1, "no table %s", name);
}

/* A node's value. */
static inline struct place
value_of(struct place node)
{
	node.at += NODE_KEY + peek(node.at + NODE_KEY_LEN, 2);
	return node;
}

static inline void
find_commit(void)
{
	meta.at = PAGE_BYTES;
	other_meta.at = page_size + PAGE_BYTES;
	if (peek(meta.at + META_COMMIT, 8) <
	    peek(other_meta.at + META_COMMIT, 8)) {
		struct place later = other_meta;

		other_meta = meta;
		meta = later;
	}
	commit = number_of(peek(meta.at + META_COMMIT, 8));
	past = page_of(peek(meta.at + META_LAST, 8) + 1);
	map_end = number_of(peek(meta.at + META_MAP, 8) / page_size);
	page_bytes = number_of(page_size);
	free_tree.at = meta.at + META_FREE;
	tables = page_of(peek(meta.at + META_TABLES + TREE_ROOT, 8));
}

static inline void
find_tables(void)
{
	empty_tree = value_of(node_of_table("journal"));
	index_tree = value_of(node_of_table("run_index"));
	index_root = root_of(index_tree);
	index_node = node_in(index_root, 0);
	index_leaf = page_of(peek(index_node.at + NODE_LOW, 2));
	table_node = node_of_table("run_docs");
	docs_tree = value_of(table_node);
	docs = root_of(docs_tree);
	/* As put_runs() puts them. */
	small_node = node_in(docs, 0);
	long_node = node_in(docs, 1);
	value = value_of(long_node);
	long_page = page_of(peek(value.at, 8));
	long_room = number_of(docs.at + page_size - long_node.at - NODE_KEY);
}

/* A list of many pages, and behind it one that is short. */
static inline void
find_lists(void)
{
	unsigned i, n;

	lists = root_of(free_tree);
	n = nodes_in(lists);
	for (i = 0; i < n; i++) {
		long_list = node_in(lists, i);
		if (peek(long_list.at + NODE_FLAGS, 2) == BIG)
			break;
	}
	if (i + 1 >= n)
		errx(1, "%u lists of free pages, the long one is %u", n, i);
	long_commit = number_of(peek(long_list.at + LIST_KEY, 8));
	list_page = page_of(peek(value_of(long_list).at, 8));
	short_list = node_in(lists, i + 1);
	short_count = number_of(peek(short_list.at + NODE_LOW, 2) / 8);
	short_first = number_of(peek(short_list.at + LIST_FIRST, 8));
}

/* The store. */

static struct fx_doc fill;

static inline int
put_runs(struct store_txn *t, void *arg)
{
	int rc = STORE_OK;

	(void)arg;
	for (int i = 0; i < RUNS && rc == STORE_OK; i++) {
		fill.r = fx_run_at(FX_NOW + i);
		rc = run_insert(t, &fill.r);
	}
	if (rc == STORE_OK)
		rc = run_doc_put(t, &fill.r.id, RUN_DOC_INPUTS, "{}", 2);
	if (rc != STORE_OK)
		return rc;
	/* To the last byte of its pages, with the record's head of 5. */
	return run_doc_put(t, &fill.r.id, RUN_DOC_OPTIONS, fill.bytes,
	    3 * page_size - PAGE_BYTES - 5);
}

static inline void
key_of_freed(struct key *ret)
{
	key_init(ret);
	key_add_ulid(ret, &fill.r.id);
	key_add_u8(ret, RUN_DOC_RESULT);
}

static inline int
put_freed(struct store_txn *t, void *arg)
{
	struct key k;

	(void)arg;
	key_of_freed(&k);
	return txn_put(t, TABLE_RUN_DOCS, &k, fill.bytes, fill.len);
}

/* Leaves a list that is too long for a place in a page. */
static inline int
delete_freed(struct store_txn *t, void *arg)
{
	struct key k;

	(void)arg;
	key_of_freed(&k);
	return txn_delete(t, TABLE_RUN_DOCS, &k);
}

static inline int
put_again(struct store_txn *t, void *arg)
{
	(void)arg;
	return run_doc_put(t, &fill.r.id, RUN_DOC_INPUTS, "[]", 2);
}

static inline void
pages_make(void)
{
	struct store_options opt = { .map_bytes = page_size * page_size / 4,
		.now_ms = FX_NOW };
	store_write_fn *const fns[] = { put_runs, put_freed, delete_freed,
		put_again };
	uint8_t *bytes;
	struct store *s;

	fill.len = page_size / 12 * page_size;
	fill.bytes = bytes = calloc(1, fill.len);
	if (bytes == NULL)
		err(1, "calloc");
	fx_new();
	s = fx_open_with(&opt);
	for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++)
		if (fx_write(s, fns[i], NULL) != STORE_OK)
			errx(1, "write %zu", i);
	store_free(&s);
	free(bytes);
	fill.bytes = NULL;
}

/* Opens the file of the store, and finds what is where. */
static inline void
pages_find(const char *path)
{
	struct stat st;

	data = open(path, O_RDWR | O_CLOEXEC);
	if (data == -1 || fstat(data, &st) == -1)
		err(1, "%s", path);
	find_commit();
	find_tables();
	find_lists();
	if ((uint64_t)st.st_size > past.at)
		errx(1, "%s: longer than its pages", path);
}

#endif
