/* egressd with limits of time that tests need not wait for. */
#include "egressd/egress.h"

const struct egress_times egress_times = {
	.handshake = 1500,
	.bind = 1500,
	.connect = 4000,
	.idle = 3000,
};
