# json/: JSON texts in and out, and JSON Schema (its own library: PCRE2).
noinst_LIBRARIES += json/libjson.a
json_libjson_a_SOURCES = \
	json/canon.c \
	json/canon.h \
	json/number.c \
	json/number.h \
	json/scan.h \
	json/span.c \
	json/span.h \
	json/tape.c \
	json/tape.h \
	json/tape_int.h \
	json/text.c \
	json/text.h \
	json/value.c \
	json/writer.c \
	json/writer.h

noinst_LIBRARIES += json/libschema.a
json_libschema_a_SOURCES = \
	json/categories.def \
	json/keywords.def \
	json/pattern.c \
	json/pattern.h \
	json/pattern_translate.c \
	json/schema.c \
	json/schema.h \
	json/schema_apply.c \
	json/schema_check.c \
	json/schema_compile.c \
	json/schema_error.c \
	json/schema_int.h \
	json/schema_refs.c \
	json/schema_secret.c \
	json/uri.c \
	json/uri.h
json_libschema_a_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS)

# Programs with schemas link: json/libschema.a json/libjson.a $(PCRE2_LIBS)
json_test_libs = json/libjson.a common/libcommon.a $(BSD_LIBS)

check_PROGRAMS += t/unit/json_tape_test
t_unit_json_tape_test_SOURCES = \
	t/unit/json_support.h \
	t/unit/json_tape_test.c \
	t/unit/tap.h
t_unit_json_tape_test_LDADD = $(json_test_libs)
TESTS += t/unit/json_tape_test

check_PROGRAMS += t/unit/json_span_test
t_unit_json_span_test_SOURCES = \
	t/unit/json_support.h \
	t/unit/json_span_test.c \
	t/unit/tap.h
t_unit_json_span_test_LDADD = $(json_test_libs)
TESTS += t/unit/json_span_test

check_PROGRAMS += t/unit/json_writer_test
t_unit_json_writer_test_SOURCES = \
	t/unit/json_support.h \
	t/unit/json_writer_test.c \
	t/unit/tap.h
t_unit_json_writer_test_LDADD = $(json_test_libs)
TESTS += t/unit/json_writer_test

check_PROGRAMS += t/unit/json_schema_test
t_unit_json_schema_test_SOURCES = \
	t/unit/json_schema_test.c \
	t/unit/json_support.h \
	t/unit/tap.h
t_unit_json_schema_test_LDADD = json/libschema.a $(json_test_libs) $(PCRE2_LIBS)
TESTS += t/unit/json_schema_test

check_PROGRAMS += t/unit/json_oracle_test
t_unit_json_oracle_test_SOURCES = \
	t/unit/json_oracle.h \
	t/unit/json_oracle_test.c \
	t/unit/json_support.h \
	t/unit/tap.h
t_unit_json_oracle_test_LDADD = $(json_test_libs)
if HAVE_JSON_C
t_unit_json_oracle_test_SOURCES += t/unit/json_oracle.c
t_unit_json_oracle_test_CPPFLAGS = $(AM_CPPFLAGS) $(JSON_C_CFLAGS) -DHAVE_JSON_C
t_unit_json_oracle_test_LDADD += $(JSON_C_LIBS)
endif
TESTS += t/unit/json_oracle_test
