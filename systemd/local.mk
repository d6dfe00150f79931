# systemd/: units of the service, for the machine and for one user, and what goes
# with them. Below /usr/local and /usr systemd finds them by itself.
systemunitdir = $(prefix)/lib/systemd/system
userunitdir = $(prefix)/lib/systemd/user
sysusersdir = $(prefix)/lib/sysusers.d
tmpfilesdir = $(prefix)/lib/tmpfiles.d
nodist_systemunit_DATA = systemd/browsertaskd.service \
	systemd/browsertaskd-admin.socket systemd/browsertaskd-client.socket
nodist_userunit_DATA = systemd/user/browsertaskd.service
nodist_sysusers_DATA = systemd/sysusers/browsertask.conf
nodist_tmpfiles_DATA = systemd/tmpfiles/browsertask.conf
EXTRA_DIST += systemd/browsertaskd.service.in systemd/user.service.in \
	systemd/browsertaskd-admin.socket.in \
	systemd/browsertaskd-client.socket.in \
	systemd/sysusers.conf.in systemd/tmpfiles.conf.in
CLEANFILES += $(nodist_systemunit_DATA) $(nodist_userunit_DATA) \
	$(nodist_sysusers_DATA) $(nodist_tmpfiles_DATA)

unit_edit = $(AM_V_GEN)$(MKDIR_P) $(@D) && \
	sed -e 's|@sbindir[@]|$(sbindir)|g' \
	-e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	-e 's|@runstatedir[@]|$(runstatedir)|g' \
	-e 's|@localstatedir[@]|$(localstatedir)|g' <

systemd/browsertaskd.service: systemd/browsertaskd.service.in
	$(unit_edit) $(srcdir)/systemd/browsertaskd.service.in >$@
systemd/browsertaskd-admin.socket: systemd/browsertaskd-admin.socket.in
	$(unit_edit) $(srcdir)/systemd/browsertaskd-admin.socket.in >$@
systemd/browsertaskd-client.socket: systemd/browsertaskd-client.socket.in
	$(unit_edit) $(srcdir)/systemd/browsertaskd-client.socket.in >$@
systemd/user/browsertaskd.service: systemd/user.service.in
	$(unit_edit) $(srcdir)/systemd/user.service.in >$@
systemd/sysusers/browsertask.conf: systemd/sysusers.conf.in
	$(unit_edit) $(srcdir)/systemd/sysusers.conf.in >$@
systemd/tmpfiles/browsertask.conf: systemd/tmpfiles.conf.in
	$(unit_edit) $(srcdir)/systemd/tmpfiles.conf.in >$@

# Boot systems with the service in them.
dist_check_SCRIPTS += t/scenario/groups.t t/scenario/systemd.t
TESTS += t/scenario/groups.t t/scenario/systemd.t
EXTRA_DIST += t/lib/BrowserTask/Inside.pm t/scenario/groups_inside.pl \
	t/scenario/systemd_inside.pl \
	t/scenario/systemd_user.pl
