/*
 * supervisord: owns the run table, the artifacts and all decisions. Started by
 * the launcher with fixed descriptors; it opens the state directory and takes
 * connections, and never touches the network, executes anything or acts on a
 * byte it received without checking it.
 *
 * Order of start: arguments, descriptors, store, confinement, templates,
 * recovery, loop.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/timers.h"
#include "confine/confine.h"
#include "launch/launch.h"
#include "storage/store.h"
#include "storage/sweep.h"
#include "supervisord/adopt.h"
#include "supervisord/auditcheck.h"
#include "supervisord/artcheck.h"
#include "supervisord/auditlog.h"
#include "supervisord/cells.h"
#include "supervisord/client.h"
#include "supervisord/confine.h"
#include "supervisord/describe.h"
#include "supervisord/drain.h"
#include "supervisord/egress.h"
#include "supervisord/fair.h"
#include "supervisord/idle.h"
#include "supervisord/inspect.h"
#include "supervisord/inspectcall.h"
#include "supervisord/link.h"
#include "supervisord/protected.h"
#include "supervisord/recover.h"
#include "supervisord/registry.h"
#include "supervisord/reload.h"
#include "supervisord/restart.h"
#include "supervisord/session.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/sweep.h"
#include "supervisord/task.h"
#include "supervisord/turn.h"

#define FD_LAUNCHER   3
#define FD_CLIENTS    4
#define FD_ADMIN      5
#define FD_RESERVE    512 /* for workers, their files and the store */
#define FD_WANTED     (65536 + FD_RESERVE)
#define STOP_GRACE_MS 3000
#define STORE_RESERVE (1u << 20)
#define LAST_COMMITS  4
#define TIMERS        4096 /* of runs, cells, clients and watches */
#define EXIT_USAGE    64

struct program {
	struct sup sup;
	struct describe *describe;
	struct event *sigterm, *sigint, *give_up;
};

static struct program program;

_Noreturn static void
usage(void)
{
	fprintf(stderr,
	    "usage: supervisord -s STATEDIR [-o name=value ...]\n"
	    "Started by browsertaskd only, but for\n"
	    "       supervisord -A -s STATEDIR [-n ROW:HASH]\n"
	    "which checks the audit log of a service that does not run.\n");
	exit(EXIT_USAGE);
}

static const char *
read_arguments(
    int argc, char *argv[], struct settings *settings, const char **ret_noted)
{
	const char *state_dir = NULL, *noted = NULL;
	bool check = false;
	char why[256];
	int ch;

	settings_default(settings);
	while ((ch = getopt(argc, argv, "An:s:o:")) != -1) {
		switch (ch) {
		case 'A':
			check = true;
			break;
		case 'n':
			noted = optarg;
			break;
		case 's':
			state_dir = optarg;
			break;
		case 'o':
			if (!settings_assign(
				settings, optarg, why, sizeof(why)))
				fatal("-o %s", why);
			break;
		default:
			usage();
		}
	}
	if (state_dir == NULL || optind != argc)
		usage();
	if (check)
		exit(auditcheck_run(state_dir, noted));
	*ret_noted = noted;
	return state_dir;
}

/* 0..5 are ours; anything else open was leaked by whoever started us. */
static void
check_descriptors(void)
{
	char why[FDIO_WHY_BYTES];

	if (!fd_check_inherited(FD_LAUNCHER, FD_ADMIN, why))
		fatal("%s", why);
}

/*
 * Clients must never use up the descriptors that workers and files need: a
 * READY whose descriptors cannot be received would break the launcher's link.
 */
static void
reserve_descriptors(struct settings *settings)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		fatal("RLIMIT_NOFILE: %s", strerror(errno));
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_cur > FD_WANTED)
		limit.rlim_cur = FD_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit) == -1)
		fatal("RLIMIT_NOFILE: %s", strerror(errno));
	if (limit.rlim_cur <= FD_RESERVE) {
		log_err("at least %d descriptors are needed (RLIMIT_NOFILE)",
		    FD_RESERVE + 1);
		exit(LAUNCH_EXIT_SYSTEM);
	}
	reload_fit(settings, (int64_t)limit.rlim_cur - FD_RESERVE);
}

static void
open_store(struct sup *sup, const char *state_dir)
{
	struct store_options options = { .now_ms = clock_stamp_ms(),
		.reserve_bytes = STORE_RESERVE,
		.on_pending = turn_on_pending,
		.on_deferred = turn_on_deferred,
		.on_pending_arg = sup->turn };
	struct purge_result purged = { 0 };
	struct store_error error;
	enum store_err err;

	if (store_open(state_dir, &options, &sup->store, &error) != STORE_OK) {
		log_err("store in %s: %s: %s%s%s", state_dir, error.text,
		    store_strerror(error.code), error.sys > 0 ? ": " : "",
		    error.sys > 0 ? strerror(error.sys) : "");
		exit(LAUNCH_EXIT_STORE);
	}
	/* Later, so that new ids are above those that are stored. */
	clock_set_floor(store_floor_ms(sup->store) + 1);
	drain_load(sup);
	turn_set_store(sup->turn, sup->store);
	err = store_purge(sup->store, &purged);
	if (err != STORE_OK)
		log_warn("purge: %s", store_strerror(err));
	else if (purged.incoming + purged.artifacts + purged.spools +
		purged.states >
	    0)
		log_info("purged %u unfinished files, %u unnamed artifacts, %u"
			 " spools, %u states of sessions",
		    purged.incoming, purged.artifacts, purged.spools,
		    purged.states);
}

