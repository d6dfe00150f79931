/*
 * Checking the pages of the database, as LMDB's format 1 has them: which commit
 * holds, the trees of that commit, the list of free pages. LMDB believes all of
 * this, and a page that is free and in use is written over later. Runs where
 * check.c does, before LMDB walks over anything. Reads the file; each number in
 * it is believed to be damaged.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "storage/check_int.h"

#define FILE_NAME     "data.mdb"
#define FIRST_PAGE    2  /* behind those that tell of commits */
#define DEPTH_MAX     32 /* LMDB goes no deeper */
#define FAULTS_MAX    20
#define LOOKS_MAX     100 /* while another process writes */

#define PAGE_BRANCH   0x01
#define PAGE_LEAF     0x02
#define PAGE_OVERFLOW 0x04
#define PAGE_KIND     0x6f /* what tells kinds apart */

#define NODE_BIG      0x01 /* its value is on pages of its own */
#define NODE_TABLE    0x02 /* its value is a tree */

/* As they are in the file. */
struct page_head {
	size_t number;
	uint16_t pad, flags;
	union {
		uint16_t bounds[2]; /* of the room between places and nodes */
		uint32_t pages;     /* of one value */
	};
};

struct page_tree {
	uint32_t page_bytes; /* of the first tree */
	uint16_t flags, depth;
	size_t branches, leaves, overflows, entries, root;
};

struct page_meta {
	uint32_t magic, version;
	void *address;
	size_t map_bytes;
	struct page_tree trees[2]; /* free pages, tables */
	size_t last_page, commit;
};

struct page_node {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint16_t low, high;
#else
	uint16_t high, low;
#endif
	uint16_t flags, key_len;
};

struct pages {
	struct check *c;
	int fd;
	size_t page_bytes, last_page, commit;
	uint8_t *taken; /* a bit for each page */
	unsigned told;
	size_t freed_by; /* the last commit that the free list had */
};

/* A tree, and what of it was met. */
struct walk {
	const struct page_tree *tree;
	struct page_tree seen;
	bool is_free_list, is_tables;
};

static void walk_tree(struct pages *, const struct page_tree *, bool, bool);

static void
tell(struct pages *ps, size_t page, const char *what)
{
	struct check_fault f = { .fault = FAULT_PAGES_DAMAGED,
		.table = "pages" };

	if (ps->told++ >= FAULTS_MAX)
		return;
	snprintf(f.key, sizeof(f.key), "%zu", page);
	snprintf(f.detail, sizeof(f.detail), "%s", what);
	check_tell(ps->c, &f);
}

/* Each page has one place. */
static bool
take(struct pages *ps, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t page = first + i;
		uint8_t bit = (uint8_t)(1u << page % 8);

		if (first < FIRST_PAGE || first > ps->last_page ||
		    count > ps->last_page - first + 1) {
			tell(ps, first, "a page that is not there is named");
			return false;
		}
		if ((ps->taken[page / 8] & bit) != 0) {
			tell(ps, page, "two places name the page");
			return false;
		}
		ps->taken[page / 8] |= bit;
	}
	return true;
}

static bool
read_at(const struct pages *ps, size_t page, size_t skip, void *to, size_t len)
{
	return pread(ps->fd, to, len, (off_t)(page * ps->page_bytes + skip)) ==
	    (ssize_t)len;
}

static bool
head_read(struct pages *ps, size_t page, const void *bytes, uint16_t kinds,
    struct page_head *ret)
{
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->number == page && (ret->flags & PAGE_KIND & ~kinds) == 0 &&
	    (ret->flags & kinds) != 0)
		return true;
	tell(ps, page, "it is not the page that is named");
	return false;
}

/* Values. */

/* Free pages that one commit left: their number, then they, falling. */
static void
free_pages(struct pages *ps, size_t page, const size_t *list, size_t len)
{
	size_t count = len / sizeof(*list);

	if (count == 0 || len % sizeof(*list) != 0 || list[0] >= count) {
		tell(ps, page, "its list of free pages has no such length");
		return;
	}
	for (size_t i = 1; i <= list[0]; i++)
		if (i > 1 && list[i] >= list[i - 1])
			tell(
			    ps, page, "its list of free pages is out of order");
		else if (!take(ps, list[i], 1))
			return;
}

