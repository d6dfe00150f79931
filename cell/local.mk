# cell/: PID 1 of a compartment.
pkglibexec_PROGRAMS += cell/cell
cell_cell_SOURCES = \
	cell/browser_calls.def \
	cell/calls.def \
	cell/caps.c \
	cell/caps.h \
	cell/confine.c \
	cell/confine.h \
	cell/fds.h \
	cell/feed.c \
	cell/feed.h \
	cell/flags.c \
	cell/flags.h \
	cell/keep_calls.def \
	cell/ledger.c \
	cell/ledger.h \
	cell/main.c \
	cell/meter.c \
	cell/meter.h \
	cell/proc.c \
	cell/proc.h \
	cell/relief.c \
	cell/relief.h \
	cell/sandbox.c \
	cell/sandbox.h \
	cell/start.c \
	cell/start.h \
	cell/tree.c \
	cell/tree.h
cell_cell_LDADD = $(CONFINE_LIBS) launch/liblaunch.a common/libcommon.a $(BSD_LIBS)

check_PROGRAMS += t/unit/cell_test
t_unit_cell_test_SOURCES = \
	cell/flags.c \
	cell/ledger.c \
	cell/meter.c \
	cell/proc.c \
	cell/sandbox.c \
	cell/tree.c \
	t/unit/cell_test.c \
	t/unit/tap.h
t_unit_cell_test_LDADD = launch/liblaunch.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/cell_test
