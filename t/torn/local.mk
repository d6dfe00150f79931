# t/torn/: what a power cut leaves of a store's files.
check_PROGRAMS += t/torn/torn_test
t_torn_torn_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_torn_torn_test_SOURCES = \
	t/torn/disk.h \
	t/torn/image.c \
	t/torn/oracle.c \
	t/torn/oracle.h \
	t/torn/record.c \
	t/torn/store.c \
	t/torn/torn_test.c \
	t/torn/work.c \
	t/torn/work.h \
	t/unit/size.h \
	t/unit/storage_fixture.h \
	t/unit/tap.h
t_torn_torn_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/torn/torn_test
