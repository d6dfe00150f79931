# templates/: Lua programs, compiled into workerd as bytes. Text files with
# bytes above 127 would not fit a char initialiser: embed.sh is for ASCII.
# A new one is named here and in builtin.c.
TEMPLATES = \
	templates/batch_extract_pages.lua \
	templates/login_keep_session.lua \
	templates/multi_tab_compare.lua \
	templates/paginated_extract.lua \
	templates/search_extract.lua \
	templates/submit_and_verify.lua

noinst_LIBRARIES += templates/libtemplates.a
templates_libtemplates_a_SOURCES = \
	templates/builtin.c \
	templates/builtin.h
nodist_templates_libtemplates_a_SOURCES = $(TEMPLATES:.lua=.lua.inc)
$(TEMPLATES:.lua=.lua.inc): templates/embed.sh
templates/builtin.$(OBJEXT): $(TEMPLATES:.lua=.lua.inc)
BUILT_SOURCES += $(TEMPLATES:.lua=.lua.inc)
CLEANFILES += $(TEMPLATES:.lua=.lua.inc)
EXTRA_DIST += $(TEMPLATES) templates/embed.sh

TEMPLATE_TESTS = \
	t/scenario/compare.t \
	t/scenario/login.t \
	t/scenario/paginate.t \
	t/scenario/search.t \
	t/scenario/submit.t \
	t/scenario/templates.t
dist_check_SCRIPTS += $(TEMPLATE_TESTS)
TESTS += $(TEMPLATE_TESTS)

# For every text that is compiled into a program.
SUFFIXES = .js .js.inc .lua .lua.inc
.js.js.inc .lua.lua.inc:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) \
	    $(srcdir)/templates/embed.sh $< >$@.tmp && mv $@.tmp $@
