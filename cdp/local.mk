# cdp/: the DevTools protocol over pipes; the only reader of browser messages.
noinst_LIBRARIES += cdp/libcdp.a
cdp_libcdp_a_SOURCES = \
	cdp/cdp.c \
	cdp/cdp.h \
	cdp/events.def \
	cdp/pipe.c \
	cdp/pipe.h \
	cdp/route.c \
	cdp/route.h
