# ctl/: browsertaskctl, people's and scripts' way to the service.
bin_PROGRAMS += ctl/browsertaskctl
ctl_browsertaskctl_SOURCES = \
	ctl/backup_name.c \
	ctl/backup_name.h \
	ctl/cmd_artifact.c \
	ctl/cmd_audit.c \
	ctl/cmd_backup.c \
	ctl/cmd_completion.c \
	ctl/cmd_doctor.c \
	ctl/cmd_events.c \
	ctl/cmd_fsck.c \
	ctl/cmd_list.c \
	ctl/cmd_mcp.c \
	ctl/cmd_profile.c \
	ctl/cmd_restore.c \
	ctl/cmd_restart.c \
	ctl/cmd_runs.c \
	ctl/cmd_secret.c \
	ctl/cmd_service.c \
	ctl/cmd_sessions.c \
	ctl/cmd_submit.c \
	ctl/cmd_template.c \
	ctl/commands.c \
	ctl/commands.def \
	ctl/commands.h \
	ctl/completion.c \
	ctl/completion.h \
	ctl/completion_bash.c \
	ctl/completion_zsh.c \
	ctl/ctl.h \
	ctl/doctor.h \
	ctl/doctor_audit.c \
	ctl/doctor_browser.c \
	ctl/doctor_host.c \
	ctl/doctor_protect.c \
	ctl/doctor_settings.c \
	ctl/doctor_store.c \
	ctl/doctor_try.c \
	ctl/eventline.c \
	ctl/eventline.h \
	ctl/file.c \
	ctl/file.h \
	ctl/inputs.c \
	ctl/inputs.h \
	ctl/luapath.c \
	ctl/luapath.h \
	ctl/main.c \
	ctl/mcpclients.def \
	ctl/options.c \
	ctl/options.def \
	ctl/progress.c \
	ctl/progress.h \
	ctl/result.c \
	ctl/show.c \
	ctl/show.h \
	ctl/side.c \
	ctl/side.h \
	ctl/table.c \
	ctl/table.h \
	ctl/talk.c \
	ctl/text.c \
	ctl/text.h \
	ctl/watch.c \
	ctl/when.c
ctl_browsertaskctl_CPPFLAGS = $(AM_CPPFLAGS) -DSBINDIR='"$(sbindir)"' \
	-DBINDIR='"$(bindir)"'
ctl_browsertaskctl_LDADD = client/libclient.a ipc/libipc.a json/libjson.a \
	model/libmodel.a common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)

# The test's service of canned answers.
check_PROGRAMS += t/scenario/ctl_service
t_scenario_ctl_service_SOURCES = t/scenario/ctl_service.c
t_scenario_ctl_service_LDADD = ipc/libipc.a common/libcommon.a $(EVENT_LIBS) \
	$(BSD_LIBS)
dist_check_SCRIPTS += t/scenario/ctl.t t/scenario/ctladmin.t \
	t/scenario/ctlcomplete.t t/scenario/ctlwords.t
TESTS += t/scenario/ctl.t t/scenario/ctladmin.t t/scenario/ctlcomplete.t \
	t/scenario/ctlwords.t

check_PROGRAMS += t/unit/ctl_test
t_unit_ctl_test_SOURCES = t/unit/ctl_test.c t/unit/tap.h ctl/eventline.c \
	ctl/luapath.c ctl/progress.c ctl/table.c ctl/text.c ctl/when.c
t_unit_ctl_test_LDADD = json/libjson.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/ctl_test

# Completion, made by the program from its own tables.
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
nodist_bashcomp_DATA = ctl/complete/browsertaskctl
nodist_zshcomp_DATA = ctl/complete/_browsertaskctl
CLEANFILES += $(nodist_bashcomp_DATA) $(nodist_zshcomp_DATA)

ctl/complete/browsertaskctl: ctl/browsertaskctl
	$(AM_V_GEN)$(MKDIR_P) ctl/complete && \
		ctl/browsertaskctl completion bash >$@.tmp && mv $@.tmp $@
ctl/complete/_browsertaskctl: ctl/browsertaskctl
	$(AM_V_GEN)$(MKDIR_P) ctl/complete && \
		ctl/browsertaskctl completion zsh >$@.tmp && mv $@.tmp $@
