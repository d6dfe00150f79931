/*
 * page and what a person could operate, held against the accessibility tree
 * that the browser itself makes of the same page: of its nodes that can be
 * operated, how many are in our list with the same role and the same name, and
 * is there anything in our list that is not in the tree. The demo's pages and
 * those of t/data/pagetype, which are in the manner of many systems.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdp/cdp.h"
#include "common/buf.h"
#include "json/tape.h"
#include "json/writer.h"
#include "page/priv.h"
#include "t/unit/tap.h"
#include "visit.h"

#define TREE_MAX ((size_t)16 << 20)

/*
 * Left out of the tree are the lines of a closed list (they cannot be seen, the
 * list can) and the parts that the browser makes a date of. A field without
 * any name may have one in our list, from its attributes: it is counted apart.
 * Of a page with more than we list, those listed are held against the tree, and
 * the number of all.
 */
static const char compare[] =
    "({tree, got}) => {"
    " const operable = new Set(['button', 'link', 'textbox', 'searchbox',"
    "  'checkbox', 'radio', 'combobox', 'listbox', 'menuitem',"
    "  'menuitemcheckbox', 'menuitemradio', 'option', 'slider',"
    "  'spinbutton', 'switch', 'tab', 'treeitem']);"
    " const roles = {DisclosureTriangle: 'button', ColorWell: 'button',"
    "  Date: 'textbox', DateTime: 'textbox', InputTime: 'textbox'};"
    " const plain = (t) => t.replace(/[\\s\\u200b\\ufeff]+/g, ' ').trim()"
    "  .slice(0, 120).trim();"
    " const byId = new Map(tree.map((n) => [n.id, n]));"
    " const roleOf = (n) => roles[n.role] || n.role;"
    " const above = (n, test) => { let up = n;"
    "  while ((up = byId.get(up.parent)) && !test(up.role)); return up; };"
    " const part = (n) => n.role === 'option' &&"
    "  above(n, (r) => /^(MenuListPopup|combobox|listbox)$/.test(r))?.role"
    "   !== 'listbox' || above(n, (r) => /^(Date|DateTime|InputTime)$/"
    "   .test(r));"
    " const theirs = tree.filter((n) => !n.ignored &&"
    "  operable.has(roleOf(n)) && !part(n))"
    "  .map((n) => [roleOf(n), plain(n.name)]);"
    " const ours = got.pageInfo.elements.map((e) => [e.role,"
    "  plain(e.name)]);"
    " const missing = [];"
    " const info = got.pageInfo, total = theirs.length;"
    " if (info.truncated) {"
    "  for (const [role, name] of ours) {"
    "   const at = theirs.findIndex((t) => t[0] === role && t[1] === name);"
    "   if (at < 0) missing.push([role, name]); else theirs.splice(at, 1);"
    "  }"
    "  return {total, same: total - Math.abs(total - info.totalElements),"
    "   unnamed: 0, more: missing.length, text: 'too many to list'};"
    " }"
    " let unnamed = 0;"
    " for (const [role, name] of theirs) {"
    "  const at = ours.findIndex((o) => o[0] === role && o[1] === name);"
    "  if (at >= 0) ours.splice(at, 1); else missing.push([role, name]);"
    " }"
    " for (const want of missing.filter((m) => m[1] === '')) {"
    "  const at = ours.findIndex((o) => o[0] === want[0]);"
    "  if (at < 0) continue;"
    "  ours.splice(at, 1);"
    "  missing.splice(missing.indexOf(want), 1);"
    "  unnamed++;"
    " }"
    " return {total: theirs.length, same: theirs.length - missing.length"
    "   - unnamed, unnamed, more: ours.length, text: 'missing: ' +"
    "   missing.map((m) => m.join(' ')).join(' | ') + ' more: ' +"
    "   ours.map((m) => m.join(' ')).join(' | ')};"
    "}";

struct count {
	int64_t total;   /* nodes of the tree that can be operated */
	int64_t same;    /* in our list, too */
	int64_t unnamed; /* without a name, and with one in our list */
	int64_t more;    /* only in our list */
};

static struct buf tree;

static void
add_node(struct json_writer *w, struct json_val node)
{
	char name[512];
	bool ignored = false;

	json_get_bool(json_obj_get(node, "ignored"), &ignored);
	json_write_begin_object(w);
	if (json_str_copy(json_obj_get(node, "nodeId"), name, sizeof(name)))
		json_put_str(w, "id", name);
	if (json_str_copy(json_obj_get(node, "parentId"), name, sizeof(name)))
		json_put_str(w, "parent", name);
	if (!json_str_copy(json_obj_get(json_obj_get(node, "role"), "value"),
		name, sizeof(name)))
		name[0] = '\0';
	json_put_str(w, "role", name);
	json_write_key(w, "name");
	if (!json_is_string(json_obj_get(json_obj_get(node, "name"), "value")))
		json_write_str(w, "");
	else {
		const uint8_t *raw;
		size_t len;

		json_raw(json_obj_get(json_obj_get(node, "name"), "value"),
		    &raw, &len);
		json_write_raw(w, (const char *)raw, len);
	}
	json_put_bool(w, "ignored", ignored);
	json_write_end_object(w);
}

