# common/: what every program needs and nothing else: no peers, no policy.
noinst_LIBRARIES += common/libcommon.a
common_libcommon_a_SOURCES = \
	common/base64.c \
	common/base64.h \
	common/buf.c \
	common/buf.h \
	common/cgroup.c \
	common/cgroup.h \
	common/clock.c \
	common/clock.h \
	common/crashpoint.def \
	common/crashpoint.h \
	common/distance.c \
	common/distance.h \
	common/fdio.c \
	common/fdio.h \
	common/log.c \
	common/log.h \
	common/loop.c \
	common/loop.h \
	common/panic.c \
	common/panic.h \
	common/secretname.c \
	common/recordfile.h \
	common/secretname.h \
	common/timers.c \
	common/timers.h \
	common/ulid.c \
	common/ulid.h

check_PROGRAMS += t/unit/common_test
t_unit_common_test_SOURCES = t/unit/common_test.c t/unit/tap.h
t_unit_common_test_LDADD = common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/common_test
