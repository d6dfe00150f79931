/*
 * caps: capabilities of the calling process, by the system call: there is too
 * little to do for a library. Runs in the cell and in its children.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/caps.h"

static int
caps_set(uint32_t mask)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = mask;
	return syscall(SYS_capset, &head, data) == -1 ? errno : 0;
}

int
caps_keep(bool kept)
{
	uint32_t mask = 1U << CAP_KILL;

	if (kept)
		mask |= 1U << CAP_SETUID | 1U << CAP_SETGID;
	return caps_set(mask);
}

int
caps_drop(void)
{
	return caps_set(0);
}
