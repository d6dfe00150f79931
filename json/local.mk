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
