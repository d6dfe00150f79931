# page/: tabs, navigation, extraction; and the scripts that run inside pages.
noinst_LIBRARIES += page/libpage.a
page_libpage_a_SOURCES = \
	page/act.c \
	page/act.h \
	page/act_events.c \
	page/acting.h \
	page/begin.c \
	page/browser.c \
	page/browser.h \
	page/cookies.c \
	page/cookies.h \
	page/device.c \
	page/device.h \
	page/dialog.c \
	page/excuse.c \
	page/flight.c \
	page/frames.c \
	page/hands.c \
	page/input.c \
	page/keys.def \
	page/navigate.c \
	page/openers.c \
	page/neterrors.def \
	page/origins.c \
	page/page.c \
	page/page.h \
	page/priv.h \
	page/recover.c \
	page/scheme.c \
	page/script.c \
	page/shot.c \
	page/scripts.def \
	page/scripts.h \
	page/stable.c \
	page/stage.c \
	page/state.h \
	page/state_load.c \
	page/state_save.c \
	page/status.c \
	page/takeover.c
nodist_page_libpage_a_SOURCES = page/scripts.c

PAGE_JS = \
	page/act.js \
	page/choose.js \
	page/common.js \
	page/consent.js \
	page/concepts.js \
	page/content.js \
	page/files.js \
	page/fill.js \
	page/groups.js \
	page/list.js \
	page/locate.js \
	page/pageinfo.js \
	page/pagetype.js \
	page/pending.js \
	page/reach.js \
	page/reader.js \
	page/results.js \
	page/shot.js \
	page/signs.js \
	page/stable.js \
	page/text.js \
	page/undrawn.js \
	page/walk.js \
	page/words.js
EXTRA_DIST += $(PAGE_JS) page/embed.sh page/package.json \
	page/package-lock.json
CLEANFILES += page/scripts.c

# Mozilla's Readability: a file named at configure, else the copy a release
# carries in page/vendor, else the pinned package. Without any of them the
# program is built without it (and says so when it is asked for).
page/readability.stamp: page/readability.sh page/package-lock.json
	$(AM_V_GEN)$(MKDIR_P) page && NPM='$(NPM)' \
	    $(SHELL) $(srcdir)/page/readability.sh '$(srcdir)' page \
	    '$(READABILITY_JS)' && touch $@
EXTRA_DIST += page/readability.sh
CLEANFILES += page/readability.stamp page/Readability.js page/LICENSE.md

page/scripts.c: $(PAGE_JS) page/embed.sh page/readability.stamp
	$(AM_V_GEN)$(SHELL) $(srcdir)/page/embed.sh \
	    act=$(srcdir)/page/act.js \
	    choose=$(srcdir)/page/choose.js \
	    common=$(srcdir)/page/common.js \
	    consent=$(srcdir)/page/consent.js \
	    concepts=$(srcdir)/page/concepts.js \
	    files=$(srcdir)/page/files.js \
	    fill=$(srcdir)/page/fill.js \
	    groups=$(srcdir)/page/groups.js \
	    list=$(srcdir)/page/list.js \
	    locate=$(srcdir)/page/locate.js \
	    words=$(srcdir)/page/words.js \
	    reach=$(srcdir)/page/reach.js \
	    text=$(srcdir)/page/text.js \
	    walk=$(srcdir)/page/walk.js \
	    content=$(srcdir)/page/content.js \
	    pageinfo=$(srcdir)/page/pageinfo.js \
	    pagetype=$(srcdir)/page/pagetype.js \
	    pending=$(srcdir)/page/pending.js \
	    reader=$(srcdir)/page/reader.js \
	    results=$(srcdir)/page/results.js \
	    shot=$(srcdir)/page/shot.js \
	    signs=$(srcdir)/page/signs.js \
	    stable=$(srcdir)/page/stable.js \
	    undrawn=$(srcdir)/page/undrawn.js \
	    readability:=page/Readability.js >$@.tmp && mv $@.tmp $@

# A release carries the library and its licence.
dist-hook: dist-page-vendor
dist-page-vendor: page/readability.stamp
	$(MKDIR_P) $(distdir)/page/vendor
	cp page/Readability.js page/LICENSE.md $(distdir)/page/vendor/

