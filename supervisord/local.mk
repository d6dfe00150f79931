# supervisord/: the run table and all decisions. Its parts are a library, so
# that the pure ones can be tested by themselves.
noinst_LIBRARIES += supervisord/libsupervisord.a
supervisord_libsupervisord_a_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS) \
	$(PCRE2_CFLAGS) $(IDN2_CFLAGS)
supervisord_libsupervisord_a_SOURCES = \
	supervisord/adopt.c \
	supervisord/adopt.h \
	supervisord/artcheck.c \
	supervisord/artcheck.h \
	supervisord/assembly.c \
	supervisord/assembly.h \
	supervisord/auditcall.c \
	supervisord/auditcall.h \
	supervisord/auditcheck.c \
	supervisord/auditcheck.h \
	supervisord/auditlog.c \
	supervisord/auditlog.h \
	supervisord/begin.c \
	supervisord/begin.h \
	supervisord/cancel.c \
	supervisord/cancel.h \
	supervisord/celllog.c \
	supervisord/celllog.h \
	supervisord/cells.c \
	supervisord/cells.h \
	supervisord/change.c \
	supervisord/change.h \
	supervisord/check.c \
	supervisord/check.h \
	supervisord/client.c \
	supervisord/client.h \
	supervisord/calls.def \
	supervisord/client_int.h \
	supervisord/confine.c \
	supervisord/confine.h \
	supervisord/describe.c \
	supervisord/describe.h \
	supervisord/doors.c \
	supervisord/domains.c \
	supervisord/domains.h \
	supervisord/named.c \
	supervisord/named.h \
	supervisord/drain.c \
	supervisord/drain.h \
	supervisord/egress.c \
	supervisord/egress.h \
	supervisord/envelope.c \
	supervisord/envelope.h \
	supervisord/feed.c \
	supervisord/feed.h \
	supervisord/inputs.c \
	supervisord/inputs.h \
	supervisord/inspect.c \
	supervisord/inspect.h \
	supervisord/inspect_wire.c \
	supervisord/inspect_wire.h \
	supervisord/inspectcall.c \
	supervisord/inspectcall.h \
	supervisord/intake.c \
	supervisord/intake.h \
	supervisord/intake_artifacts.c \
	supervisord/intake_end.c \
	supervisord/intake_int.h \
	supervisord/intake_items.c \
	supervisord/intake_state.c \
	supervisord/limits.c \
	supervisord/limits.h \
	supervisord/lines.c \
	supervisord/lines.h \
	supervisord/link.c \
	supervisord/link.h \
	supervisord/link_int.h \
	supervisord/link_orders.c \
	supervisord/metacheck.c \
	supervisord/metacheck.h \
	supervisord/methods.c \
	supervisord/noted.c \
	supervisord/noted.h \
	supervisord/options.c \
	supervisord/options.h \
	supervisord/order.c \
	supervisord/order.h \
	supervisord/outcome.c \
	supervisord/outcome.h \
	supervisord/peer.c \
	supervisord/peer.h \
	supervisord/profile.c \
	supervisord/protected.c \
	supervisord/protected.h \
	supervisord/profile.h \
	supervisord/query.c \
	supervisord/query.h \
	supervisord/readart.c \
	supervisord/shorten.c \
	supervisord/shorten.h \
	supervisord/readart.h \
	supervisord/recover.c \
	supervisord/recover.h \
	supervisord/registry.c \
	supervisord/registry.h \
	supervisord/reload.c \
	supervisord/reload.h \
	supervisord/reply.c \
	supervisord/reply.h \
	supervisord/restart.c \
	supervisord/restart.h \
	supervisord/runjson.c \
	supervisord/runjson.h \
	supervisord/sched.c \
	supervisord/sched.h \
	supervisord/secrets.c \
	supervisord/secrets.h \
	supervisord/session.c \
	supervisord/session.h \
	supervisord/session_bound.c \
	supervisord/session_call.c \
	supervisord/session_call.h \
	supervisord/share.c \
	supervisord/share.h \
	supervisord/fair.c \
	supervisord/fair.h \
	supervisord/runlist.c \
	supervisord/runlist.h \
	supervisord/shares.def \
	supervisord/spares.c \
	supervisord/spares.h \
	supervisord/steps.c \
	supervisord/steps.h \
	supervisord/submit.c \
	supervisord/submit_answer.c \
	supervisord/submit_answer.h \
	supervisord/submit.h \
	supervisord/sup.h \
	supervisord/idle.c \
	supervisord/idle.h \
	supervisord/sweep.c \
	supervisord/sweep.h \
	supervisord/task.c \
	supervisord/task.h \
	supervisord/task_adopt.c \
	supervisord/task_egress.c \
	supervisord/task_int.h \
	supervisord/task_start.c \
	supervisord/taskresult.c \
	supervisord/taskresult.h \
	supervisord/tasks.c \
	supervisord/turn.c \
	supervisord/turn.h \
	supervisord/verdict.c \
	supervisord/verdict.h \
	supervisord/waiters.c \
	supervisord/waiters.h \
	supervisord/watch.c \
	supervisord/watch.h \
	supervisord/worker.c \
	supervisord/worker.h \
	supervisord/worker_secrets.c \
	supervisord/worker_int.h \
	supervisord/worker_table.c