/* From here on no turn waits for the disk. */
static int
start_committer(void *arg)
{
	struct sup *sup = arg;
	int error = store_committer_start(sup->store);

	if (error == 0 && !turn_watch_committer(sup->turn))
		error = ENOMEM;
	return error;
}

/* Ending. */

static void
sup_exit(struct sup *sup, int code)
{
	sup->exit_code = code;
	event_base_loopbreak(sup->base);
}

/* The link to the launcher, or the store. */
static void
on_broken(void *arg)
{
	sup_exit(arg, 1);
}

static void
on_idle(struct sup *sup)
{
	sup_exit(sup, 0);
}

static void
on_give_up(evutil_socket_t fd, short what, void *arg)
{
	log_warn("stopping: grace period is over");
	sup_exit(arg, 0);
}

static void
on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct timeval grace = { .tv_sec = STOP_GRACE_MS / 1000 };
	struct sup *sup = arg;

	if (sup->stopping)
		return;
	log_info("stopping");
	sup->stopping = true;
	spares_pump(sup);
	inspectcall_close(sup, "the service is being stopped");
	evtimer_add(program.give_up, &grace);
	tasks_stop(sup->tasks);
	tasks_on_idle(sup->tasks, on_idle);
}

static void
on_unneeded(struct sup *sup)
{
	link_unneeded(sup->link);
}

/* Starting. */

static void
serve(struct sup *sup)
{
	int error;

	if (sup->serving || sup->stopping)
		return;
	CRASH_POINT(serve_begun);
	error = clients_listen(sup->clients, FD_CLIENTS, FD_ADMIN);
	if (error != 0) {
		log_err("client sockets: %s", strerror(error));
		sup_exit(sup, 1);
		return;
	}
	CRASH_POINT(serve_listens);
	sup->serving = true;
	link_serving(sup->link);
	CRASH_POINT(serve_told);
	tasks_pump(sup->tasks);
	spares_pump(sup);
	sweep_arm(sup->sweep);
	idle_look(sup->idle);
	auditlog_start(sup);
	log_info("serving, epoch %u", store_epoch(sup->store));
}

static void
on_described(struct sup *sup, bool good)
{
	if (sup->stopping)
		return;
	CRASH_POINT(described);
	if (good)
		sessions_load(sup);
	if (!good || !recover_runs(sup)) {
		sup_exit(sup, 1);
		return;
	}
	/* Runs that a crash ended are terminal before anybody can ask. */
	tasks_on_settled(sup->tasks, serve);
}

static void
on_adopt(void *arg, uint32_t cell_id, const struct launch_adopt *a,
    int fds[LAUNCH_MAX_FDS])
{
	adopt_offer(arg, cell_id, a, fds);
}

static void
on_kept(void *arg, const struct launch_kept *kept)
{
	adopt_secrets(arg, kept);
}

/* From here on cells can be ordered: their ids and slots are known. */
static void
on_adopt_end(void *arg, const struct launch_adopt_end *end)
{
	struct sup *sup = arg;

	sup->inspecting = end->inspected != 0;
	sup->renewal = (enum launch_renewal)end->renewal;
	sup->last_start = end->last != 0;
	adopt_decide(sup);
	program.describe = describe_new(sup, on_described);
	if (program.describe != NULL)
		return;
	log_err("templates cannot be described: no cell could be ordered");
	sup_exit(sup, 1);
}

static void
on_egress(void *arg, int fd)
{
	struct sup *sup = arg;

	if (fd == -1)
		egress_lost(sup->egress);
	else if (!egress_take(sup->egress, fd))
		/* It is offered once, and no run has a network without it. */
		turn_break(sup->turn, "egressd", "no memory to connect to it");
}

static void
on_inspected(void *arg)
{
	inspectcall_over(arg);
}

static void
on_restart(void *arg)
{
	struct sup *sup = arg;

	CRASH_POINT(restart_heard);
	restart_now(sup->restart);
}

