# cdp/: the DevTools protocol over pipes; the only reader of browser messages.
noinst_LIBRARIES += cdp/libcdp.a
cdp_libcdp_a_SOURCES = \
	cdp/cdp.c \
	cdp/cdp.h \
	cdp/envelope.c \
	cdp/envelope.h \
	cdp/events.def \
	cdp/pipe.c \
	cdp/pipe.h \
	cdp/route.c \
	cdp/route.h

check_PROGRAMS += t/unit/cdp_test
t_unit_cdp_test_SOURCES = t/unit/cdp_test.c t/unit/tap.h
t_unit_cdp_test_LDADD = cdp/libcdp.a json/libjson.a common/libcommon.a \
	$(EVENT_LIBS) $(BSD_LIBS)
TESTS += t/unit/cdp_test

check_PROGRAMS += t/unit/cdp_resync_test
t_unit_cdp_resync_test_SOURCES = t/unit/cdp_resync_test.c t/unit/tap.h
t_unit_cdp_resync_test_LDADD = cdp/libcdp.a json/libjson.a \
	common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)
TESTS += t/unit/cdp_resync_test

check_PROGRAMS += t/unit/cdp_split_test
t_unit_cdp_split_test_SOURCES = t/unit/cdp_split_test.c t/unit/tap.h
t_unit_cdp_split_test_LDADD = cdp/libcdp.a json/libjson.a \
	common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)
TESTS += t/unit/cdp_split_test
