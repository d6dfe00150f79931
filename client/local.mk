# client/: the client side of the control protocol, for programs that people
# and agents start.
noinst_LIBRARIES += client/libclient.a
client_libclient_a_SOURCES = \
	client/client.c \
	client/client.h \
	client/dial.c \
	client/dial.h \
	client/place.c

check_PROGRAMS += t/unit/client_test
t_unit_client_test_SOURCES = t/unit/client_test.c t/unit/tap.h
t_unit_client_test_LDADD = client/libclient.a ipc/libipc.a \
	common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)
TESTS += t/unit/client_test
