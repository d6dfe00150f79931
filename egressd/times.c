/* times: the limits of time that hold in the service. */
#include "egressd/egress.h"

const struct egress_times egress_times = {
	.handshake = 10000,
	.bind = 10000,
	.connect = 30000,
	.idle = 300000,
};
