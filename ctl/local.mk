# ctl/: browsertaskctl, people's and scripts' way to the service.
bin_PROGRAMS += ctl/browsertaskctl
ctl_browsertaskctl_SOURCES = \
	ctl/cmd_artifact.c \
	ctl/cmd_events.c \
	ctl/cmd_runs.c \
	ctl/cmd_service.c \
	ctl/cmd_submit.c \
	ctl/commands.def \
	ctl/ctl.h \
	ctl/file.c \
	ctl/file.h \
	ctl/inputs.c \
	ctl/inputs.h \
	ctl/main.c \
	ctl/options.def \
	ctl/progress.c \
	ctl/progress.h \
	ctl/result.c \
	ctl/table.c \
	ctl/table.h \
	ctl/talk.c \
	ctl/text.c \
	ctl/text.h \
	ctl/watch.c
ctl_browsertaskctl_LDADD = client/libclient.a ipc/libipc.a json/libjson.a \
	model/libmodel.a common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)

# The test's service of canned answers.
check_PROGRAMS += t/scenario/ctl_service
t_scenario_ctl_service_SOURCES = t/scenario/ctl_service.c
t_scenario_ctl_service_LDADD = ipc/libipc.a common/libcommon.a $(EVENT_LIBS) \
	$(BSD_LIBS)
dist_check_SCRIPTS += t/scenario/ctl.t
TESTS += t/scenario/ctl.t

check_PROGRAMS += t/unit/ctl_test
t_unit_ctl_test_SOURCES = t/unit/ctl_test.c t/unit/tap.h ctl/progress.c \
	ctl/table.c ctl/text.c
t_unit_ctl_test_LDADD = json/libjson.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/ctl_test
