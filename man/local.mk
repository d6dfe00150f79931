# man/: one page per program, file format and protocol.
dist_man_MANS += \
	man/browsertaskd.8 \
	man/browsertask-store.5 \
	man/browsertask-template.7
