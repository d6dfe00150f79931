# lint/: what keeps the tree in shape: format, layers, headers that compile
# alone, links, banned functions, manual pages: `make lint` runs these; and the
# static analyzers: `make analyze`.
EXTRA_DIST += \
	.clang-tidy \
	t/.clang-tidy \
	lint/analyze \
	lint/banned.t \
	lint/commands \
	lint/coverage \
	lint/covered.t \
	lint/crashpoints.t \
	lint/cppcheck.cfg \
	lint/cppcheck.suppress \
	lint/failures.t \
	lint/format.t \
	lint/headers.t \
	lint/layers \
	lint/layers.t \
	lint/links \
	lint/links.t \
	lint/manual.t \
	lint/promises.t \
	lint/units.t

LINT_CPPFLAGS = -D_GNU_SOURCE -DLIBBSD_OPENBSD_VIS $(EVENT_CFLAGS) \
	$(MSGPACK_CFLAGS) $(BSD_CFLAGS) $(LUA_CFLAGS) $(LMDB_CFLAGS)

lint: all
	srcdir='$(abs_top_srcdir)' builddir='$(abs_top_builddir)' \
	CC='$(CC)' CLANG_FORMAT='$(CLANG_FORMAT)' \
	LINT_CPPFLAGS='$(LINT_CPPFLAGS)' prove $(LINT_FLAGS) $(srcdir)/lint
.PHONY: lint

# The static analyzers. Objects of another name do not exist: a dry run says
# how each would be compiled.
compile_commands.json: all
	$(AM_V_GEN)$(MAKE) $(AM_MAKEFLAGS) -n V=1 OBJEXT=obj CYGPATH_W=echo \
	    all $(check_PROGRAMS) | \
	    $(PERL) $(srcdir)/lint/commands '$(abs_top_builddir)' >$@.tmp && \
	    mv $@.tmp $@
CLEANFILES += compile_commands.json analyze.json analyze.tidy analyze.err

analyze: compile_commands.json
	srcdir='$(abs_top_srcdir)' $(srcdir)/lint/analyze
.PHONY: analyze

# What the tests that ran in this build directory have executed of each
# directory; for one configured with --enable-coverage.
coverage:
	srcdir='$(abs_top_srcdir)' $(srcdir)/lint/coverage
.PHONY: coverage
