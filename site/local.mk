# site/: the demo site and its server. Built for the demo, the tests and the
# benchmark; never installed.
noinst_PROGRAMS += site/demosite
site_demosite_SOURCES = \
	site/accesslog.c \
	site/accesslog.h \
	site/behave.c \
	site/behave.def \
	site/behave.h \
	site/bodies.c \
	site/bodies.h \
	site/corpus.c \
	site/corpus.h \
	site/demosite.c \
	site/files.c \
	site/files.h \
	site/forms.c \
	site/forms.h \
	site/pend.c \
	site/pend.h \
	site/prose.c \
	site/prose.h \
	site/serve.c \
	site/serve.h
site_demosite_CPPFLAGS = $(AM_CPPFLAGS) $(EVHTTP_CFLAGS) \
	-DSITE_PAGES_DIR='"$(abs_top_srcdir)/site/pages"'
site_demosite_LDADD = common/libcommon.a $(EVHTTP_LIBS) $(BSD_LIBS)
EXTRA_DIST += \
	site/pages \
	site/urls

dist_check_SCRIPTS += t/scenario/site.t
TESTS += t/scenario/site.t
