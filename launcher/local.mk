# launcher/: browsertaskd, parent of everything.
sbin_PROGRAMS += launcher/browsertaskd
# Those with crash points: tests have them compiled once more.
LAUNCHER_POINTS = \
	launcher/adopt.c \
	launcher/main.c \
	launcher/orders.c \
	launcher/reexec.c \
	launcher/supervise.c
LAUNCHER_REST = \
	launcher/carry.c \
	launcher/carry.h \
	launcher/carry_cells.c \
	launcher/cell.c \
	launcher/cells.c \
	launcher/cells.h \
	launcher/cells_int.h \
	launcher/cgroups.c \
	launcher/cgroups.h \
	launcher/child.c \
	launcher/child.h \
	launcher/clone.c \
	launcher/clone.h \
	launcher/calls.def \
	launcher/confine.c \
	launcher/confine.h \
	launcher/compartment.c \
	launcher/compartment.h \
	launcher/conf.c \
	launcher/conf.h \
	launcher/damping.c \
	launcher/damping.h \
	launcher/dirs.c \
	launcher/dirs.h \
	launcher/egress.c \
	launcher/egress.h \
	launcher/groups.c \
	launcher/groups.h \
	launcher/inspect.c \
	launcher/inspect.h \
	launcher/instance.h \
	launcher/kept.c \
	launcher/kept.h \
	launcher/lock.c \
	launcher/lock.h \
	launcher/names.c \
	launcher/names.h \
	launcher/netns.c \
	launcher/netns.h \
	launcher/notify.c \
	launcher/notify.h \
	launcher/open.c \
	launcher/options.c \
	launcher/options.h \
	launcher/profiles.c \
	launcher/profiles.h \
	launcher/programs.c \
	launcher/programs.h \
	launcher/pulse.c \
	launcher/pulse.h \
	launcher/record.c \
	launcher/record.h \
	launcher/protect.c \
	launcher/protect.h \
	launcher/reexec.h \
	launcher/reload.c \
	launcher/reload.h \
	launcher/remover.c \
	launcher/remover.h \
	launcher/root.c \
	launcher/root.h \
	launcher/secrets.c \
	launcher/secrets.h \
	launcher/sockets.c \
	launcher/sockets.h \
	launcher/spawn.c \
	launcher/spawn.h \
	launcher/stored.c \
	launcher/stored.h \
	launcher/supervise.h \
	launcher/uidblock.c \
	launcher/uidblock.h \
	launcher/watchdog.c \
	launcher/watchdog.h
launcher_browsertaskd_SOURCES = $(LAUNCHER_POINTS) $(LAUNCHER_REST)
launcher_browsertaskd_LDADD = launch/liblaunch.a model/libmodel.a \
	$(CONFINE_LIBS) common/libcommon.a $(EVENT_LIBS) $(CONFUSE_LIBS) $(BSD_LIBS)

# browsertaskd, but it starts supervisord anew without a pause, and ends where it
# is told.
check_LIBRARIES = t/scenario/libpoints.a
t_scenario_libpoints_a_CPPFLAGS = $(AM_CPPFLAGS) -DCRASH_POINTS
t_scenario_libpoints_a_SOURCES = $(LAUNCHER_POINTS) t/scenario/crashing.c
check_PROGRAMS += t/scenario/undamped
t_scenario_undamped_SOURCES = $(LAUNCHER_REST) t/scenario/undamped.c
t_scenario_undamped_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=damping_due_ms \
	-Wl,--wrap=damping_is_last
t_scenario_undamped_LDADD = t/scenario/libpoints.a $(launcher_browsertaskd_LDADD)

# browsertaskd of another version.
check_PROGRAMS += t/scenario/otherversion
t_scenario_otherversion_SOURCES = $(launcher_browsertaskd_SOURCES) \
	t/scenario/otherversion.c
t_scenario_otherversion_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=carry_read
t_scenario_otherversion_LDADD = $(launcher_browsertaskd_LDADD)

check_PROGRAMS += t/unit/conf_test
t_unit_conf_test_SOURCES = \
	launcher/conf.c \
	launcher/conf.h \
	t/unit/conf_test.c \
	t/unit/tap.h