/* The pages of a long value; in the free list they are looked at, too. */
static void
big_value(struct pages *ps, struct walk *w, size_t page, size_t len)
{
	size_t need = (sizeof(struct page_head) - 1 + len) / ps->page_bytes + 1;
	uint8_t bytes[sizeof(struct page_head)];
	struct page_head head;
	size_t *list;

	if (page > ps->last_page ||
	    !read_at(ps, page, 0, bytes, sizeof(bytes))) {
		tell(ps, page, "a page that is not there is named");
		return;
	}
	if (!head_read(ps, page, bytes, PAGE_OVERFLOW, &head))
		return;
	if (head.pages < need) {
		tell(ps, page, "it has not the pages for its value");
		return;
	}
	w->seen.overflows += head.pages;
	if (!take(ps, page, head.pages) || !w->is_free_list)
		return;
	/* No longer than the file, now that its pages are. */
	list = malloc(len + 1);
	if (list != NULL && read_at(ps, page, sizeof(head), list, len))
		free_pages(ps, page, list, len);
	else
		tell(ps, page, "it cannot be read");
	free(list);
}

static void
small_value(struct pages *ps, struct walk *w, size_t page, uint16_t flags,
    const uint8_t *value, size_t len)
{
	struct page_tree tree;
	size_t *list;

	if (w->is_tables && flags == NODE_TABLE && len == sizeof(tree)) {
		memcpy(&tree, value, sizeof(tree));
		walk_tree(ps, &tree, false, false);
	} else if (w->is_tables || flags != 0) {
		tell(ps, page, "it has what is no table");
	} else if (w->is_free_list) {
		list = malloc(len + 1);
		if (list == NULL)
			return;
		memcpy(list, value, len);
		free_pages(ps, page, list, len);
		free(list);
	}
}

static void
free_key(struct pages *ps, size_t page, const uint8_t *key, size_t len)
{
	size_t commit = 0;

	if (len == sizeof(commit))
		memcpy(&commit, key, len);
	if (commit <= ps->freed_by || commit > ps->commit)
		tell(ps, page, "it tells of a commit that there was not");
	ps->freed_by = commit;
}

/* Nodes. */

static void
leaf_node(struct pages *ps, struct walk *w, size_t page,
    const struct page_node *node, const uint8_t *key, size_t room)
{
	size_t len = node->low | (size_t)node->high << 16, big;
	const uint8_t *value = key + node->key_len;

	w->seen.entries++;
	if (w->is_free_list)
		free_key(ps, page, key, node->key_len);
	if (node->flags == NODE_BIG && room >= node->key_len + sizeof(big)) {
		memcpy(&big, value, sizeof(big));
		big_value(ps, w, big, len);
	} else if (room >= node->key_len + len) {
		small_value(ps, w, page, node->flags, value, len);
	} else {
		tell(ps, page, "an entry leaves its page");
	}
}

static size_t
branch_child(const struct page_node *node)
{
	uint64_t child = node->low | (uint64_t)node->high << 16 |
	    (uint64_t)node->flags << 32;

	return (size_t)child;
}

static void walk_page(struct pages *, struct walk *, size_t page, unsigned);

static void
walk_node(struct pages *ps, struct walk *w, size_t page, unsigned depth,
    const uint8_t *bytes, size_t at)
{
	bool branch = depth < w->tree->depth;
	struct page_node node;
	size_t room;

	if (at + sizeof(node) > ps->page_bytes) {
		tell(ps, page, "an entry leaves its page");
		return;
	}
	memcpy(&node, bytes + at, sizeof(node));
	room = ps->page_bytes - at - sizeof(node);
	if (node.key_len > room)
		tell(ps, page, "a key leaves its page");
	else if (branch)
		walk_page(ps, w, branch_child(&node), depth + 1);
	else
		leaf_node(ps, w, page, &node, bytes + at + sizeof(node), room);
}

