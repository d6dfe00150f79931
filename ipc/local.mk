# ipc/: messages between supervisor, workers and clients, and the MessagePack
# helpers that stored records share.
noinst_LIBRARIES += ipc/libipc.a
ipc_libipc_a_SOURCES = \
	ipc/chan.c \
	ipc/chan.h \
	ipc/chan_impl.h \
	ipc/chan_packet.c \
	ipc/chan_stream.c \
	ipc/decode.c \
	ipc/encode.c \
	ipc/head.c \
	ipc/head.h \
	ipc/mp.c \
	ipc/mp.h \
	ipc/msg.c \
	ipc/msg.def \
	ipc/msg.h \
	ipc/scan.c \
	ipc/scan.h

check_PROGRAMS += t/unit/ipc_chan_test
t_unit_ipc_chan_test_SOURCES = t/unit/ipc_chan_test.c t/unit/tap.h
t_unit_ipc_chan_test_LDADD = ipc/libipc.a common/libcommon.a $(EVENT_LIBS) \
	$(BSD_LIBS)
TESTS += t/unit/ipc_chan_test

check_PROGRAMS += t/unit/ipc_msg_test
t_unit_ipc_msg_test_SOURCES = t/unit/ipc_msg_test.c t/unit/tap.h
t_unit_ipc_msg_test_LDADD = ipc/libipc.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/ipc_msg_test

check_PROGRAMS += t/unit/ipc_mp_test
t_unit_ipc_mp_test_SOURCES = t/unit/ipc_mp_test.c t/unit/tap.h
t_unit_ipc_mp_test_LDADD = ipc/libipc.a json/libjson.a common/libcommon.a \
	$(MSGPACK_LIBS) $(BSD_LIBS)
TESTS += t/unit/ipc_mp_test

check_PROGRAMS += t/unit/ipc_split_test
t_unit_ipc_split_test_SOURCES = \
	t/fuzz/ipc_sample.c \
	t/fuzz/ipc_sample.h \
	t/unit/ipc_split_test.c \
	t/unit/tap.h
t_unit_ipc_split_test_LDADD = ipc/libipc.a common/libcommon.a $(EVENT_LIBS) \
	$(BSD_LIBS)
TESTS += t/unit/ipc_split_test
