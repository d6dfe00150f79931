/*
 * egressd with limits of time that tests can wait for; a machine that does other
 * things, too, keeps to them.
 */
#include "egressd/egress.h"

const struct egress_times egress_times = {
	.handshake = 4000,
	.bind = 4000,
	.connect = 4000,
	.idle = 3000,
};
