# model/: the tables (.def) that everything about runs, errors and settings
# is generated from.
noinst_LIBRARIES += model/libmodel.a
model_libmodel_a_SOURCES = \
	model/artifact_kinds.def \
	model/audit.c \
	model/audit.h \
	model/audit_actions.def \
	model/domains.c \
	model/domains.h \
	model/egress.c \
	model/egress.h \
	model/egress_outcomes.def \
	model/errors.c \
	model/errors.def \
	model/errors.h \
	model/events.def \
	model/faults.c \
	model/faults.def \
	model/faults.h \
	model/limits.h \
	model/mime.c \
	model/mime.h \
	model/modes.def \
	model/priorities.def \
	model/protections.c \
	model/protections.def \
	model/protections.h \
	model/run.c \
	model/run.h \
	model/secrethosts.c \
	model/secrethosts.h \
	model/setting_checks.c \
	model/setting_checks.h \
	model/settings.c \
	model/settings.def \
	model/settings.h \
	model/states.def \
	model/transitions.def \
	model/trust_levels.def

check_PROGRAMS += t/unit/model_test
t_unit_model_test_SOURCES = t/unit/model_test.c t/unit/tap.h
t_unit_model_test_LDADD = model/libmodel.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/model_test

check_PROGRAMS += t/unit/domains_test
t_unit_domains_test_SOURCES = t/unit/domains_test.c t/unit/tap.h
t_unit_domains_test_LDADD = model/libmodel.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/domains_test

check_PROGRAMS += t/unit/secrethosts_test
t_unit_secrethosts_test_SOURCES = t/unit/secrethosts_test.c t/unit/tap.h
t_unit_secrethosts_test_LDADD = model/libmodel.a common/libcommon.a $(BSD_LIBS)
TESTS += t/unit/secrethosts_test
