# Copies of the programs whose calls can be refused: t/faults/shim.c.
check_PROGRAMS += t/faults/browsertask-mcp t/faults/browsertaskctl \
	t/faults/browsertaskd t/faults/cell t/faults/egressd \
	t/faults/supervisord t/faults/workerd
fault_shim = t/faults/kinds.def t/faults/shim.c t/faults/shim.h
t_faults_browsertask_mcp_CPPFLAGS = $(mcp_browsertask_mcp_CPPFLAGS)
t_faults_browsertask_mcp_SOURCES = $(mcp_browsertask_mcp_SOURCES) $(fault_shim)
t_faults_browsertask_mcp_LDADD = $(mcp_browsertask_mcp_LDADD)
t_faults_browsertaskctl_CPPFLAGS = $(ctl_browsertaskctl_CPPFLAGS)
t_faults_browsertaskctl_SOURCES = $(ctl_browsertaskctl_SOURCES) $(fault_shim)
t_faults_browsertaskctl_LDADD = $(ctl_browsertaskctl_LDADD)
t_faults_browsertaskd_SOURCES = $(launcher_browsertaskd_SOURCES) $(fault_shim)
t_faults_browsertaskd_LDADD = $(launcher_browsertaskd_LDADD)
t_faults_cell_SOURCES = $(cell_cell_SOURCES) $(fault_shim)
t_faults_cell_LDADD = $(cell_cell_LDADD)
t_faults_egressd_SOURCES = $(egressd_egressd_SOURCES) $(fault_shim)
t_faults_egressd_LDADD = $(egressd_egressd_LDADD)
t_faults_supervisord_SOURCES = $(supervisord_supervisord_SOURCES) $(fault_shim)
t_faults_supervisord_LDADD = $(supervisord_supervisord_LDADD)
t_faults_workerd_CPPFLAGS = $(workerd_workerd_CPPFLAGS)
t_faults_workerd_SOURCES = $(workerd_workerd_SOURCES) $(fault_shim)
t_faults_workerd_LDADD = $(workerd_workerd_LDADD)
dist_check_SCRIPTS += t/scenario/starved.t t/scenario/starved_clients.t
TESTS += t/scenario/starved.t t/scenario/starved_clients.t
EXTRA_DIST += t/lib/BrowserTask/Starved.pm

check_PROGRAMS += t/unit/storage_starved_test
t_unit_storage_starved_test_SOURCES = t/unit/storage_starved_test.c \
	t/unit/storage_fixture.h t/unit/tap.h $(fault_shim)
t_unit_storage_starved_test_LDADD = $(STORAGE_TEST_LIBS)
TESTS += t/unit/storage_starved_test

check_PROGRAMS += t/unit/starved_test
t_unit_starved_test_SOURCES = t/unit/starved_test.c t/unit/tap.h $(fault_shim)
t_unit_starved_test_LDADD = cdp/libcdp.a $(supervisord_supervisord_LDADD)
TESTS += t/unit/starved_test

check_PROGRAMS += t/unit/mcp_out_test
t_unit_mcp_out_test_SOURCES = t/unit/mcp_out_test.c t/unit/tap.h $(fault_shim)
t_unit_mcp_out_test_LDADD = $(MCP_LIBS)
TESTS += t/unit/mcp_out_test