static bool
make_parts(struct program *p)
{
	static const struct link_service service = { reload_setting, on_egress,
		protected_take, on_inspected, on_adopt, on_kept, on_adopt_end,
		on_restart };
	struct sup *sup = &p->sup;

	if (!timers_reserve(sup->base, TIMERS))
		return false;
	sup->registry = registry_new();
	sup->tasks = tasks_new(sup);
	sup->sweep = sweep_new(sup);
	sup->idle = idle_new(sup, on_unneeded);
	sup->auditlog = auditlog_new(sup);
	sup->fair = fair_new(sup);
	sup->clients = clients_new(sup);
	sup->artchecks = artchecks_new(sup);
	sup->inspections = inspections_new();
	sup->restart = restart_new(sup);
	sup->cells = cells_new(sup);
	sup->sessions = sup->cells == NULL ? NULL : sessions_new(sup);
	sup->spares = spares_new(sup);
	sup->link = link_new(sup->base, FD_LAUNCHER, on_broken, sup);
	sup->egress = egress_new(sup->base);
	if (sup->egress != NULL)
		egress_expect(sup->egress);
	if (sup->link != NULL)
		link_on_service(sup->link, &service);
	p->give_up = evtimer_new(sup->base, on_give_up, sup);
	p->sigterm = evsignal_new(sup->base, SIGTERM, on_signal, sup);
	p->sigint = evsignal_new(sup->base, SIGINT, on_signal, sup);
	if (sup->registry == NULL || sup->tasks == NULL || sup->sweep == NULL ||
	    sup->sessions == NULL || sup->idle == NULL ||
	    sup->auditlog == NULL || sup->fair == NULL ||
	    sup->clients == NULL || sup->artchecks == NULL ||
	    sup->inspections == NULL || sup->restart == NULL ||
	    sup->link == NULL || sup->cells == NULL || sup->spares == NULL ||
	    sup->egress == NULL || p->give_up == NULL || p->sigterm == NULL ||
	    p->sigint == NULL)
		return false;
	evsignal_add(p->sigterm, NULL);
	evsignal_add(p->sigint, NULL);
	return true;
}

static void
free_parts(struct program *p)
{
	struct sup *sup = &p->sup;

	auditlog_stop(sup);
	/*
	 * Also what the last turn left: items that waited for company; and then
	 * what the ends of these have to tell.
	 */
	for (int i = 0; i < LAST_COMMITS && store_pending(sup->store); i++)
		if (store_commit(sup->store, clock_stamp_ms()) != STORE_OK)
			break;
	auditlog_note(sup);
	clients_free(&sup->clients);
	fair_free(&sup->fair);
	artchecks_free(&sup->artchecks);
	store_give_up(sup->store);
	/* What goes on must not be told anything: all ends with this process. */
	if (sup->exit_code == LAUNCH_EXIT_RESTART)
		return;
	inspections_free(&sup->inspections);
	restart_free(&sup->restart);
	tasks_free(&sup->tasks);
	sessions_free(&sup->sessions);
	describe_free(&p->describe);
	spares_free(&sup->spares);
	adopt_free(sup);
	cells_free(&sup->cells);
	sweep_free(&sup->sweep);
	auditlog_free(&sup->auditlog);
	idle_free(&sup->idle);
	link_free(&sup->link);
	egress_free(&sup->egress);
	registry_free(&sup->registry);
	/* Last: runs that did not end have files open in it. */
	store_free(&sup->store);
	turn_free(&sup->turn);
	event_free(p->sigterm);
	event_free(p->sigint);
	event_free(p->give_up);
	event_base_free(sup->base);
}

int
main(int argc, char *argv[])
{
	struct sup *sup = &program.sup;
	const char *state_dir, *noted;

	log_init("supervisord", LOGL_INFO);
	if (inspect_wanted(argc, argv))
		return inspect_main(argc, argv);
	share_init(&sup->shares);
	state_dir = read_arguments(argc, argv, &sup->settings, &noted);
	if (sup->settings.debug)
		log_init("supervisord", LOGL_DEBUG);
	check_descriptors();
	reserve_descriptors(&sup->settings);
	/* Else the end of each turn would sort through all that it freed. */
	mallopt(M_MXFAST, 0);
	/* The committer gives back what the loop took. */
	mallopt(M_ARENA_MAX, 1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a full disk by another name */
	signal(SIGHUP, SIG_IGN);  /* is meant for the launcher */
	sup->started_mono_ms = clock_mono_ms();
	sup->launcher_pid = getppid();
	sup->state_dir = state_dir;
	sup->base = loop_new();
	sup->turn = sup->base == NULL
	    ? NULL
	    : turn_new(sup->base, on_broken, auditlog_committed, sup);
	if (sup->turn == NULL)
		fatal("no event loop");
	open_store(sup, state_dir);
	if (!make_parts(&program))
		fatal("no memory");
	auditlog_compare(sup, noted);
	if (protection_is_waived(sup->settings.waive, PROTECTION_CALL_FILTERS))
		confine_filter_waive();
	supervisord_confine(state_dir, start_committer, sup);
	setproctitle("running");
	event_base_dispatch(sup->base);
	free_parts(&program);
	if (sup->exit_code == LAUNCH_EXIT_RESTART)
		CRASH_POINT(restart_ends);
	log_info("ends");
	return sup->exit_code;
}
