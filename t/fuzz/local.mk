# t/fuzz/: fuzz targets. Each is built twice: with t/fuzz/replay.c, as a test
# that runs its corpus, and by configure --enable-fuzz with libFuzzer. What the
# tables give is made by t/fuzz/seeds in t/fuzz/made, the rest of the corpus is
# in t/fuzz/corpus. See CONTRIBUTING.md.
EXTRA_DIST += t/fuzz/corpus

# What is a test at full size only: `make check-fuzz`.
FULL_TESTS = t/fuzz/fuzzers.t
dist_check_SCRIPTS += $(FULL_TESTS)

fuzz_programs =
if FUZZ
noinst_PROGRAMS += $(fuzz_programs)
endif
fuzz_link_flags = $(AM_LDFLAGS) -fsanitize=fuzzer
EXTRA_PROGRAMS = $(fuzz_programs)

check_PROGRAMS += t/fuzz/seeds
t_fuzz_seeds_SOURCES = t/fuzz/ipc_sample.c t/fuzz/ipc_sample.h t/fuzz/seeds.c
t_fuzz_seeds_LDADD = ipc/libipc.a launch/liblaunch.a cdp/libcdp.a \
	json/libschema.a json/libjson.a model/libmodel.a common/libcommon.a \
	$(EVENT_LIBS) \
	$(PCRE2_LIBS) $(BSD_LIBS)

check_DATA += t/fuzz/made.stamp
t/fuzz/made.stamp: t/fuzz/seeds
	rm -rf t/fuzz/made
	$(AM_V_GEN)./t/fuzz/seeds t/fuzz/made && touch $@
CLEANFILES += t/fuzz/made.stamp $(fuzz_programs) fuzz-suite.log
clean-local: clean-fuzz
clean-fuzz:
	rm -rf t/fuzz/made t/fuzz/found-*
distclean-local: distclean-fuzz
distclean-fuzz:
	rm -rf fuzz t/fuzz/found t/fuzz/grown
.PHONY: clean-fuzz distclean-fuzz

replay_sources = t/fuzz/fuzz.h t/fuzz/mutate.h t/fuzz/replay.c \
	t/unit/json_support.h t/unit/size.h t/unit/tap.h

fuzz_programs += t/fuzz/records_fuzz
t_fuzz_records_fuzz_SOURCES = t/fuzz/fuzz_records.c
t_fuzz_records_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_fuzz_records_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_records_fuzz_LDADD = $(STORAGE_TEST_LIBS)
check_PROGRAMS += t/fuzz/records_replay
t_fuzz_records_replay_SOURCES = t/fuzz/fuzz_records.c $(replay_sources)
t_fuzz_records_replay_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_fuzz_records_replay_LDADD = json/libjson.a $(t_fuzz_records_fuzz_LDADD)
TESTS += t/fuzz/records_replay

fuzz_programs += t/fuzz/ipc_scan_fuzz
fuzz_ipc_scan_sources = t/fuzz/fuzz_ipc_scan.c t/fuzz/json_plain.c \
	t/fuzz/json_plain.h
t_fuzz_ipc_scan_fuzz_SOURCES = $(fuzz_ipc_scan_sources)
t_fuzz_ipc_scan_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_ipc_scan_fuzz_LDADD = ipc/libipc.a common/libcommon.a \
	$(MSGPACK_LIBS) $(BSD_LIBS)
check_PROGRAMS += t/fuzz/ipc_scan_replay
t_fuzz_ipc_scan_replay_SOURCES = $(fuzz_ipc_scan_sources) $(replay_sources)
t_fuzz_ipc_scan_replay_LDADD = json/libjson.a $(t_fuzz_ipc_scan_fuzz_LDADD)
TESTS += t/fuzz/ipc_scan_replay

