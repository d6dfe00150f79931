/* egressd with limits of time that tests need not wait for. */
#include "egressd/egress.h"

const struct egress_times egress_times = {
	.handshake = 400,
	.bind = 400,
	.connect = 1500,
	.idle = 1000,
};
