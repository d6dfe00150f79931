# t/confine: programs of ours with a payload inside, for attack.t. Each is
# linked from what the program itself is, and one file more.
hostile_sources = \
	t/confine/attacks.def \
	t/confine/hostile.c \
	t/confine/hostile.h

check_PROGRAMS += t/confine/workerd
t_confine_workerd_SOURCES = $(workerd_workerd_SOURCES) $(hostile_sources) \
	t/confine/as_worker.c
t_confine_workerd_CPPFLAGS = $(workerd_workerd_CPPFLAGS)
t_confine_workerd_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=event_base_dispatch
t_confine_workerd_LDADD = $(workerd_workerd_LDADD)

check_PROGRAMS += t/confine/supervisord
t_confine_supervisord_SOURCES = $(supervisord_supervisord_SOURCES) \
	$(hostile_sources) t/confine/as_supervisord.c
t_confine_supervisord_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=event_base_dispatch
t_confine_supervisord_LDADD = $(supervisord_supervisord_LDADD)

check_PROGRAMS += t/confine/cell
t_confine_cell_SOURCES = $(cell_cell_SOURCES) $(hostile_sources) \
	t/confine/as_cell.c
t_confine_cell_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=poll
t_confine_cell_LDADD = $(cell_cell_LDADD)

check_PROGRAMS += t/confine/egressd
t_confine_egressd_SOURCES = $(egressd_egressd_SOURCES) $(hostile_sources) \
	t/confine/as_egressd.c
t_confine_egressd_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=event_base_dispatch
t_confine_egressd_LDADD = $(egressd_egressd_LDADD)

TESTS += t/scenario/attack.t
EXTRA_DIST += t/scenario/attack.t
