# storage/: the durable store of supervisord, which alone links it.
noinst_LIBRARIES += storage/libstorage.a
storage_libstorage_a_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
storage_libstorage_a_SOURCES = \
	storage/artifact.c \
	storage/artifact.h \
	storage/artifact_file.c \
	storage/artifact_held.c \
	storage/artifact_held.h \
	storage/artifact_sums.c \
	storage/artifact_sums.h \
	storage/audit.c \
	storage/audit.h \
	storage/audit_check.c \
	storage/audit_trim.c \
	storage/backup.c \
	storage/backup.h \
	storage/backup_int.h \
	storage/backup_spool.c \
	storage/check.c \
	storage/check.h \
	storage/check_files.c \
	storage/check_int.h \
	storage/check_pages.c \
	storage/check_rows.c \
	storage/check_runs.c \
	storage/codec.c \
	storage/codec.h \
	storage/commit.c \
	storage/committer.c \
	storage/committer.h \
	storage/crc32c.c \
	storage/crc32c.h \
	storage/event.c \
	storage/event.h \
	storage/idem.c \
	storage/idem.h \
	storage/journal.c \
	storage/journal.h \
	storage/meta.c \
	storage/purge.c \
	storage/read.c \
	storage/records.c \
	storage/records_read.c \
	storage/restore.c \
	storage/run.c \
	storage/run.h \
	storage/run_index.c \
	storage/run_index.h \
	storage/run_list.c \
	storage/session.c \
	storage/session.h \
	storage/session_state.c \
	storage/space.c \
	storage/spool.c \
	storage/spool.h \
	storage/store.c \
	storage/store.h \
	storage/store_impl.h \
	storage/sweep.c \
	storage/sweep.h \
	storage/tables.def \
	storage/trim.c \
	storage/txn.c \
	storage/txn.h

STORAGE_TEST_LIBS = storage/libstorage.a model/libmodel.a ipc/libipc.a \
	common/libcommon.a $(LMDB_LIBS) $(NETTLE_LIBS) $(BSD_LIBS)

check_PROGRAMS += t/unit/storage_commit_test
t_unit_storage_commit_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_commit_test_SOURCES = t/unit/storage_commit_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_commit_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_commit_test

check_PROGRAMS += t/unit/storage_committer_test
t_unit_storage_committer_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_committer_test_SOURCES = t/unit/storage_committer_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_committer_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_committer_test

check_PROGRAMS += t/unit/storage_run_test
t_unit_storage_run_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_run_test_SOURCES = t/unit/storage_run_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_run_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_run_test

check_PROGRAMS += t/unit/storage_full_test
t_unit_storage_full_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_full_test_SOURCES = t/unit/storage_full_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_full_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_full_test

check_PROGRAMS += t/unit/storage_log_test
t_unit_storage_log_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_log_test_SOURCES = t/unit/storage_log_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_log_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_log_test

check_PROGRAMS += t/unit/storage_action_test
t_unit_storage_action_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_action_test_SOURCES = t/unit/storage_action_test.c \
	t/unit/size.h t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_action_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_action_test

check_PROGRAMS += t/unit/storage_keep_test
t_unit_storage_keep_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_keep_test_SOURCES = t/unit/storage_keep_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_keep_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_keep_test

check_PROGRAMS += t/unit/storage_file_test
t_unit_storage_file_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_file_test_SOURCES = t/unit/storage_file_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_file_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_file_test

check_PROGRAMS += t/unit/storage_crash_test
t_unit_storage_crash_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_crash_test_SOURCES = t/unit/storage_crash_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_crash_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_crash_test

check_PROGRAMS += t/unit/storage_fault_test
t_unit_storage_fault_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_fault_test_SOURCES = t/unit/storage_fault_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_fault_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_fault_test

check_PROGRAMS += t/unit/storage_session_test
t_unit_storage_session_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_session_test_SOURCES = t/unit/storage_session_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_session_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_session_test

check_PROGRAMS += t/unit/storage_audit_test
t_unit_storage_audit_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_audit_test_SOURCES = t/unit/storage_audit_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_audit_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_audit_test

check_PROGRAMS += t/unit/storage_check_test
t_unit_storage_check_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_check_test_SOURCES = t/unit/storage_check_test.c \
	t/unit/storage_rest.h t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_check_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_check_test

check_PROGRAMS += t/unit/storage_pages_test
t_unit_storage_pages_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_pages_test_SOURCES = t/unit/storage_pages_test.c \
	t/unit/storage_pages.h t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_pages_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_pages_test

check_PROGRAMS += t/unit/storage_flip_test
t_unit_storage_flip_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_flip_test_SOURCES = t/unit/storage_flip_test.c t/unit/size.h \
	t/unit/storage_rest.h t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_flip_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_flip_test

check_PROGRAMS += t/unit/storage_backup_test
t_unit_storage_backup_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_backup_test_SOURCES = t/unit/storage_backup_test.c \
	t/unit/size.h t/unit/storage_rest.h t/unit/storage_fixture.h \
	t/unit/tap.h
t_unit_storage_backup_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_backup_test

check_PROGRAMS += t/unit/storage_upgrade_test
t_unit_storage_upgrade_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_storage_upgrade_test_SOURCES = t/unit/storage_upgrade_test.c \
	t/unit/storage_old.h t/unit/storage_fixture.h t/unit/tap.h
t_unit_storage_upgrade_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_upgrade_test
