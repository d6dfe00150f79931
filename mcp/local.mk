# mcp/: browsertask-mcp, the Model Context Protocol for AI agents. What a client
# sees of a tool is a file of tools/, compiled in.
MCP_TOOLS = \
	mcp/tools/cancel_task_run.json \
	mcp/tools/get_artifact.json \
	mcp/tools/get_runtime_profile.json \
	mcp/tools/get_task_run.json \
	mcp/tools/list_task_runs.json \
	mcp/tools/list_task_templates.json \
	mcp/tools/run_task_template.json \
	mcp/tools/subscribe_task_run_events.json

# All but its main function, for the tests.
noinst_LIBRARIES += mcp/libmcp.a
mcp_libmcp_a_SOURCES = \
	mcp/adapter.c \
	mcp/adapter.h \
	mcp/answer.c \
	mcp/answer.h \
	mcp/args.c \
	mcp/args.h \
	mcp/artifact.c \
	mcp/artifact.h \
	mcp/basic.c \
	mcp/call.c \
	mcp/call.h \
	mcp/complete.c \
	mcp/fault.c \
	mcp/fault.h \
	mcp/hints.c \
	mcp/label.c \
	mcp/label.h \
	mcp/hints.h \
	mcp/lines.c \
	mcp/lines.h \
	mcp/link.c \
	mcp/link.h \
	mcp/link_int.h \
	mcp/link_silent.c \
	mcp/method.h \
	mcp/methods.c \
	mcp/notice.c \
	mcp/notice.h \
	mcp/out.c \
	mcp/out.h \
	mcp/pointer.c \
	mcp/pointer.h \
	mcp/progress.c \
	mcp/progress.h \
	mcp/prompts.c \
	mcp/question.c \
	mcp/question.h \
	mcp/reply.c \
	mcp/reply.h \
	mcp/resources.c \
	mcp/revision.c \
	mcp/revision.def \
	mcp/revision.h \
	mcp/rpc.c \
	mcp/rpc.h \
	mcp/start.c \
	mcp/start.h \
	mcp/subs.c \
	mcp/subs.h \
	mcp/task.c \
	mcp/task.h \
	mcp/task_calls.c \
	mcp/tasks.c \
	mcp/tasks.h \
	mcp/tool.h \
	mcp/tools.c \
	mcp/waiting.c \
	mcp/waiting.h \
	mcp/watch.c \
	mcp/watch.h
nodist_mcp_libmcp_a_SOURCES = $(MCP_TOOLS:.json=.json.inc)
$(MCP_TOOLS:.json=.json.inc): mcp/embed.sh
mcp/tools.$(OBJEXT): $(MCP_TOOLS:.json=.json.inc)
BUILT_SOURCES += $(MCP_TOOLS:.json=.json.inc)
CLEANFILES += $(MCP_TOOLS:.json=.json.inc)
EXTRA_DIST += $(MCP_TOOLS) mcp/embed.sh

SUFFIXES += .json .json.inc
.json.json.inc:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) \
	    $(srcdir)/mcp/embed.sh $< >$@.tmp && mv $@.tmp $@

MCP_LIBS = mcp/libmcp.a client/libclient.a ipc/libipc.a json/libjson.a \
	model/libmodel.a common/libcommon.a $(EVENT_LIBS) $(BSD_LIBS)

bin_PROGRAMS += mcp/browsertask-mcp
mcp_browsertask_mcp_SOURCES = mcp/main.c
mcp_browsertask_mcp_CPPFLAGS = $(AM_CPPFLAGS) -DSBINDIR='"$(sbindir)"'
mcp_browsertask_mcp_LDADD = $(MCP_LIBS)

dist_check_SCRIPTS += t/scenario/mcp_lines.t t/scenario/mcp_split.t \
	t/scenario/mcp_runs.t \
	t/scenario/mcp_many.t t/scenario/mcp_start.t t/scenario/mcp_subs.t \
	t/scenario/mcp_tasks.t
TESTS += t/scenario/mcp_lines.t t/scenario/mcp_split.t \
	t/scenario/mcp_runs.t \
	t/scenario/mcp_many.t t/scenario/mcp_start.t t/scenario/mcp_subs.t \
	t/scenario/mcp_tasks.t
EXTRA_DIST += t/lib/BrowserTask/Mcp.pm

check_PROGRAMS += t/unit/mcp_meet_test
t_unit_mcp_meet_test_SOURCES = t/unit/mcp_meet_test.c t/unit/tap.h
t_unit_mcp_meet_test_LDADD = $(MCP_LIBS)
TESTS += t/unit/mcp_meet_test