fuzz_programs += t/fuzz/ipc_msg_fuzz
t_fuzz_ipc_msg_fuzz_SOURCES = t/fuzz/fuzz_ipc_msg.c
t_fuzz_ipc_msg_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_ipc_msg_fuzz_LDADD = ipc/libipc.a common/libcommon.a $(BSD_LIBS)
check_PROGRAMS += t/fuzz/ipc_msg_replay
t_fuzz_ipc_msg_replay_SOURCES = t/fuzz/fuzz_ipc_msg.c $(replay_sources)
t_fuzz_ipc_msg_replay_LDADD = json/libjson.a $(t_fuzz_ipc_msg_fuzz_LDADD)
TESTS += t/fuzz/ipc_msg_replay

fuzz_programs += t/fuzz/ipc_chan_fuzz
t_fuzz_ipc_chan_fuzz_SOURCES = t/fuzz/fuzz_ipc_chan.c
t_fuzz_ipc_chan_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_ipc_chan_fuzz_LDADD = ipc/libipc.a common/libcommon.a $(EVENT_LIBS) \
	$(BSD_LIBS)
check_PROGRAMS += t/fuzz/ipc_chan_replay
t_fuzz_ipc_chan_replay_SOURCES = t/fuzz/fuzz_ipc_chan.c $(replay_sources)
t_fuzz_ipc_chan_replay_LDADD = json/libjson.a $(t_fuzz_ipc_chan_fuzz_LDADD)
TESTS += t/fuzz/ipc_chan_replay

fuzz_programs += t/fuzz/launch_fuzz
t_fuzz_launch_fuzz_SOURCES = t/fuzz/fuzz_launch.c
t_fuzz_launch_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_launch_fuzz_LDADD = launch/liblaunch.a common/libcommon.a $(BSD_LIBS)
check_PROGRAMS += t/fuzz/launch_replay
t_fuzz_launch_replay_SOURCES = t/fuzz/fuzz_launch.c $(replay_sources)
t_fuzz_launch_replay_LDADD = json/libjson.a $(t_fuzz_launch_fuzz_LDADD)
TESTS += t/fuzz/launch_replay

# The comparison with json-c, where it is.
fuzz_json_sources = t/fuzz/fuzz_json.c t/fuzz/json_plain.c \
	t/fuzz/json_plain.h t/unit/json_oracle.h
fuzz_json_cppflags = $(AM_CPPFLAGS)
fuzz_json_libs = json/libjson.a common/libcommon.a $(BSD_LIBS)
if HAVE_JSON_C
fuzz_json_sources += t/unit/json_oracle.c
fuzz_json_cppflags += $(JSON_C_CFLAGS) -DHAVE_JSON_C
fuzz_json_libs += $(JSON_C_LIBS)
endif
fuzz_programs += t/fuzz/json_fuzz
t_fuzz_json_fuzz_SOURCES = $(fuzz_json_sources)
t_fuzz_json_fuzz_CPPFLAGS = $(fuzz_json_cppflags)
t_fuzz_json_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_json_fuzz_LDADD = $(fuzz_json_libs)
check_PROGRAMS += t/fuzz/json_replay
t_fuzz_json_replay_SOURCES = $(fuzz_json_sources) $(replay_sources)
t_fuzz_json_replay_CPPFLAGS = $(fuzz_json_cppflags)
t_fuzz_json_replay_LDADD = $(fuzz_json_libs)
TESTS += t/fuzz/json_replay

fuzz_programs += t/fuzz/schema_fuzz
fuzz_schema_sources = t/fuzz/fuzz_schema.c t/fuzz/json_plain.c \
	t/fuzz/json_plain.h
t_fuzz_schema_fuzz_SOURCES = $(fuzz_schema_sources)
t_fuzz_schema_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_schema_fuzz_LDADD = json/libschema.a json/libjson.a \
	common/libcommon.a $(PCRE2_LIBS) $(BSD_LIBS)
