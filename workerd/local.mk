# workerd/: one run's worker: CDP on one side, supervisord on the other, the
# template's Lua program between them. The library is for the unit test.
noinst_LIBRARIES += workerd/libworkerd.a
workerd_libworkerd_a_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
workerd_libworkerd_a_SOURCES = \
	workerd/ctx.c \
	workerd/describe.c \
	workerd/describe.h \
	workerd/items.c \
	workerd/keep.c \
	workerd/keep.h \
	workerd/lua_json.c \
	workerd/lua_json.h \
	workerd/lua_view.c \
	workerd/lua_view.h \
	workerd/program.c \
	workerd/program.h \
	workerd/notice.c \
	workerd/notice.h \
	workerd/outbox.c \
	workerd/outbox.h \
	workerd/redact.c \
	workerd/redact.h \
	workerd/report.c \
	workerd/report.h \
	workerd/run.c \
	workerd/run.h \
	workerd/sched.c \
	workerd/sched.h \
	workerd/secret.c \
	workerd/secret.h \
	workerd/tab.c \
	workerd/tab.h \
	workerd/tab_act.c \
	workerd/tab_options.c \
	workerd/unescape.c \
	workerd/unescape.h \
	workerd/vm.c \
	workerd/vm.h \
	workerd/vm_base.c \
	workerd/vm_pattern.c \
	workerd/vm_pattern.h \
	workerd/vm_string.c \
	workerd/wait.c \
	workerd/word.c \
	workerd/word.h
nodist_workerd_libworkerd_a_SOURCES = workerd/kit.lua.inc \
	workerd/prelude.lua.inc

workerd/libworkerd_a-program.$(OBJEXT): workerd/kit.lua.inc
workerd/libworkerd_a-run.$(OBJEXT): workerd/prelude.lua.inc
BUILT_SOURCES += workerd/kit.lua.inc workerd/prelude.lua.inc
CLEANFILES += workerd/kit.lua.inc workerd/prelude.lua.inc
EXTRA_DIST += workerd/kit.lua workerd/prelude.lua

pkglibexec_PROGRAMS += workerd/workerd
workerd_workerd_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
workerd_workerd_SOURCES = \
	workerd/calls.def \
	workerd/confine.c \
	workerd/confine.h \
	workerd/orders.c \
	workerd/start.c \
	workerd/start.h \
	workerd/warm.c \
	workerd/warm.h \
	workerd/worker.h \
	workerd/workerd.c
workerd_workerd_LDADD = workerd/libworkerd.a templates/libtemplates.a \
	$(WORKER_LIBS)

# Of all workers, those of tests that have other templates, too.
WORKER_LIBS = page/libpage.a cdp/libcdp.a ipc/libipc.a json/libjson.a \
	model/libmodel.a $(CONFINE_LIBS) common/libcommon.a \
	$(LUA_LIBS) $(NETTLE_LIBS) $(EVENT_LIBS) $(MSGPACK_LIBS) $(PCRE2_LIBS) $(BSD_LIBS)

workerd/sample.js.inc: templates/embed.sh
BUILT_SOURCES += workerd/sample.js.inc
CLEANFILES += workerd/sample.js.inc
EXTRA_DIST += workerd/sample.js

check_PROGRAMS += t/unit/worker_lua_test
t_unit_worker_lua_test_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
t_unit_worker_lua_test_SOURCES = t/unit/worker_lua_test.c t/unit/tap.h
t_unit_worker_lua_test_LDADD = workerd/libworkerd.a templates/libtemplates.a \
	ipc/libipc.a json/libjson.a model/libmodel.a common/libcommon.a \
	$(LUA_LIBS) $(NETTLE_LIBS) $(EVENT_LIBS) $(MSGPACK_LIBS) $(PCRE2_LIBS) $(BSD_LIBS)
TESTS += t/unit/worker_lua_test

check_PROGRAMS += t/unit/worker_secret_test
t_unit_worker_secret_test_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
t_unit_worker_secret_test_SOURCES = t/unit/worker_secret_test.c t/unit/tap.h
t_unit_worker_secret_test_LDADD = workerd/libworkerd.a templates/libtemplates.a \
	ipc/libipc.a json/libjson.a model/libmodel.a common/libcommon.a \
	$(LUA_LIBS) $(NETTLE_LIBS) $(EVENT_LIBS) $(MSGPACK_LIBS) $(PCRE2_LIBS) $(BSD_LIBS)
TESTS += t/unit/worker_secret_test

# Its own page layer and templates instead of page/ and templates/.
check_PROGRAMS += t/unit/worker_run_test
t_unit_worker_run_test_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
t_unit_worker_run_test_SOURCES = t/unit/tap.h t/unit/worker_run_test.c
t_unit_worker_run_test_LDADD = workerd/libworkerd.a ipc/libipc.a \
	json/libjson.a model/libmodel.a common/libcommon.a \
	$(LUA_LIBS) $(NETTLE_LIBS) $(EVENT_LIBS) $(MSGPACK_LIBS) $(PCRE2_LIBS) $(BSD_LIBS)
t/unit/worker_run_test-worker_run_test.$(OBJEXT): \
    templates/batch_extract_pages.lua.inc
TESTS += t/unit/worker_run_test

# Plays all of the worker's peers but the browser; worker.t runs it.
check_PROGRAMS += t/scenario/workerdrive
t_scenario_workerdrive_SOURCES = t/scenario/workerdrive.c
t_scenario_workerdrive_LDADD = ipc/libipc.a model/libmodel.a \
	common/libcommon.a $(EVENT_LIBS) $(MSGPACK_LIBS) $(BSD_LIBS)
TESTS += t/scenario/worker.t
EXTRA_DIST += t/scenario/worker.t

# Plays all of its peers but the browser, too: sessions that outlive a run.
check_PROGRAMS += t/scenario/keep_test
t_scenario_keep_test_SOURCES = \
	cell/flags.c \
	t/scenario/keep_test.c \
	t/scenario/live.c \
	t/scenario/live.h \
	t/unit/tap.h
t_scenario_keep_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/t/scenario
t_scenario_keep_test_LDADD = ipc/libipc.a model/libmodel.a \
	common/libcommon.a $(EVENT_LIBS) $(MSGPACK_LIBS) $(BSD_LIBS)
TESTS += t/scenario/keep_test
EXTRA_DIST += t/keep

check_PROGRAMS += t/unit/worker_outbox_test
t_unit_worker_outbox_test_SOURCES = t/unit/tap.h t/unit/worker_outbox_test.c
t_unit_worker_outbox_test_LDADD = workerd/libworkerd.a ipc/libipc.a \
	model/libmodel.a common/libcommon.a $(EVENT_LIBS) $(MSGPACK_LIBS) \
	$(BSD_LIBS)
TESTS += t/unit/worker_outbox_test
