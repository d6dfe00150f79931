# launch/: the protocol between supervisord, the launcher and the cells.
noinst_LIBRARIES += launch/liblaunch.a
launch_liblaunch_a_SOURCES = \
	launch/launch.c \
	launch/launch.def \
	launch/launch.h

check_PROGRAMS += t/unit/launch_test
t_unit_launch_test_SOURCES = t/unit/launch_test.c t/unit/tap.h
t_unit_launch_test_LDADD = launch/liblaunch.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/launch_test