check_PROGRAMS += t/fuzz/schema_replay
t_fuzz_schema_replay_SOURCES = $(fuzz_schema_sources) $(replay_sources)
t_fuzz_schema_replay_LDADD = $(t_fuzz_schema_fuzz_LDADD)
TESTS += t/fuzz/schema_replay

fuzz_programs += t/fuzz/cdp_fuzz
t_fuzz_cdp_fuzz_SOURCES = t/fuzz/fuzz_cdp.c
t_fuzz_cdp_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_cdp_fuzz_LDADD = cdp/libcdp.a json/libjson.a common/libcommon.a \
	$(EVENT_LIBS) $(BSD_LIBS)
check_PROGRAMS += t/fuzz/cdp_replay
t_fuzz_cdp_replay_SOURCES = t/fuzz/fuzz_cdp.c $(replay_sources)
t_fuzz_cdp_replay_LDADD = $(t_fuzz_cdp_fuzz_LDADD)
TESTS += t/fuzz/cdp_replay

fuzz_programs += t/fuzz/conf_fuzz
fuzz_conf_sources = launcher/conf.c launcher/conf.h t/fuzz/fuzz_conf.c
t_fuzz_conf_fuzz_SOURCES = $(fuzz_conf_sources)
t_fuzz_conf_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_conf_fuzz_LDADD = model/libmodel.a common/libcommon.a \
	$(CONFUSE_LIBS) $(BSD_LIBS)
check_PROGRAMS += t/fuzz/conf_replay
t_fuzz_conf_replay_SOURCES = $(fuzz_conf_sources) $(replay_sources)
t_fuzz_conf_replay_LDADD = json/libjson.a $(t_fuzz_conf_fuzz_LDADD)
TESTS += t/fuzz/conf_replay

fuzz_programs += t/fuzz/ctl_fuzz
fuzz_ctl_sources = ctl/inputs.c ctl/inputs.h ctl/when.c t/fuzz/fuzz_ctl.c
t_fuzz_ctl_fuzz_SOURCES = $(fuzz_ctl_sources)
t_fuzz_ctl_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_ctl_fuzz_LDADD = json/libjson.a model/libmodel.a common/libcommon.a \
	$(BSD_LIBS)
check_PROGRAMS += t/fuzz/ctl_replay
t_fuzz_ctl_replay_SOURCES = $(fuzz_ctl_sources) $(replay_sources)
t_fuzz_ctl_replay_LDADD = $(t_fuzz_ctl_fuzz_LDADD)
TESTS += t/fuzz/ctl_replay

fuzz_programs += t/fuzz/shorten_fuzz
t_fuzz_shorten_fuzz_SOURCES = t/fuzz/fuzz_shorten.c
t_fuzz_shorten_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_shorten_fuzz_LDADD = $(supervisord_supervisord_LDADD)
check_PROGRAMS += t/fuzz/shorten_replay
t_fuzz_shorten_replay_SOURCES = t/fuzz/fuzz_shorten.c $(replay_sources)
t_fuzz_shorten_replay_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/fuzz/shorten_replay

fuzz_programs += t/fuzz/submit_fuzz
t_fuzz_submit_fuzz_SOURCES = t/fuzz/fuzz_submit.c
t_fuzz_submit_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_submit_fuzz_LDADD = $(supervisord_supervisord_LDADD)
check_PROGRAMS += t/fuzz/submit_replay
t_fuzz_submit_replay_SOURCES = t/fuzz/fuzz_submit.c $(replay_sources)
t_fuzz_submit_replay_LDADD = $(supervisord_supervisord_LDADD)
TESTS += t/fuzz/submit_replay

fuzz_programs += t/fuzz/mcp_fuzz
t_fuzz_mcp_fuzz_SOURCES = t/fuzz/fuzz_mcp.c
t_fuzz_mcp_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_mcp_fuzz_LDADD = $(MCP_LIBS)
check_PROGRAMS += t/fuzz/mcp_replay
t_fuzz_mcp_replay_SOURCES = t/fuzz/fuzz_mcp.c $(replay_sources)
t_fuzz_mcp_replay_LDADD = $(MCP_LIBS)
TESTS += t/fuzz/mcp_replay

