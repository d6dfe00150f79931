/*
 * client: connections of clients and administrators.
 */
#ifndef SUPERVISORD_CLIENT_H
#define SUPERVISORD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/msg.h"
#include "model/run.h"
#include "supervisord/share.h"
#include "supervisord/watch.h"

struct client;
struct clients;
struct sup;

struct clients *clients_new(struct sup *);
/*
 * Listens on the bound sockets, which are borrowed. Returns 0 or an errno
 * value.
 */
int clients_listen(struct clients *, int client_fd, int admin_fd);
/* Closes every connection and listens no more. */
void clients_free(struct clients **);
size_t clients_count(const struct clients *);
/* While held, nothing is read from the connections of that user. */
void clients_hold(struct clients *, const struct share *, bool hold);
/* The settings changed: takes over the limits on clients. */
void clients_reload(struct clients *);

struct sup *client_sup(const struct client *);
uid_t client_uid(const struct client *);
bool client_is_admin(const struct client *);
/* As its hello left it. */
enum trust_level client_trust(const struct client *);
/* Whose sessions it uses, SESSION_ALL_LABELS of an administrator; "": none. */
const char *client_label(const struct client *);
/* May it tell the service what to do: root, the service's own user, admin. */
bool client_may_command(const struct client *);
/* May it see what belongs to any uid? */
bool client_sees_all(const struct client *);
/* May it see, and end, what belongs to that uid? */
bool client_may_see(const struct client *, uint32_t uid);
/*
 * The same of runs and their artifacts, to read only: users may share them (the
 * setting shareRuns), if they are local.
 */
bool client_reads_all(const struct client *);
bool client_may_read(const struct client *, uint32_t uid);
/*
 * Has it not read this artifact before, or other ones so many since? The next
 * time it has.
 */
bool client_reads_first(struct client *, const struct ulid *artifact);
struct share *client_share(const struct client *);
/*
 * Holds its answers until what was held is let go as often: what they tell of is
 * not stored yet.
 */
void client_hold(struct client *, bool hold);
/* One more, or one less, of its requests waits for an answer. */
void client_count_waiting(struct client *, bool more);
/*
 * May another of its requests wait? If not, ret_text says why.
 */
bool client_may_wait(const struct client *, char ret_text[SHARE_TEXT_BYTES]);
struct watch_list *client_watches(struct client *);
/* Its mark for turn_answered(). */
uint64_t *client_turn_mark(struct client *);
/* Is there room for events that may also come later? */
bool client_has_room(const struct client *);

/* A client that cannot take what it is sent is dropped. */
void
client_send_result(struct client *, uint32_t seq, const void *json, size_t len);
void
client_send_error(struct client *, uint32_t seq, const void *json, size_t len);
void client_send_note(struct client *, const struct ipc_params *);
/*
 * Lets go of the connection, which is the caller's then; the client ends as if
 * it had been closed. False when that cannot be: it is closed.
 */
bool client_give_up(struct client *, int *ret_fd);
/* Closes the connection, a little later: safe wherever a client is at hand. */
void client_drop(struct client *, const char *why);

#endif
