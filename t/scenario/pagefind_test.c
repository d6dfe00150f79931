/*
 * What people call the parts of a page, in several languages, and which part
 * they mean: a table of questions over forms, with a score. With the real
 * browser.
 */
#include <stdlib.h>
#include <string.h>

#include "page/act.h"
#include "t/unit/tap.h"
#include "visit.h"

#define SCORE_MIN 97 /* per cent */

static const struct {
	const char *page;
	const char *kind;
	const char *query;
	const char *id; /* of the element that is meant; NULL: there is none */
} rows[] = {
	{ "en-login", "field", "username", "u" },
	{ "en-login", "field", "email", "u" },
	{ "en-login", "field", "the password field", "p" },
	{ "en-login", "button", "log in", "go" },
	{ "en-login", "button", "sign in button", "go" },
	{ "en-login", "field", "remember me", "r" },
	{ "en-login", "link", "forgot password", "forgot" },
	{ "en-login", "link", "sign up", "reg" },
	{ "en-login", "field", "newsletter email", "news" },
	{ "en-login", "field", "search", "q" },
	{ "en-login", "button", "search", "qgo" },
	{ "en-login", "field", "phone number", NULL },
	{ "en-login", "link", "password", "forgot" },
	{ "en-login", "field", "first name", NULL },
	{ "en-login", "field", "date of birth", NULL },
	{ "en-bare", "field", "username", "u" },
	{ "en-bare", "field", "password", "p" },
	{ "en-bare", "button", "login", "go" },
	{ "en-bare", "button", "submit", "go" },
	{ "en-names", "field", "user name", "x1" },
	{ "en-names", "field", "password", "x2" },
	{ "en-names", "field", "postal code", "x3" },
	{ "en-names", "field", "birthday", "x4" },
	{ "en-names", "button", "submit", "x5" },
	{ "zh-login", "field", "\xe7\x94\xa8\xe6\x88\xb7\xe5\x90\x8d", "u" },
	{ "zh-login", "field", "username", "u" },
	{ "zh-login", "field", "\xe5\xaf\x86\xe7\xa0\x81", "p" },
	{ "zh-login", "field",
	    "\xe5\xaf\x86\xe7\xa0\x81\xe8\xbe\x93\xe5\x85\xa5\xe6\xa1\x86",
	    "p" },
	{ "zh-login", "field", "password", "p" },
	{ "zh-login", "field", "\xe9\xaa\x8c\xe8\xaf\x81\xe7\xa0\x81", "c" },
	{ "zh-login", "button", "\xe7\x99\xbb\xe5\xbd\x95", "go" },
	{ "zh-login", "button",
	    "\xe7\x99\xbb\xe5\xbd\x95\xe6\x8c\x89\xe9\x92\xae", "go" },
	{ "zh-login", "button", "login", "go" },
	{ "zh-login", "field", "\xe6\x90\x9c\xe7\xb4\xa2\xe6\xa1\x86", "q" },
	{ "zh-login", "button", "\xe6\x90\x9c\xe7\xb4\xa2", "qgo" },
	{ "zh-login", "field",
	    "\xe8\x87\xaa\xe5\x8a\xa8\xe7\x99\xbb\xe5\xbd\x95", "r" },
	{ "zh-login", "link", "\xe6\xb3\xa8\xe5\x86\x8c", "reg" },
	{ "zh-login", "link",
	    "\xe5\xbf\x98\xe8\xae\xb0\xe5\xaf\x86\xe7\xa0\x81", "forgot" },
	{ "zh-login", "field", "\xe5\x9f\x8e\xe5\xb8\x82", NULL },
	{ "zh-checkout", "field", "\xe6\x94\xb6\xe4\xbb\xb6\xe4\xba\xba", "n" },
	{ "zh-checkout", "field", "\xe5\xa7\x93\xe5\x90\x8d", "n" },
	{ "zh-checkout", "field", "\xe6\x89\x8b\xe6\xa9\x9f", "t" },
	{ "zh-checkout", "field", "phone", "t" },
	{ "zh-checkout", "field", "\xe5\x9c\xb0\xe5\x9d\x80", "a" },
	{ "zh-checkout", "field", "zip code", "z" },
	{ "zh-checkout", "field", "quantity", "qty" },
	{ "zh-checkout", "field", "\xe5\x82\x99\xe8\xa8\xbb", "m" },
	{ "zh-checkout", "button",
	    "\xe6\x8f\x90\xe4\xba\xa4\xe8\xa8\x82\xe5\x96\xae", "go" },
	{ "zh-checkout", "button", "place order", "go" },
	{ "ja-contact", "field", "\xe5\x90\x8d\xe5\x89\x8d", "n" },
	{ "ja-contact", "field",
	    "\xe3\x83\xa1\xe3\x83\xbc\xe3\x83\xab\xe3\x82\xa2\xe3\x83\x89\xe3"
	    "\x83\xac\xe3\x82\xb9",
	    "e" },
	{ "ja-contact", "field", "email", "e" },
	{ "ja-contact", "field",
	    "\xe3\x83\xa1\xe3\x83\xbc\xe3\x83\xab\xe3\x82\xa2\xe3\x83\x89\xe3"
	    "\x83\xac\xe3\x82\xb9 \xe7\xa2\xba\xe8\xaa\x8d",
	    "e2" },
	{ "ja-contact", "field", "\xe9\x9b\xbb\xe8\xa9\xb1", "t" },
	{ "ja-contact", "field", "message", "m" },
	{ "ja-contact", "field", "\xe5\x90\x8c\xe6\x84\x8f", "ok" },
	{ "ja-contact", "button", "\xe7\xa2\xba\xe8\xaa\x8d", "go" },
	{ "ko-login", "field", "\xec\x95\x84\xec\x9d\xb4\xeb\x94\x94", "u" },
	{ "ko-login", "field",
	    "\xeb\xb9\x84\xeb\xb0\x80\xeb\xb2\x88\xed\x98\xb8", "p" },
	{ "ko-login", "button", "\xeb\xa1\x9c\xea\xb7\xb8\xec\x9d\xb8", "go" },
	{ "ko-login", "button", "sign in", "go" },
	{ "ko-login", "link", "register", "reg" },
	{ "de-register", "field", "Vorname", "fn" },
	{ "de-register", "field", "first name", "fn" },
	{ "de-register", "field", "strasse", "st" },
	{ "de-register", "field", "Postleitzahl", "z" },
	{ "de-register", "field", "city", "o" },
	{ "de-register", "field", "email", "e" },
	{ "de-register", "field", "password", "p" },
	{ "de-register", "field", "confirm password", "p2" },
	{ "de-register", "field", "AGB", "agb" },
	{ "de-register", "button", "Registrieren", "go" },
	{ "de-register", "field", "Anrede", "s" },
	{ "fr-search", "field", "depart", "d" },
	{ "fr-search", "field",
	    "arriv\xc3\xa9"
	    "e",
	    "a" },
	{ "fr-search", "field", "date", "j" },
	{ "fr-search", "field", "voyageurs", "v" },
	{ "fr-search", "button", "search", "go" },
	{ "fr-search", "link", "next page", "next" },
	{ "fr-search", "link", "page 2", "p2" },
	{ "es-contact", "field", "nombre", "n" },
	{ "es-contact", "field", "correo", "e" },
	{ "es-contact", "field", "telefono", "t" },
	{ "es-contact", "field", "subject", "s" },
	{ "es-contact", "field", "mensaje", "m" },
	{ "es-contact", "button", "enviar", "go" },
	{ "es-contact", "field", "privacidad", "ok" },
	{ "ru-login", "field", "\xd0\xbb\xd0\xbe\xd0\xb3\xd0\xb8\xd0\xbd",
	    "u" },
	{ "ru-login", "field", "password", "p" },
	{ "ru-login", "button", "\xd0\xb2\xd0\xbe\xd0\xb9\xd1\x82\xd0\xb8",
	    "go" },
	{ "ru-login", "field", "\xd0\xbf\xd0\xbe\xd0\xb8\xd1\x81\xd0\xba",
	    "q" },
	{ "ru-login", "button", "search", "qgo" },
	{ "ar-login", "field", "email", "u" },
	{ "ar-login", "field",
	    "\xd9\x83\xd9\x84\xd9\x85\xd8\xa9 \xd8\xa7\xd9\x84\xd9\x85\xd8\xb1"
	    "\xd9\x88\xd8\xb1",
	    "p" },
	{ "ar-login", "button", "login", "go" },
	{ "he-search", "field", "\xd7\x97\xd7\x99\xd7\xa4\xd7\x95\xd7\xa9",
	    "q" },
	{ "he-search", "button", "add to cart", "add" },
	{ "he-search", "link", "next", "next" },
	{ "pl-shop", "field", "search", "q" },
	{ "pl-shop", "button", "szukaj", "qgo" },
	{ "pl-shop", "field", "ilosc", "n" },
	{ "pl-shop", "button", "add to cart", "add" },
	{ "pl-shop", "button", "load more", "more" },
	{ "pl-shop", "link", "cart", "cart" },
	{ "tr-login", "field", "kullanici adi", "u" },
	{ "tr-login", "field", "sifre", "p" },
	{ "tr-login", "button", "giri\xc5\x9f yap", "go" },
	{ "pager", "link", "next", "next" },
	{ "pager", "link", "next page", "next" },
	{ "pager", "link", "\xe4\xb8\x8b\xe4\xb8\x80\xe9\xa1\xb5", "next" },
	{ "pager", "link", "previous page", "prev" },
	{ "pager", "link", "page 3", "p3" },
	{ "pager", "button", "load more", "more" },
	{ "pager-off", "button", "next page", "next" },
	{ "pager-off", "button", "previous", "prev" },
	{ "icons", "button", "menu", "menu" },
	{ "icons", "button", "search", "s" },
	{ "icons", "button", "close", "x" },
	{ "icons", "button", "settings", "cog" },
	{ "icons", "button", "delete", "trash" },
	{ "icons", "button", "profile", "user" },
	{ "icons", "button", "add item", "plus" },
	{ "icons", "button", "print", NULL },
	{ "shadow", "field", "coupon", "coupon" },
	{ "shadow", "button", "apply", "apply" },
	{ "shadow", "field", "card number", "card" },
	{ "shadow", "button", "pay", "pay" },
	{ "twins", "field", "email", "e" },
	{ "twins", "field", "phone", "t" },
	{ "twins", "button", "send", "b2" },
	{ "twins", "button", "delete account", "l2" },
	{ "twins", "link", "documentation", "docs" },
	{ "twins", "link", "api documentation", "docs2" },
	{ "twins", "any", "delete draft", "l1" },
	{ "material", "field", "first name", "fn" },
	{ "material", "field", "surname", "ln" },
	{ "material", "field", "country", "country" },
	{ "material", "field", "company", "co" },
	{ "material", "field", "about yourself", "bio" },
	{ "material", "field", "notifications", "sw" },
	{ "material", "button", "save", "save" },
	{ "material", "button", "delete", NULL },
};

