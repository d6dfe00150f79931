# lint/: what keeps the tree in shape: format, layers, headers that compile
# alone, links, banned functions, manual pages. `make lint` runs them all.
EXTRA_DIST += \
	lint/banned.t \
	lint/covered.t \
	lint/format.t \
	lint/headers.t \
	lint/layers \
	lint/layers.t \
	lint/links \
	lint/links.t \
	lint/manual.t

LINT_CPPFLAGS = -D_GNU_SOURCE -DLIBBSD_OPENBSD_VIS $(EVENT_CFLAGS) \
	$(MSGPACK_CFLAGS) $(BSD_CFLAGS) $(LUA_CFLAGS) $(LMDB_CFLAGS)

lint: all
	srcdir='$(abs_top_srcdir)' builddir='$(abs_top_builddir)' \
	CC='$(CC)' CLANG_FORMAT='$(CLANG_FORMAT)' \
	LINT_CPPFLAGS='$(LINT_CPPFLAGS)' prove $(LINT_FLAGS) $(srcdir)/lint
.PHONY: lint
