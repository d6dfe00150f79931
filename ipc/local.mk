# ipc/: messages between supervisor, workers and clients, and the MessagePack
# helpers that stored records share.
noinst_LIBRARIES += ipc/libipc.a
ipc_libipc_a_SOURCES = \
	ipc/chan.h \
	ipc/mp.h \
	ipc/msg.def \
	ipc/msg.h \
	ipc/scan.h