# With the real browser and the demo site; skipped when there is no browser.
check_PROGRAMS += t/scenario/page_test
t_scenario_page_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/page_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_page_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_page_test_LDADD = $(PAGE_TEST_LIBS)
PAGE_TEST_LIBS = page/libpage.a cdp/libcdp.a json/libjson.a model/libmodel.a \
	common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)
TESTS += t/scenario/page_test

check_PROGRAMS += t/scenario/pagefetch_test
t_scenario_pagefetch_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagefetch_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagefetch_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagefetch_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagefetch_test

check_PROGRAMS += t/scenario/pageframe_test
t_scenario_pageframe_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pageframe_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pageframe_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pageframe_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pageframe_test

check_PROGRAMS += t/scenario/pageread_test
t_scenario_pageread_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pageread_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pageread_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pageread_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pageread_test

check_PROGRAMS += t/scenario/pagefull_test
t_scenario_pagefull_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagefull_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagefull_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagefull_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagefull_test

check_PROGRAMS += t/scenario/pagetype_test
t_scenario_pagetype_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagetype_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagetype_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagetype_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagetype_test
EXTRA_DIST += t/pagetype

check_PROGRAMS += t/scenario/pagekind_test
t_scenario_pagekind_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagekind_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagekind_test_CPPFLAGS = $(AM_CPPFLAGS) $(EVHTTP_CFLAGS) \
	-I$(top_srcdir)/t/scenario
t_scenario_pagekind_test_LDADD = $(PAGE_TEST_LIBS) $(EVHTTP_LIBS)
TESTS += t/scenario/pagekind_test
EXTRA_DIST += t/data

check_PROGRAMS += t/scenario/pageapps_test
t_scenario_pageapps_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pageapps_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pageapps_test_CPPFLAGS = $(AM_CPPFLAGS) $(EVHTTP_CFLAGS) \
	-I$(top_srcdir)/t/scenario
t_scenario_pageapps_test_LDADD = $(PAGE_TEST_LIBS) $(EVHTTP_LIBS)
TESTS += t/scenario/pageapps_test

check_PROGRAMS += t/scenario/pageax_test
t_scenario_pageax_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pageax_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pageax_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pageax_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pageax_test

check_PROGRAMS += t/scenario/readability_test
t_scenario_readability_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/readability_test.c \
	t/unit/tap.h
t_scenario_readability_test_CPPFLAGS = $(AM_CPPFLAGS) $(EVHTTP_CFLAGS) \
	-I$(top_srcdir)/t/scenario
t_scenario_readability_test_LDADD = $(PAGE_TEST_LIBS) $(EVHTTP_LIBS)
TESTS += t/scenario/readability_test

check_PROGRAMS += t/scenario/takeover_test
t_scenario_takeover_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/takeover_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_takeover_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_takeover_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/takeover_test

check_PROGRAMS += t/scenario/state_test
t_scenario_state_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/state_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_state_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_state_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/state_test

check_PROGRAMS += t/scenario/pageact_test
t_scenario_pageact_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pageact_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pageact_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pageact_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pageact_test
EXTRA_DIST += t/pageact

check_PROGRAMS += t/scenario/pagefill_test
t_scenario_pagefill_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagefill_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagefill_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagefill_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagefill_test

check_PROGRAMS += t/scenario/pagefind_test
t_scenario_pagefind_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagefind_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagefind_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagefind_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagefind_test

check_PROGRAMS += t/scenario/pagehostile_test
t_scenario_pagehostile_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagehostile_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagehostile_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagehostile_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagehostile_test

check_PROGRAMS += t/scenario/pagescheme_test
t_scenario_pagescheme_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pagescheme_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pagescheme_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pagescheme_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pagescheme_test

check_PROGRAMS += t/scenario/pageframes_test
t_scenario_pageframes_test_SOURCES = \
	cell/flags.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/scenario/pageframes_test.c \
	t/scenario/visit.c \
	t/scenario/visit.h \
	t/unit/tap.h
t_scenario_pageframes_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_pageframes_test_LDADD = $(PAGE_TEST_LIBS)
TESTS += t/scenario/pageframes_test
EXTRA_DIST += t/pageframes
