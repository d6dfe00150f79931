/* notify: tells whoever started the launcher how far it is. */
#ifndef LAUNCHER_NOTIFY_H
#define LAUNCHER_NOTIFY_H

/* Takes the address out of the environment, so that no child inherits it. */
void notify_init(void);
/* Puts it back, for the program that takes this one's place. */
void notify_hand_on(void);
/* "READY=1", "STOPPING=1"; without systemd nothing happens. */
void notify_systemd(const char *state);
/* Writes the newline to --ready-fd, closes it and sets it to -1. */
void notify_ready_fd(int *fd);

#endif
