# t/: the tests' library and the scenarios that need the whole system. Tests of
# one module are declared by that module.

dist_check_SCRIPTS += t/scenario/crash.t
TESTS += t/scenario/crash.t