/* Each page is taken once: this ends, whatever they name. */
static void
walk_page(struct pages *ps, struct walk *w, size_t page, unsigned depth)
{
	bool branch = depth < w->tree->depth;
	uint8_t *bytes = malloc(ps->page_bytes);
	struct page_head head;
	uint16_t at;

	if (bytes == NULL || !take(ps, page, 1))
		goto out;
	if (!read_at(ps, page, 0, bytes, ps->page_bytes)) {
		tell(ps, page, "it cannot be read");
		goto out;
	}
	if (!head_read(
		ps, page, bytes, branch ? PAGE_BRANCH : PAGE_LEAF, &head))
		goto out;
	if (head.bounds[0] < sizeof(head) || head.bounds[0] % sizeof(at) != 0 ||
	    head.bounds[0] > head.bounds[1] ||
	    head.bounds[1] > ps->page_bytes) {
		tell(ps, page, "its bounds are none");
		goto out;
	}
	*(branch ? &w->seen.branches : &w->seen.leaves) += 1;
	for (size_t i = sizeof(head); i < head.bounds[0]; i += sizeof(at)) {
		memcpy(&at, bytes + i, sizeof(at));
		if (at < head.bounds[1])
			tell(ps, page, "an entry is not where entries are");
		else
			walk_node(ps, w, page, depth, bytes, at);
	}
out:
	free(bytes);
}

static void
walk_tree(struct pages *ps, const struct page_tree *tree, bool is_free_list,
    bool is_tables)
{
	struct walk w = { .tree = tree,
		.is_free_list = is_free_list,
		.is_tables = is_tables };

	if (tree->root == (size_t)-1) {
		if (tree->depth != 0 || tree->entries != 0)
			tell(ps, 0, "a table has entries and no page");
		return;
	}
	if (tree->depth == 0 || tree->depth > DEPTH_MAX) {
		tell(ps, tree->root, "a table has no such depth");
		return;
	}
	walk_page(ps, &w, tree->root, 1);
	if (w.seen.branches != tree->branches ||
	    w.seen.leaves != tree->leaves ||
	    w.seen.overflows != tree->overflows ||
	    w.seen.entries != tree->entries)
		tell(ps, tree->root, "a table has not what it counts");
}

/* Commits. */

/* Commits take turns between the first two pages. */
static bool
commits_follow(const struct page_meta m[2])
{
	size_t a = m[0].commit, b = m[1].commit;

	if (a == 0 && b == 0)
		return true;
	return a % 2 == 0 && b % 2 == 1 && (a == b + 1 || b == a + 1);
}

/* Both, as they are at one moment. */
static bool
commits_read(struct pages *ps, struct page_meta ret[2])
{
	bool read = true, follow = false;

	for (int i = 0; i < (ps->c->live ? LOOKS_MAX : 1) && !follow; i++) {
		for (size_t page = 0; page < 2; page++)
			read = read &&
			    read_at(ps, page, sizeof(struct page_head),
				&ret[page], sizeof(*ret));
		follow = read && commits_follow(ret);
	}
	if (!follow)
		tell(ps, 0, "the last two commits do not follow each other");
	return follow;
}

static void
pages_walk(struct pages *ps, const struct page_meta *m)
{
	MDB_envinfo info;

	mdb_env_info(ps->c->store->env, &info);
	ps->last_page = m->last_page;
	if (ps->last_page >= info.me_mapsize / ps->page_bytes) {
		tell(ps, 0, "the last page is behind the end of the database");
		return;
	}
	ps->taken = calloc(ps->last_page / 8 + 1, 1);
	if (ps->taken == NULL)
		return;
	walk_tree(ps, &m->trees[1], false, true);
	walk_tree(ps, &m->trees[0], true, false);
	free(ps->taken);
}

bool
check_pages(struct check *c)
{
	struct pages ps = { .c = c, .commit = mdb_txn_id(c->txn->mdb) };
	struct page_meta m[2];
	MDB_stat st;
	bool there = true;

	ps.fd = openat(
	    c->store->store_fd, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (ps.fd == -1 || mdb_env_stat(c->store->env, &st) != 0) {
		tell(&ps, 0, "the database cannot be read");
		fd_close(&ps.fd);
		return true;
	}
	ps.page_bytes = st.ms_psize;
	if (commits_read(&ps, m)) {
		const struct page_meta *of = &m[ps.commit % 2];

		there = of->commit == ps.commit;
		if (there)
			pages_walk(&ps, of);
		else if (!c->live || ++c->looks == LOOKS_MAX)
			tell(&ps, 0, "the commit that is read is not there");
	}
	fd_close(&ps.fd);
	return there || !c->live || c->looks == LOOKS_MAX;
}
