# t/: the tests' library and the scenarios that need the whole system. Tests of
# one module are declared by that module.

EXTRA_DIST += t/lib/BrowserTask/Apps.pm t/lib/BrowserTask/Beside.pm t/lib/BrowserTask/Gate.pm \
	t/lib/BrowserTask/Oracle.pm \
	t/lib/BrowserTask/Points.pm \
	t/lib/BrowserTask/Scenario.pm \
	t/lib/BrowserTask/Size.pm \
	t/lib/BrowserTask/Trap.pm \
	t/lib/timed t/promises.pl
SYSTEM_TESTS = \
	t/regress/0001-refusals-say-how.t \
	t/regress/0002-step-in-flight.t \
	t/regress/0003-clock-of-a-run.t \
	t/regress/0004-items-have-all-fields.t \
	t/regress/0005-room-for-the-admin.t \
	t/regress/0006-list-while-runs-expire.t \
	t/regress/0007-adapter-forgets-secrets.t \
	t/regress/0008-dies-stopped.t \
	t/regress/0009-large-result-keeps-tab.t \
	t/regress/0010-too-few-descriptors.t \
	t/regress/0011-backup-after-fsck.t \
	t/regress/0012-canceled-between-steps.t \
	t/regress/0013-reset-before-reply.t \
	t/regress/0014-odd-memory-limit.t \
	t/regress/0015-limit-not-early.t \
	t/regress/0016-canceled-while-requeued.t \
	t/regress/0017-idle-after-requeue.t \
	t/regress/0018-adopted-without-spool.t \
	t/regress/0019-group-in-user-mode.t \
	t/regress/0020-no-memory-once.t \
	t/regress/0030-effect-not-repeated.t \
	t/regress/0031-worker-bounded-in-sum.t \
	t/regress/0032-phases-of-the-service.t \
	t/regress/0033-results-are-named.t \
	t/regress/0034-password-is-a-word.t \
	t/regress/0035-success-is-stored.t \
	t/regress/0040-slow-disk.t \
	t/regress/0041-backup-nobody-reads.t \
	t/regress/0050-hung-parts.t \
	t/regress/0051-ctl-gives-up.t \
	t/regress/0052-no-webgl.t \
	t/regress/0053-output-file.t \
	t/regress/0054-clean-environment.t \
	t/regress/0055-foreign-socket-directory.t \
	t/regress/0060-slots-are-shared.t \
	t/regress/0061-shares-of-a-user.t \
	t/regress/0062-list-cost.t \
	t/regress/0063-clone-below-0700.t \
	t/regress/0070-adapter-keeps-runs.t \
	t/regress/0071-secrets-have-hosts.t \
	t/regress/0072-sessions-have-owners.t \
	t/regress/0080-small-environment.t \
	t/regress/0081-answers-in-time.t \
	t/regress/0082-hanging-page.t \
	t/regress/0083-answers-fit-models.t \
	t/regress/0084-answers-with-its-id.t \
	t/regress/0085-no-more-run-than-may.t \
	t/regress/0086-pictures-are-pictures.t \
	t/regress/0090-long-page-in-batch.t \
	t/regress/0091-large-pages-are-read.t \
	t/regress/0092-late-data.t \
	t/regress/0100-removal-is-slow.t \
	t/regress/0101-stalled-check.t \
	t/regress/0102-silent-check.t \
	t/regress/0103-state-warning-kept.t \
	t/regress/0104-gap-and-items.t \
	t/regress/0110-retry-does-it-twice.t \
	t/regress/0111-backup-has-no-key.t \
	t/regress/0112-told-before-answered.t \
	t/regress/0113-older-copy-put-back.t \
	t/regress/0120-dialogs.t \
	t/regress/0121-choices.t \
	t/regress/0122-files.t \
	t/regress/0123-pages-of-a-form.t \
	t/regress/0140-frames-and-shadows.t \
	t/regress/0141-pending-everywhere.t \
	t/regress/0142-elements-in-short.t \
	t/regress/0143-pdf-is-a-resource.t \
	t/regress/0144-images-given-once.t \
	t/regress/0150-growing-page.t \
	t/regress/0151-hanging-script.t \
	t/regress/0152-reader-is-settable.t \
	t/regress/0160-user-name-is-no-secret.t \
	t/regress/0161-consent-is-answered.t \
	t/scenario/adopt.t \
	t/scenario/audit.t \
	t/scenario/badinput.t \
	t/scenario/badpages.t \
	t/scenario/bounded.t \
	t/scenario/clicks.t \
	t/scenario/codes.t \
	t/scenario/contract.t \
	t/scenario/crash.t \
	t/scenario/durable.t \
	t/scenario/egress_lost.t \
	t/scenario/egress_pages.t \
	t/scenario/faults.t \
	t/scenario/faults_socket.t \
	t/scenario/flipped.t \
	t/scenario/handover.t \
	t/scenario/hostile.t \
	t/scenario/inspections.t \
	t/scenario/journal.t \
	t/scenario/keys.t \
	t/scenario/killed_adapters.t \
	t/scenario/life.t \
	t/scenario/mcp_sdk.t \
	t/scenario/pages.t \
	t/scenario/points.t \
	t/scenario/poison.t \
	t/scenario/retention.t \
	t/scenario/secrets.t \
	t/scenario/serving.t \
	t/scenario/sessions.t \
	t/scenario/sharing.t \
	t/scenario/soak.t \
	t/scenario/spares.t \
	t/scenario/taskresult.t \
	t/scenario/texts.t \
	t/scenario/time.t \
	t/scenario/undrawn.t \
	t/scenario/visibility.t \
	t/scenario/wedged.t