t_unit_conf_test_LDADD = model/libmodel.a common/libcommon.a \
	$(CONFUSE_LIBS) $(BSD_LIBS)
TESTS += t/unit/conf_test

check_PROGRAMS += t/unit/carry_test
t_unit_carry_test_SOURCES = \
	launcher/carry.c \
	launcher/carry.h \
	t/unit/carry_test.c \
	t/unit/tap.h
t_unit_carry_test_LDADD = common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/carry_test

check_PROGRAMS += t/unit/cgroups_test
t_unit_cgroups_test_SOURCES = \
	launcher/cgroups.c \
	launcher/cgroups.h \
	t/unit/cgroups_test.c \
	t/unit/tap.h
t_unit_cgroups_test_LDADD = launch/liblaunch.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/cgroups_test

check_PROGRAMS += t/launch/fakesup t/launch/fakework t/launch/hog
check_PROGRAMS += t/launch/hostile t/launch/bare-headless-shell \
	t/launch/baregpu-headless-shell
t_launch_bare_headless_shell_SOURCES = t/launch/bare.c
t_launch_bare_headless_shell_CPPFLAGS = $(AM_CPPFLAGS) \
	-DBARE_OFF='"--no-sandbox"'
t_launch_baregpu_headless_shell_SOURCES = t/launch/bare.c
t_launch_baregpu_headless_shell_CPPFLAGS = $(AM_CPPFLAGS) \
	-DBARE_OFF='"--disable-gpu-sandbox"'
check_PROGRAMS += t/launch/fake-headless-shell
t_launch_fake_headless_shell_SOURCES = t/launch/fakebrowser.c
# No browser has them, and a limit on data leaves them no room.
t_launch_fake_headless_shell_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
t_launch_fake_headless_shell_LDFLAGS = $(AM_LDFLAGS) -fno-sanitize=all
t_launch_hostile_SOURCES = t/launch/hostile.c t/launch/hostile_try.c \
	t/launch/hostile_try.h
t_launch_hog_SOURCES = t/launch/hog.c
check_PROGRAMS += t/launch/without
t_launch_without_SOURCES = t/launch/without.c
t_launch_without_LDADD = $(SECCOMP_LIBS)
TESTS += t/scenario/protections.t
EXTRA_DIST += t/scenario/protections.t
t_launch_fakesup_SOURCES = t/launch/fakesup.c
t_launch_fakesup_LDADD = launch/liblaunch.a common/libcommon.a $(BSD_LIBS)
t_launch_fakework_SOURCES = t/launch/fakework.c $(hostile_sources)
t_launch_fakework_LDADD = common/libcommon.a $(BSD_LIBS)
TESTS += t/scenario/compartment.t t/scenario/conf.t t/scenario/gate.t t/scenario/launcher.t t/scenario/limits.t t/scenario/log.t t/scenario/orphans.t t/scenario/outlive.t t/scenario/restart.t
EXTRA_DIST += t/scenario/compartment.t t/scenario/conf.t t/scenario/gate.t t/scenario/launcher.t t/scenario/limits.t t/scenario/log.t t/scenario/orphans.t t/scenario/outlive.t t/scenario/restart.t t/lib/BrowserTask/Harness.pm t/lib/BrowserTask/Talk.pm

check_PROGRAMS += t/unit/profiles_test
t_unit_profiles_test_SOURCES = \
	launcher/kept.c \
	launcher/kept.h \
	launcher/profiles.c \
	launcher/profiles.h \
	t/unit/profiles_test.c \
	t/unit/tap.h
t_unit_profiles_test_LDADD = common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/profiles_test

check_PROGRAMS += t/unit/secrets_test
t_unit_secrets_test_SOURCES = \
	launcher/secrets.c \
	launcher/secrets.h \
	t/unit/secrets_test.c \
	t/unit/tap.h
t_unit_secrets_test_LDADD = launch/liblaunch.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/secrets_test

dist_check_SCRIPTS += t/scenario/egressd.t
TESTS += t/scenario/egressd.t