pkglibexec_PROGRAMS += supervisord/supervisord
supervisord_supervisord_SOURCES = supervisord/main.c
supervisord_supervisord_LDADD = supervisord/libsupervisord.a \
	storage/libstorage.a ipc/libipc.a json/libschema.a json/libjson.a launch/liblaunch.a \
	model/libmodel.a $(CONFINE_LIBS) common/libcommon.a $(EVENT_LIBS) \
	$(MSGPACK_LIBS) $(LMDB_LIBS) $(NETTLE_LIBS) $(PCRE2_LIBS) $(IDN2_LIBS) $(BSD_LIBS)

# supervisord, but tests set its clock.
check_PROGRAMS += t/scenario/clocked
t_scenario_clocked_SOURCES = supervisord/main.c t/scenario/clocked.c
t_scenario_clocked_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_stamp_ms \
	-Wl,--wrap=clock_gettime
t_scenario_clocked_LDADD = $(supervisord_supervisord_LDADD)

# supervisord for tests of what a crash loses: it ends where it is told, and its
# clock can be set. The sources with crash points are compiled once more; all
# else is that of the program.
SUPERVISORD_POINTS = \
	storage/artifact_file.c \
	storage/commit.c \
	storage/purge.c \
	storage/session_state.c \
	storage/spool.c \
	storage/store.c \
	supervisord/adopt.c \
	supervisord/assembly.c \
	supervisord/begin.c \
	supervisord/change.c \
	supervisord/client.c \
	supervisord/drain.c \
	supervisord/intake.c \
	supervisord/intake_end.c \
	supervisord/link.c \
	supervisord/main.c \
	supervisord/recover.c \
	supervisord/restart.c \
	supervisord/session_call.c \
	supervisord/submit.c \
	supervisord/task.c \
	supervisord/task_adopt.c \
	supervisord/task_start.c \
	supervisord/worker.c
check_PROGRAMS += supervisord/supervisord-test
supervisord_supervisord_test_CPPFLAGS = $(AM_CPPFLAGS) -DCRASH_POINTS \
	$(LMDB_CFLAGS) $(PCRE2_CFLAGS) $(IDN2_CFLAGS)
supervisord_supervisord_test_SOURCES = $(SUPERVISORD_POINTS) \
	supervisord/confine.c t/scenario/clocked.c t/scenario/crashing.c
supervisord_supervisord_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_stamp_ms \
	-Wl,--wrap=clock_gettime
supervisord_supervisord_test_LDADD = $(supervisord_supervisord_LDADD)

# The same, but it tells before it commits: points.t must find that out.
check_PROGRAMS += t/scenario/early
t_scenario_early_CPPFLAGS = $(supervisord_supervisord_test_CPPFLAGS)
t_scenario_early_SOURCES = $(supervisord_supervisord_test_SOURCES) \
	t/scenario/early.c
t_scenario_early_LDFLAGS = $(supervisord_supervisord_test_LDFLAGS) \
	-Wl,--wrap=store_commit_start
t_scenario_early_LDADD = $(supervisord_supervisord_LDADD)

# Stands in for workerd; sup.t runs it.
check_PROGRAMS += t/scenario/scripted
t_scenario_scripted_SOURCES = t/scenario/scripted.c
t_scenario_scripted_LDADD = ipc/libipc.a json/libjson.a model/libmodel.a \
	common/libcommon.a $(EVENT_LIBS) $(MSGPACK_LIBS) $(BSD_LIBS)
TESTS += t/scenario/sup.t
EXTRA_DIST += t/scenario/sup.t t/lib/BrowserTask/Client.pm
TESTS += t/scenario/atrest.t
EXTRA_DIST += t/scenario/atrest.t

check_PROGRAMS += t/unit/sup_shorten_test
t_unit_sup_shorten_test_SOURCES = t/unit/sup_shorten_test.c t/unit/tap.h
t_unit_sup_shorten_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_shorten_test

check_PROGRAMS += t/unit/sup_pure_test
t_unit_sup_pure_test_SOURCES = t/unit/sup_pure_test.c t/unit/tap.h
t_unit_sup_pure_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_pure_test

check_PROGRAMS += t/unit/sup_named_test
t_unit_sup_named_test_SOURCES = t/unit/sup_named_test.c t/unit/tap.h
t_unit_sup_named_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_named_test

check_PROGRAMS += t/unit/sup_wire_test
t_unit_sup_wire_test_SOURCES = t/unit/sup_wire_test.c t/unit/tap.h
t_unit_sup_wire_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_wire_test

check_PROGRAMS += t/unit/sup_worker_test
t_unit_sup_worker_test_SOURCES = t/unit/sup_worker_test.c t/unit/tap.h
t_unit_sup_worker_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_worker_test

check_PROGRAMS += t/unit/sup_cells_test
t_unit_sup_cells_test_SOURCES = t/unit/sup_cells_test.c t/unit/tap.h
t_unit_sup_cells_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_cells_test

check_PROGRAMS += t/unit/sup_state_test
t_unit_sup_state_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_sup_state_test_SOURCES = t/unit/sup_state_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_sup_state_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_state_test

check_PROGRAMS += t/unit/sup_turn_test
t_unit_sup_turn_test_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_unit_sup_turn_test_SOURCES = t/unit/sup_turn_test.c \
	t/unit/storage_fixture.h t/unit/tap.h
t_unit_sup_turn_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_turn_test

check_PROGRAMS += t/unit/sup_egress_test
t_unit_sup_egress_test_SOURCES = t/unit/sup_egress_test.c t/unit/tap.h
t_unit_sup_egress_test_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/unit/sup_egress_test
