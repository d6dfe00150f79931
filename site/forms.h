/*
 * forms: the paths that take what a form sends: logins, an echo, lists of
 * several pages.
 */
#ifndef SITE_FORMS_H
#define SITE_FORMS_H

#include "site/behave.h"

/*
 * The first of two steps (user), a login (user, password; api: no page), what
 * only members see, the end of it. A password is right if it ends with the
 * user's name, so that tests can make up both.
 */
behave_fn behave_user, behave_login, behave_member, behave_logout;
/* Tells all that was sent. */
behave_fn behave_echo;
/* Page ?page= of ?of= pages of a list, with a way to the next. */
behave_fn behave_list;

#endif
