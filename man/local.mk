# man/: one page per program, file format and protocol.
dist_man_MANS += \
	man/browsertask-control.7 \
	man/browsertask-egress.7 \
	man/browsertask-egressd.8 \
	man/browsertask-launch.7 \
	man/browsertask-mcp.1 \
	man/browsertask-store.5 \
	man/browsertask-templates.7 \
	man/browsertask-worker.7 \
	man/browsertaskctl.1 \
	man/browsertaskd.8 \
	man/browsertaskd.conf.5

# The transcript in browsertask-control(7) is replayed.
dist_check_SCRIPTS += t/scenario/manual.t
TESTS += t/scenario/manual.t

# A client in another language, written from that page alone.
dist_check_SCRIPTS += t/scenario/stranger.t
TESTS += t/scenario/stranger.t
EXTRA_DIST += t/client/stranger.py

# Beside the place of the file itself, which is the administrator's.
confdir = $(sysconfdir)/browsertask
dist_conf_DATA = man/browsertaskd.conf.sample

# The example in browsertask-templates(7) is run: a worker that has no other
# template.
check_PROGRAMS += t/scenario/exampleworker
t_scenario_exampleworker_SOURCES = \
	t/scenario/exampleworker.c \
	$(workerd_workerd_SOURCES)
t_scenario_exampleworker_LDADD = workerd/libworkerd.a $(WORKER_LIBS)
t_scenario_exampleworker_CPPFLAGS = $(workerd_workerd_CPPFLAGS)
dist_check_SCRIPTS += t/scenario/example.t
TESTS += t/scenario/example.t

t/scenario/find_text.lua: man/browsertask-templates.7
	$(AM_V_GEN)$(MKDIR_P) t/scenario && \
	    sed -n '/^local template = {/,/^\.Ed/{/^\.Ed/q;s/\\e/\\/g;p;}' \
	    $(srcdir)/man/browsertask-templates.7 >$@.tmp && mv $@.tmp $@

BUILT_SOURCES += t/scenario/find_text.lua.inc
CLEANFILES += t/scenario/find_text.lua t/scenario/find_text.lua.inc

# Prints what tables.pl puts into the pages: a tool of maintainers.
noinst_PROGRAMS += man/tables
man_tables_SOURCES = man/protocols.c man/tables.c man/tables.h
man_tables_LDADD = ipc/libipc.a launch/liblaunch.a model/libmodel.a common/libcommon.a \
	$(EVENT_LIBS) $(BSD_LIBS)
EXTRA_DIST += man/tables.pl

man-tables: man/tables
	$(PERL) $(srcdir)/man/tables.pl man/tables $(srcdir)/man/*.[1-9]
	man/tables --sample >$(srcdir)/man/browsertaskd.conf.sample
.PHONY: man-tables
