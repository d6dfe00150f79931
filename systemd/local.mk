# systemd/: units of the service, for the machine and for one user. Below
# /usr/local and /usr systemd finds them by itself.
systemunitdir = $(prefix)/lib/systemd/system
userunitdir = $(prefix)/lib/systemd/user
nodist_systemunit_DATA = systemd/browsertaskd.service
nodist_userunit_DATA = systemd/user/browsertaskd.service
EXTRA_DIST += systemd/browsertaskd.service.in systemd/user.service.in
CLEANFILES += $(nodist_systemunit_DATA) $(nodist_userunit_DATA)

unit_edit = $(AM_V_GEN)$(MKDIR_P) $(@D) && \
	sed -e 's|@sbindir[@]|$(sbindir)|g' \
	-e 's|@sysconfdir[@]|$(sysconfdir)|g' <

systemd/browsertaskd.service: systemd/browsertaskd.service.in
	$(unit_edit) $(srcdir)/systemd/browsertaskd.service.in >$@
systemd/user/browsertaskd.service: systemd/user.service.in
	$(unit_edit) $(srcdir)/systemd/user.service.in >$@
