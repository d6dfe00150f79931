/*
 * The command restart: has the service start itself anew, waits until it serves
 * again, and says that it does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "ctl/ctl.h"
#include "ctl/text.h"
#include "json/writer.h"

#define CALL_MS   30000
#define BACK_MS   60000 /* until it serves again, with recovery */
#define BUF_BYTES 4096

struct served {
	char version[64];
	char programs[16]; /* replaced, refused */
	int64_t epoch, pid, active, queued;
};

static int64_t
number(struct json_val of, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(of, key), &n);
	return n;
}

static bool
read_profile(const struct client_answer *a, struct served *ret_served)
{
	struct json_val root;
	struct json_doc *doc;

	if (!json_parse((const uint8_t *)a->json, a->len, NULL, JSON_BORROW,
		&doc, NULL))
		return false;
	root = json_root(doc);
	ret_served->epoch = number(root, "epoch");
	ret_served->pid = number(root, "pid");
	ret_served->active = number(root, "activeRuns");
	ret_served->queued = number(root, "queuedRuns");
	if (!json_str_copy(json_obj_get(root, "version"), ret_served->version,
		sizeof(ret_served->version)))
		ret_served->version[0] = '\0';
	if (!json_str_copy(json_obj_get(root, "programs"), ret_served->programs,
		sizeof(ret_served->programs)))
		ret_served->programs[0] = '\0';
	json_doc_free(&doc);
	return true;
}

/*
 * Its sockets stay: who connects in between is taken by the next one, or loses
 * the connection to the one that is just ending, and tries again.
 */
static enum ctl_exit
wait_served(struct ctl *ctl, int64_t epoch, struct served *ret_served)
{
	int64_t until_ms = clock_mono_ms() + BACK_MS;
	struct client_answer a;
	struct ipc_params p;
	enum client_status status;
	char reason[CLIENT_REASON_MAX];

	do {
		client_free(&ctl->client);
		status = client_connect("browsertaskctl", ctl->opt[OPT_SOCKET],
		    &ctl->client, reason);
		if (status == CLIENT_NO_SERVICE)
			break;
		if (status != CLIENT_OK)
			continue;
		ipc_params_init(&p, MSG_PROFILE_GET);
		status = client_call(ctl->client, &p, CALL_MS, &a);
		if (status != CLIENT_OK)
			continue;
		status =
		    read_profile(&a, ret_served) && ret_served->epoch > epoch
		    ? CLIENT_OK
		    : CLIENT_LOST;
		client_answer_free(&a);
	} while (status != CLIENT_OK && clock_mono_ms() < until_ms);
	if (status == CLIENT_OK)
		return CTL_OK;
	ctl_error("the service ended as it was told to and does not serve "
		  "again");
	ctl_hint("its log says why: journalctl -u browsertaskd, where it was "
		 "started by systemd");
	return CTL_NO_SERVICE;
}

static void
print_served(const struct ctl *ctl, const struct served *s)
{
	struct json_writer w;
	char active[32];
	struct buf b;

	if (ctl->opt[OPT_JSON] == NULL) {
		text_count(s->active, "run", active, sizeof(active));
		printf("started anew: browsertaskd %s, epoch %" PRId64
		       ", %s active, %" PRId64 " waiting\n",
		    s->version, s->epoch, active, s->queued);
		return;
	}
	buf_init(&b, BUF_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "version", s->version);
	json_put_str(&w, "programs", s->programs);
	json_put_int64(&w, "epoch", s->epoch);
	json_put_int64(&w, "pid", s->pid);
	json_put_int64(&w, "activeRuns", s->active);
	json_put_int64(&w, "queuedRuns", s->queued);
	json_write_end_object(&w);
	ctl_print_written(&w, &b);
	buf_clear(&b);
}

/* supervisord is another one, but the program that was running. */
static enum ctl_exit
tell_refused(void)
{
	ctl_error(
	    "what is on the disk does not take over: browsertaskd and its "
	    "programs stay as they were, with their settings; only "
	    "supervisord was started again");
	ctl_hint("the log says why: journalctl -u browsertaskd, where it was "
		 "started by systemd; mend that and restart again");
	return CTL_FAILED;
}

enum ctl_exit
cmd_restart(struct ctl *ctl)
{
	struct served served = { .epoch = 0 };
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;
	int64_t epoch;

	ipc_params_init(&p, MSG_SERVICE_RESTART);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	epoch = number(a.root, "epoch");
	ctl_answer_free(&a);
	rc = wait_served(ctl, epoch, &served);
	if (rc != CTL_OK)
		return rc;
	if (strcmp(served.programs, "refused") != 0) {
		print_served(ctl, &served);
		return CTL_OK;
	}
	if (ctl->opt[OPT_JSON] != NULL)
		print_served(ctl, &served);
	return tell_refused();
}
