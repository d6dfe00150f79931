# confine/: what programs give up. The one place that knows libseccomp.
noinst_LIBRARIES += confine/libconfine.a
confine_libconfine_a_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
confine_libconfine_a_SOURCES = \
	confine/confine.h \
	confine/filter.c \
	confine/limits.c \
	confine/paths.c \
	confine/rows.h \
	confine/trap.c \
	confine/trap.h

# What a program that confines itself links, before libcommon.a.
CONFINE_LIBS = confine/libconfine.a $(SECCOMP_LIBS)

check_PROGRAMS += t/unit/confine_test
t_unit_confine_test_SOURCES = t/unit/confine_test.c t/unit/tap.h
t_unit_confine_test_LDADD = $(CONFINE_LIBS) common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/confine_test
