# man/: one page per program, file format and protocol.
dist_man_MANS += \
	man/browsertask-store.5