/* Keeps of the tree what is compared. */
static void
on_tree(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct json_iter it;

	visit.done = true;
	buf_reset(&tree);
	if (r->status != CDP_OK ||
	    !json_parse(r->result.ptr, r->result.len, NULL, JSON_REPAIR_UTF8,
		&doc, NULL))
		return;
	json_writer_init(&w, &tree);
	json_write_begin_array(&w);
	it = json_iter(json_obj_get(json_root(doc), "nodes"));
	while (json_iter_next(&it))
		add_node(&w, it.val);
	json_write_end_array(&w);
	json_doc_free(&doc);
}

/* Adds what one page gives; says what differs. */
static void
page_compare(struct page *p, const char *name, struct count *sum)
{
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct count n = { 0 };
	struct buf args;
	char text[4000] = "";

	cdp_call(p->browser->cdp, p->session, "Accessibility.getFullAXTree",
	    NULL, 0, 10000, on_tree, NULL);
	visit_wait();
	visit_extract(p,
	    (struct page_extract_options){
		.page_info = true, .max_elements = 1000 });
	if (tree.len == 0 || visit.status != PAGE_OK) {
		ok(false, "%s: tree of %zu bytes, %s", name, tree.len,
		    visit.message);
		return;
	}
	buf_init(&args, TREE_MAX * 2);
	json_writer_init(&w, &args);
	json_write_begin_object(&w);
	json_put_raw(&w, "tree", (const char *)tree.data, tree.len);
	json_put_raw(&w, "got", visit.json, visit.json_len);
	json_write_end_object(&w);
	buf_add(&args, "", 1);
	if (visit_eval(p, compare, (const char *)args.data, 10000) != PAGE_OK ||
	    !json_parse((const uint8_t *)visit.json, visit.json_len, NULL, 0,
		&doc, NULL)) {
		ok(false, "%s: %s", name, visit.message);
		buf_clear(&args);
		return;
	}
	json_get_int64(json_obj_get(json_root(doc), "total"), &n.total);
	json_get_int64(json_obj_get(json_root(doc), "same"), &n.same);
	json_get_int64(json_obj_get(json_root(doc), "unnamed"), &n.unnamed);
	json_get_int64(json_obj_get(json_root(doc), "more"), &n.more);
	if (n.same + n.unnamed < n.total || n.more > 0) {
		json_str_copy(
		    json_obj_get(json_root(doc), "text"), text, sizeof(text));
		printf("# %s: %d of %d, %d more; %s\n", name, (int)n.same,
		    (int)n.total, (int)n.more, text);
	}
	sum->total += n.total;
	sum->same += n.same;
	sum->unnamed += n.unnamed;
	sum->more += n.more;
	json_doc_free(&doc);
	buf_clear(&args);
}

static void
check_sum(
    const struct count *sum, int least, int least_percent, const char *what)
{
	printf("# %s: %d of %d nodes of the tree, %d unnamed ones, %d more\n",
	    what, (int)sum->same, (int)sum->total, (int)sum->unnamed,
	    (int)sum->more);
	ok(sum->total >= least, "%s: there is something to operate", what);
	ok((sum->same + sum->unnamed) * 100 >= sum->total * least_percent,
	    "%s: at least %d %% are in our list", what, least_percent);
	ok(sum->more * 100 <= sum->total * (100 - least_percent),
	    "%s: hardly anything else is", what);
}

static void
test_demo(struct page *p)
{
	static const char *const paths[] = { "/", "/login", "/register",
		"/search", "/results?q=harbour", "/shop", "/checkout",
		"/dashboard", "/settings", "/mail/inbox", "/mail/compose",
		"/news", "/article-harbour", "/article-bread",
		"/article-sorting", "/article-ar", "/article-he", "/article-ja",
		"/article-zh", "/missing" };
	struct count sum = { 0 };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		visit_go(p, paths[i], 0);
		page_compare(p, paths[i], &sum);
	}
	check_sum(&sum, 400, 99, "the demo's pages");
}

static void
test_many(struct page *p)
{
	const char *srcdir = getenv("srcdir");
	struct count sum = { 0 };
	char pattern[512];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/t/data/pagetype/*.html",
	    srcdir != NULL ? srcdir : ".");
	if (glob(pattern, 0, NULL, &g) != 0)
		g.gl_pathc = 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		const char *name = strrchr(g.gl_pathv[i], '/');

		visit_go(p, name, 0);
		page_compare(p, name, &sum);
	}
	globfree(&g);
	check_sum(&sum, 1000, 99, "pages of many systems");
}

static bool
test_with(const char *pages, void (*test)(struct page *))
{
	const char *why = "";
	struct page *p;

	if (!visit_start(LIVE_SHELL, pages, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return false;
	}
	p = visit_open();
	if (p != NULL)
		test(p);
	visit_end();
	return true;
}

int
main(void)
{
	const char *srcdir = getenv("srcdir");
	char pages[512];

	snprintf(pages, sizeof(pages), "%s/t/data/pagetype",
	    srcdir != NULL ? srcdir : ".");
	buf_init(&tree, TREE_MAX);
	if (!test_with(NULL, test_demo) || !test_with(pages, test_many))
		return 0;
	buf_clear(&tree);
	return done_testing();
}
