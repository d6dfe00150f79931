# storage/: the durable store of supervisord, which alone links it.
noinst_LIBRARIES += storage/libstorage.a
storage_libstorage_a_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
storage_libstorage_a_SOURCES = \
	storage/artifact.h \
	storage/codec.c \
	storage/codec.h \
	storage/commit.c \
	storage/crc32c.c \
	storage/crc32c.h \
	storage/event.h \
	storage/idem.c \
	storage/idem.h \
	storage/journal.h \
	storage/run.c \
	storage/run.h \
	storage/run_index.c \
	storage/run_index.h \
	storage/run_list.c \
	storage/space.c \
	storage/spool.h \
	storage/store.c \
	storage/store.h \
	storage/store_impl.h \
	storage/sweep.h \
	storage/tables.def \
	storage/txn.c \
	storage/txn.h