dist_check_SCRIPTS += $(SYSTEM_TESTS)
TESTS += $(SYSTEM_TESTS)

# For audit.t: changes the log of a store that nobody has open.
check_PROGRAMS += t/scenario/audittamper
t_scenario_audittamper_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS)
t_scenario_audittamper_SOURCES = t/scenario/audittamper.c
t_scenario_audittamper_LDADD = $(STORAGE_TEST_LIBS)

# Workers that have templates of their own and no others: for clicks.t, for
# sessions.t and for secrets.t.
OWN_TEMPLATES = \
	t/scenario/canary.lua \
	t/scenario/clicker.lua \
	t/scenario/keeper.lua
$(OWN_TEMPLATES:.lua=.lua.inc): templates/embed.sh
EXTRA_DIST += $(OWN_TEMPLATES)
BUILT_SOURCES += $(OWN_TEMPLATES:.lua=.lua.inc) t/scenario/canary_kept.lua.inc
CLEANFILES += $(OWN_TEMPLATES:.lua=.lua.inc) t/scenario/canary_kept.lua \
	t/scenario/canary_kept.lua.inc
t/scenario/canary_kept.lua: t/scenario/canary.lua
	$(AM_V_GEN)$(MKDIR_P) t/scenario && \
	    sed 's/id = "canary",/id = "canary_kept", keepsSession = true,/' \
	    $(srcdir)/t/scenario/canary.lua >$@.tmp && mv $@.tmp $@

check_PROGRAMS += t/scenario/clickworker
t_scenario_clickworker_SOURCES = \
	t/scenario/clickworker.c \
	$(workerd_workerd_SOURCES)
t_scenario_clickworker_LDADD = workerd/libworkerd.a $(WORKER_LIBS)
t_scenario_clickworker_CPPFLAGS = $(workerd_workerd_CPPFLAGS)

check_PROGRAMS += t/scenario/keepworker
t_scenario_keepworker_SOURCES = \
	t/scenario/keepworker.c \
	$(workerd_workerd_SOURCES)
t_scenario_keepworker_LDADD = workerd/libworkerd.a $(WORKER_LIBS)
t_scenario_keepworker_CPPFLAGS = $(workerd_workerd_CPPFLAGS)

check_PROGRAMS += t/scenario/secretworker
t_scenario_secretworker_SOURCES = \
	t/scenario/secretworker.c \
	$(workerd_workerd_SOURCES)
t_scenario_secretworker_LDADD = workerd/libworkerd.a $(WORKER_LIBS)
t_scenario_secretworker_CPPFLAGS = $(workerd_workerd_CPPFLAGS)

# What begins when tests run beside each other, and what then runs alone, since
# it holds something to less than a second, or two.
TIMED_TESTS = \
	t/scenario/wedged.t \
	t/scenario/hostile.t \
	t/scenario/worker.t
LONG_TESTS = \
	t/scenario/egress_pages.t \
	t/scenario/atrest.t \
	t/scenario/points.t \
	t/scenario/bounded.t \
	t/scenario/secrets.t \
	t/scenario/crash.t \
	t/scenario/starved_clients.t \
	t/regress/0050-hung-parts.t \
	t/torn/torn_test \
	t/scenario/readability_test \
	t/scenario/protections.t \
	t/scenario/sessions.t \
	t/scenario/faults.t \
	t/regress/0082-hanging-page.t \
	t/scenario/badpages.t \
	t/scenario/adopt.t \
	t/scenario/life.t \
	t/scenario/launcher.t \
	t/scenario/soak.t \
	t/scenario/starved.t \
	t/scenario/orphans.t \
	t/scenario/journal.t \
	t/scenario/mcp_sdk.t \
	t/scenario/codes.t
SHORT_TESTS = \
	$(filter t/regress/%,$(TESTS)) \
	t/scenario/badinput.t \
	t/scenario/manual.t \
	t/scenario/pages.t
USER_TESTS = \
	t/scenario/egress_pages.t \
	t/scenario/launcher.t \
	t/scenario/manual.t \
	t/scenario/pages.t

# What tests take from npm, pinned: clients of the Model Context Protocol, and
# applications whose pages are read. t/scenario/mcp_sdk.t and
# t/scenario/pageapps_test skip without them.
MCP_CLIENTS = t/mcp/package.json t/mcp/package-lock.json t/mcp/schema.mjs \
	t/mcp/sdk.mjs t/mcp/tap.mjs
PAGE_APPS = t/apps/package.json t/apps/package-lock.json
EXTRA_DIST += $(MCP_CLIENTS) $(PAGE_APPS) t/apps/pages.list
INSTALL_PINNED = $(MKDIR_P) "$$dir" && for f in $$files; do \
		test $$f -ef $(srcdir)/$$f || cp $(srcdir)/$$f $$f; done && \
	cd "$$dir" && $(NPM) ci --ignore-scripts --no-audit --no-fund
mcp-clients: $(MCP_CLIENTS)
	@dir=t/mcp; files='$(MCP_CLIENTS)'; $(INSTALL_PINNED)
page-apps: $(PAGE_APPS)
	@dir=t/apps; files='$(PAGE_APPS)'; $(INSTALL_PINNED)
.PHONY: mcp-clients page-apps
