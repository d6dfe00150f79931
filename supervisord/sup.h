/*
 * sup: the parts of the one supervisord process, so that each finds the
 * others. Every part is opaque and made by main in the order of the fields.
 */
#ifndef SUPERVISORD_SUP_H
#define SUPERVISORD_SUP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/settings.h"

struct event_base;

struct sup {
	struct settings settings;
	struct event_base *base;
	struct turn *turn;
	struct store *store;
	struct link *link;
	struct registry *registry;
	struct tasks *tasks;
	struct sweep *sweep;
	struct clients *clients;
	int64_t started_mono_ms;
	bool serving;
	bool stopping; /* no new runs; live ones are being ended */
	int exit_code;
};

#endif
