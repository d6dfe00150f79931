/*
 * Differential test against json-c: what we accept it accepts too, and both
 * mean the same. It is more lenient, so the other way round says nothing.
 */
#include "json/canon.h"
#include "t/unit/json_oracle.h"
#include "t/unit/json_support.h"

#ifndef HAVE_JSON_C

int
main(void)
{
	tap_skip("json-c as oracle", "built without json-c");
	return done_testing();
}

#else

static char *
canon_of(const char *text, size_t len)
{
	struct json_limits limits = { 0, 512 };
	struct json_doc *doc = NULL;
	struct buf b;
	uint8_t *canon = NULL;
	size_t n;

	buf_init(&b, 1 << 26);
	if (json_parse((const uint8_t *)text, len, &limits, 0, &doc, NULL) &&
	    json_canon_add(json_root(doc), &b))
		canon = buf_take(&b, &n);
	buf_clear(&b);
	json_doc_free(&doc);
	return (char *)canon;
}

/* Where json-c loses something: keys with NUL, numbers beyond 64 bits. */
static bool
is_lossy(const char *text, size_t len)
{
	size_t digits = 0;

	if (memmem(text, len, "\\u0000", 6) != NULL)
		return true;
	for (size_t i = 0; i < len; i++) {
		digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
		if (digits > 18)
			return true;
	}
	return false;
}

/* True if the two agree, or there is nothing to compare. */
static bool
agree(const char *text, size_t len, int *compared)
{
	char *ours = canon_of(text, len), *theirs, *back;
	bool same;

	if (ours == NULL || is_lossy(text, len)) {
		free(ours);
		return true;
	}
	(*compared)++;
	theirs = oracle_respell(text, len);
	back = theirs == NULL ? NULL : canon_of(theirs, strlen(theirs));
	same = back != NULL && strcmp(ours, back) == 0;
	if (!same)
		printf("# %.*s\n#   ours %s\n#   json-c %s\n", (int)len, text,
		    ours, theirs == NULL ? "refuses" : theirs);
	free(ours);
	free(theirs);
	free(back);
	return same;
}

static void
compare_files(const char *below, const char *test, int least)
{
	const char *dir = vectors_dir(below, test);
	struct dirent **names = NULL;
	int n, compared = 0, differ = 0;

	if (dir == NULL)
		return;
	n = scandir(dir, &names, json_only, alphasort);
	for (int i = 0; i < n; i++) {
		size_t len;
		char *text = (char *)read_file(dir, names[i]->d_name, &len);

		differ += !agree(text, len, &compared);
		free(text);
		free(names[i]);
	}
	free(names);
	ok(differ == 0 && compared >= least, "%s: %d compared, %d differ", test,
	    compared, differ);
}

static void
compare_damaged(void)
{
	static const char text[] =
	    "{\"id\":7,\"a\":[1.5e-3,-0,true,false,null,{}],"
	    "\"\\ud83d\\ude00\\ud800\":\"\xe2\x82\xac\\n\\/\\u00e9\"}";
	uint64_t seed = 11;
	int compared = 0, differ = 0;

	for (int i = 0; i < 50000; i++) {
		char hurt[sizeof(text)];

		memcpy(hurt, text, sizeof(text));
		for (uint32_t k = random_next(&seed) % 3 + 1; k > 0; k--)
			hurt[random_next(&seed) % (sizeof(text) - 1)] =
			    "{}[]\",:\\u0e-1d8"[random_next(&seed) % 16];
		differ += !agree(hurt, sizeof(text) - 1, &compared);
	}
	ok(differ == 0 && compared > 1000,
	    "damaged texts: %d compared, %d differ", compared, differ);
}

int
main(void)
{
	compare_files("json-parsing/test_parsing", "suite", 80);
	compare_files("json-parsing/test_transform", "transforms", 10);
	compare_files("cdp-json", "browser messages", 6);
	compare_damaged();
	return done_testing();
}

#endif
