# bench/: measurements against peers; not part of the tests. bench/README.md.
noinst_PROGRAMS += bench/bareloop
bench_bareloop_SOURCES = bench/bareloop.c
bench_bareloop_LDADD = common/libcommon.a $(BSD_LIBS)

noinst_PROGRAMS += bench/load bench/rows
bench_load_SOURCES = bench/load.c
bench_load_LDADD = ipc/libipc.a json/libjson.a model/libmodel.a \
	common/libcommon.a $(EVENT_LIBS) $(MSGPACK_LIBS) $(BSD_LIBS)
bench_rows_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
bench_rows_SOURCES = bench/rows.c
bench_rows_LDADD = $(STORAGE_TEST_LIBS)

# The worker without its filter: for bench/containment only, never installed.
check_PROGRAMS += bench/openworker
bench_openworker_CPPFLAGS = $(workerd_workerd_CPPFLAGS)
bench_openworker_SOURCES = bench/unconfined.c $(workerd_workerd_SOURCES)
bench_openworker_LDADD = $(workerd_workerd_LDADD)

EXTRA_DIST += \
	bench/README.md \
	bench/agents.mjs \
	bench/batch.mjs \
	bench/containment \
	bench/package-lock.json \
	bench/package.json \
	bench/puppeteer-batch.mjs \
	bench/run \
	bench/service

# The extraction of batch_extract_pages as one expression, for the peers.
noinst_DATA += bench/extract.js
CLEANFILES += bench/extract.js
bench/extract.js: page/common.js page/pagetype.js page/pageinfo.js \
	    page/text.js page/content.js
	$(AM_V_GEN)$(MKDIR_P) bench && { echo '(function () {' && \
	for part in common pagetype pageinfo text content; do \
		cat $(srcdir)/page/$$part.js; done && \
	echo 'return extract({maxElements: 50, maxContentLength: 4000,' && \
	echo 'pageInfo, content, readability: null})})()'; } >$@.tmp && \
	mv $@.tmp $@