/* The id of what is found, "" for nothing. */
static void
find(
    struct page *p, const char *kind, const char *query, char *ret, size_t size)
{
	struct page_act_options o = { 0 };
	const char *id;
	char args[256];

	o.args_len = (size_t)snprintf(args, sizeof(args),
	    "{\"locator\":{\"mode\":\"semantic\",\"kind\":\"%s\","
	    "\"query\":\"%s\"}}",
	    kind, query);
	o.args = args;
	*ret = '\0';
	if (!page_act(p, PAGE_ACT_FIND, &o, visit_on_result, NULL))
		return;
	visit_wait();
	if (visit.status != PAGE_OK) {
		strlcpy(ret, visit.message, size);
		return;
	}
	id = strstr(visit.json, "\"id\":\"");
	if (id != NULL)
		snprintf(ret, size, "%.*s", (int)strcspn(id + 6, "\""), id + 6);
	else if (strcmp(visit.json, "null") != 0)
		strlcpy(ret, "an element without id", size);
}

static void
test_table(struct page *p)
{
	const char *shown = "", *want;
	size_t n = sizeof(rows) / sizeof(rows[0]), good = 0, pages = 0;
	char path[64], got[256];

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].page, shown) != 0) {
			shown = rows[i].page;
			pages++;
			snprintf(path, sizeof(path), "/%s", shown);
			is_int(visit_go(p, path, 0), PAGE_OK, shown);
		}
		want = rows[i].id != NULL ? rows[i].id : "";
		find(p, rows[i].kind, rows[i].query, got, sizeof(got));
		if (strcmp(got, want) == 0)
			good++;
		else
			printf("# %s: %s %s is '%s', not '%s'\n", shown,
			    rows[i].kind, rows[i].query, got, want);
	}
	printf("# %zu of %zu questions on %zu pages\n", good, n, pages);
	ok(good * 100 >= n * SCORE_MIN, "at least %d %% are answered rightly",
	    SCORE_MIN);
}

int
main(void)
{
	const char *src = getenv("srcdir"), *why = "";
	char pages[512];
	struct page *p;

	snprintf(pages, sizeof(pages), "%s/t/pageact", src != NULL ? src : ".");
	if (!visit_start(LIVE_DRAWN, pages, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	p = visit_open();
	ok(p != NULL, "a tab opens");
	if (p != NULL)
		test_table(p);
	visit_end();
	return done_testing();
}
