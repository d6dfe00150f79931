# egressd/: the only way of browsers to the network. Its parts are a library, so
# that the pure ones can be tested by themselves.
noinst_LIBRARIES += egressd/libegressd.a
egressd_libegressd_a_CPPFLAGS = $(AM_CPPFLAGS) $(CARES_CFLAGS)
egressd_libegressd_a_SOURCES = \
	egressd/address.c \
	egressd/address.h \
	egressd/calls.def \
	egressd/cells.c \
	egressd/cells.h \
	egressd/cells_int.h \
	egressd/confine.c \
	egressd/confine.h \
	egressd/conn.c \
	egressd/conn.h \
	egressd/conn_ask.c \
	egressd/conn_int.h \
	egressd/dial.c \
	egressd/dial.h \
	egressd/egress.h \
	egressd/host.c \
	egressd/host.h \
	egressd/judge.c \
	egressd/judge.h \
	egressd/known.c \
	egressd/known.h \
	egressd/launchlink.c \
	egressd/launchlink.h \
	egressd/link.c \
	egressd/link.h \
	egressd/own.c \
	egressd/own.h \
	egressd/relay.c \
	egressd/relay.h \
	egressd/reports.c \
	egressd/reports.h \
	egressd/resolve.c \
	egressd/resolve.h \
	egressd/setup.c \
	egressd/setup.h \
	egressd/socks.c \
	egressd/socks.h \
	egressd/tunnel.c \
	egressd/upstream.c \
	egressd/upstream.h \
	egressd/upstream_int.h

pkglibexec_PROGRAMS += egressd/egressd
egressd_egressd_SOURCES = egressd/main.c egressd/times.c
egressd_egressd_LDADD = egressd/libegressd.a ipc/libipc.a launch/liblaunch.a \
	model/libmodel.a common/libcommon.a $(CONFINE_LIBS) \
	$(EVENT_LIBS) $(CARES_LIBS) $(MSGPACK_LIBS) $(BSD_LIBS)

# egressd for tests: it does not wait as long for anything.
check_PROGRAMS += t/egress/hasty t/egress/drive
t_egress_hasty_SOURCES = egressd/main.c t/egress/hasty.c
t_egress_hasty_LDADD = $(egressd_egressd_LDADD)
t_egress_drive_SOURCES = t/egress/drive.c
t_egress_drive_LDADD = ipc/libipc.a launch/liblaunch.a model/libmodel.a \
	common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)

check_PROGRAMS += t/unit/egress_address_test
t_unit_egress_address_test_SOURCES = t/unit/egress_address_test.c t/unit/tap.h
t_unit_egress_address_test_LDADD = egressd/libegressd.a model/libmodel.a \
	common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/egress_address_test

check_PROGRAMS += t/unit/egress_socks_test
t_unit_egress_socks_test_SOURCES = t/unit/egress_socks_test.c t/unit/tap.h
t_unit_egress_socks_test_LDADD = egressd/libegressd.a model/libmodel.a \
	common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/egress_socks_test

# In a network namespace of their own.
dist_check_SCRIPTS += t/egress/carried.t t/egress/judged.t \
	t/egress/names.t t/egress/upstream.t
TESTS += t/egress/carried.t t/egress/judged.t \
	t/egress/names.t t/egress/upstream.t
EXTRA_DIST += t/lib/BrowserTask/Aside.pm \
	t/lib/BrowserTask/Dns.pm t/lib/BrowserTask/Egress.pm
