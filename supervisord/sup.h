/*
 * sup: the parts of the one supervisord process, so that each finds the
 * others. Every part is opaque and made by main in the order of the fields.
 */
#ifndef SUPERVISORD_SUP_H
#define SUPERVISORD_SUP_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/launch.h"
#include "model/settings.h"
#include "supervisord/protected.h"
#include "supervisord/share.h"

struct event_base;

struct sup {
	struct settings settings;
	struct event_base *base;
	struct turn *turn;
	struct store *store;
	struct link *link;
	struct egress *egress;
	struct cells *cells;
	struct spares *spares;
	struct registry *registry;
	struct tasks *tasks;
	struct sessions *sessions;
	struct sweep *sweep;
	struct idle *idle;
	struct auditlog *auditlog;
	struct fair *fair;
	struct share_tree shares; /* of all users who have something */
	struct clients *clients;
	struct artchecks *artchecks;
	struct inspections *inspections;
	struct restart *restart;
	const char *state_dir;
	int64_t started_mono_ms;
	int64_t launcher_pid;
	int64_t drained_ms; /* since when no run is started; 0: they are */
	size_t secrets;     /* runs whose secrets the launcher keeps */
	size_t checks;      /* cells that describe a template for a client */
	struct {
		char product[256];
		int64_t
		    seen_ms; /* when its sandbox was looked at; 0: not yet */
		bool confined;
		struct launch_sandbox sandbox; /* as it was seen */
	} browser; /* of the last cell that had one */
	struct protected protected[PROTECTION__MAX];
	struct adopted *adopted; /* until the runs have taken theirs */
	bool recovered;          /* what was there at the start is decided on */
	bool last_start;         /* no run goes on that was running before */
	bool serving;
	bool inspecting; /* another process reads the store, or is to */
	enum launch_renewal renewal;
	bool stopping; /* no new runs; live ones are being ended */
	int exit_code;
};

#endif
