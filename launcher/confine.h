/* confine: what the launcher, and with it everything, lets go of. */
#ifndef LAUNCHER_CONFINE_H
#define LAUNCHER_CONFINE_H

/* Before it opens or starts anything. 0 or an errno value. */
int launcher_confine(void);

#endif
