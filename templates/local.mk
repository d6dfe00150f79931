# templates/: Lua programs, compiled into workerd as bytes. Text files with
# bytes above 127 would not fit a char initialiser: embed.sh is for ASCII.
noinst_LIBRARIES += templates/libtemplates.a
templates_libtemplates_a_SOURCES = \
	templates/builtin.c \
	templates/builtin.h
nodist_templates_libtemplates_a_SOURCES = \
	templates/batch_extract_pages.lua.inc

templates/batch_extract_pages.lua.inc: templates/batch_extract_pages.lua \
    templates/embed.sh
	$(AM_V_GEN)$(MKDIR_P) templates && $(SHELL) \
	    $(srcdir)/templates/embed.sh \
	    $(srcdir)/templates/batch_extract_pages.lua >$@.tmp && mv $@.tmp $@

templates/builtin.$(OBJEXT): templates/batch_extract_pages.lua.inc
BUILT_SOURCES += templates/batch_extract_pages.lua.inc
CLEANFILES += templates/batch_extract_pages.lua.inc
EXTRA_DIST += templates/batch_extract_pages.lua templates/embed.sh