fuzz_programs += t/fuzz/redact_fuzz
t_fuzz_redact_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
t_fuzz_redact_fuzz_SOURCES = t/fuzz/fuzz_redact.c
t_fuzz_redact_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_redact_fuzz_LDADD = workerd/libworkerd.a templates/libtemplates.a \
	ipc/libipc.a json/libjson.a model/libmodel.a common/libcommon.a \
	$(LUA_LIBS) $(NETTLE_LIBS) $(EVENT_LIBS) $(MSGPACK_LIBS) $(PCRE2_LIBS) \
	$(BSD_LIBS)
check_PROGRAMS += t/fuzz/redact_replay
t_fuzz_redact_replay_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
t_fuzz_redact_replay_SOURCES = t/fuzz/fuzz_redact.c $(replay_sources)
t_fuzz_redact_replay_LDADD = $(t_fuzz_redact_fuzz_LDADD)
TESTS += t/fuzz/redact_replay

fuzz_programs += t/fuzz/domains_fuzz
t_fuzz_domains_fuzz_SOURCES = t/fuzz/fuzz_domains.c
t_fuzz_domains_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_domains_fuzz_LDADD = model/libmodel.a common/libcommon.a $(BSD_LIBS)
check_PROGRAMS += t/fuzz/domains_replay
t_fuzz_domains_replay_SOURCES = t/fuzz/fuzz_domains.c $(replay_sources)
t_fuzz_domains_replay_LDADD = json/libjson.a $(t_fuzz_domains_fuzz_LDADD)
TESTS += t/fuzz/domains_replay

fuzz_programs += t/fuzz/socks_fuzz
t_fuzz_socks_fuzz_SOURCES = t/fuzz/fuzz_socks.c
t_fuzz_socks_fuzz_LDFLAGS = $(fuzz_link_flags)
t_fuzz_socks_fuzz_LDADD = egressd/libegressd.a model/libmodel.a \
	common/libcommon.a $(BSD_LIBS)
check_PROGRAMS += t/fuzz/socks_replay
t_fuzz_socks_replay_SOURCES = t/fuzz/fuzz_socks.c $(replay_sources)
t_fuzz_socks_replay_LDADD = json/libjson.a $(t_fuzz_socks_fuzz_LDADD)
TESTS += t/fuzz/socks_replay

# The targets and what they read, in a build with configure --enable-fuzz.
fuzz-programs: $(BUILT_SOURCES)
	@$(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs) t/fuzz/made.stamp
.PHONY: fuzz-programs

# A bounded number of inputs for each target, in such a build.
fuzz-smoke: fuzz-programs
	srcdir='$(abs_top_srcdir)' builddir='$(abs_top_builddir)' \
	    $(PERL) -I$(top_srcdir)/t/lib $(top_srcdir)/t/fuzz/fuzzers.t
.PHONY: fuzz-smoke

# FUZZ_SECONDS, 60 if it is not set, for each target. A build without libFuzzer
# makes one that has it in fuzz/. That stays, with all that targets have
# collected: the next time they go on there.
if FUZZ
fuzz_build = .
else
fuzz_build = fuzz
endif
check-fuzz:
	@! command -v clang >/dev/null || { \
	    $(MKDIR_P) $(fuzz_build) && cd $(fuzz_build) && \
	    { test -f Makefile || \
	    $(abs_top_srcdir)/configure -q CC=clang --enable-fuzz; } && \
	    $(MAKE) $(AM_MAKEFLAGS) fuzz-programs; }
	@CHECK_SIZE=full FUZZ_BUILD='$(abs_top_builddir)/$(fuzz_build)' \
	    $(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(FULL_TESTS)' \
	    TEST_SUITE_LOG=fuzz-suite.log
.PHONY: check-fuzz
