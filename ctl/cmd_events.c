/*
 * events: a run's event log, once or as it grows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/buf.h"
#include "common/clock.h"
#include "ctl/ctl.h"
#include "ctl/eventline.h"
#include "ctl/progress.h"
#include "ctl/text.h"
#include "model/run.h"

#define POLL_MS       55000
#define DRAW_MS       200
#define DETAIL_BYTES  65536
#define DETAIL_COLUMN 39 /* where what an event says begins */
#define DETAIL_LEAST  24 /* columns that it has */
#define DETAIL_NARROW 7  /* where it goes on when it has fewer */

/* How many columns it took. */
static size_t
print_clock(int64_t stamp_ms)
{
	time_t t = (time_t)(stamp_ms / 1000);
	struct tm tm;
	char text[16];

	if (localtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof(text), "%H:%M:%S", &tm) == 0)
		snprintf(text, sizeof(text), "?");
	return (size_t)printf("%s.%03d", text, (int)(stamp_ms % 1000));
}

/* In words on a terminal; all of the data elsewhere. */
static void
add_detail(const struct ctl *ctl, struct json_val event, struct buf *line)
{
	const uint8_t *raw = (const uint8_t *)"";
	size_t len = 0;

	if (ctl->columns > 0) {
		eventline_add(event, line);
		return;
	}
	json_raw(json_obj_get(event, "data"), &raw, &len);
	if (len > 2)
		text_clean(line, (const char *)raw,
		    len < DETAIL_BYTES ? len : DETAIL_BYTES, false);
}

static void
print_event(const struct ctl *ctl, struct json_val event)
{
	size_t columns = (size_t)ctl->columns, at;
	char *type = text_of(json_obj_get(event, "type"));
	int64_t seq = 0, ms = 0;
	struct buf line;

	json_get_int64(json_obj_get(event, "seq"), &seq);
	json_get_int64(json_obj_get(event, "time"), &ms);
	buf_init(&line, 2 * DETAIL_BYTES);
	add_detail(ctl, event, &line);
	buf_add(&line, "", 1);
	at = (size_t)printf("%5" PRId64 "  ", seq);
	at += print_clock(ms);
	printf("  %s%-16s%s  ", ctl->color ? "\033[1m" : "",
	    type == NULL ? "" : type, ctl->color ? "\033[0m" : "");
	at += 4 + (type == NULL || strlen(type) < 16 ? 16 : strlen(type));
	text_wrap(stdout, line.failed ? "" : (char *)line.data, columns, at,
	    columns < DETAIL_COLUMN + DETAIL_LEAST ? DETAIL_NARROW
						   : DETAIL_COLUMN);
	buf_clear(&line);
	free(type);
}

/* One JSON text per line, so that another program can read as they come. */
static void
print_line(struct json_val event)
{
	const uint8_t *raw;
	size_t len;

	if (json_raw(event, &raw, &len))
		printf("%.*s\n", (int)len, (const char *)raw);
}

struct reader {
	struct ctl *ctl;
	const char *run_id;
	int64_t after;
	bool ended;
	struct progress progress; /* below the events, on a terminal */
	struct event *draw;
};

static void
on_draw(evutil_socket_t fd, short what, void *arg)
{
	struct reader *r = arg;

	if (!r->ended)
		progress_draw(&r->progress, clock_mono_ms());
}

/*
 * While events are followed on a terminal: how far the run is, and how long it
 * will take. It needs both streams there, so that they do not mix in a file.
 */
static enum ctl_exit
progress_start(struct reader *r)
{
	struct timeval tv = { 0, DRAW_MS * 1000 };
	struct ctl *ctl = r->ctl;
	struct ctl_answer a;
	enum ctl_exit rc = run_get(ctl, r->run_id, &a);

	if (rc != CTL_OK)
		return rc;
	progress_init(&r->progress, true, ctl->color, ctl->unicode);
	progress_take_run(&r->progress, a.root, clock_mono_ms());
	ctl_answer_free(&a);
	r->draw =
	    event_new(client_base(ctl->client), -1, EV_PERSIST, on_draw, r);
	if (r->draw != NULL)
		event_add(r->draw, &tv);
	return CTL_OK;
}

static void
progress_end(struct reader *r)
{
	progress_erase(&r->progress);
	if (r->draw != NULL)
		event_free(r->draw);
	r->draw = NULL;
}

/* One answer: prints its events and moves on. */
static enum ctl_exit
read_some(struct reader *r, int wait_ms, size_t *ret_count)
{
	struct ctl_answer a;
	struct ipc_params p;
	struct json_iter it;
	enum run_status status;
	enum ctl_exit rc;
	char name[32] = "";

	ipc_params_init(&p, MSG_RUN_EVENTS);
	ipc_set_str(&p, F_RUN_ID, r->run_id);
	ipc_set_int(&p, F_AFTER_SEQ, r->after);
	ipc_set_int(&p, F_TIMEOUT_MS, wait_ms);
	rc = ctl_call(r->ctl, &p, CLIENT_WHILE_ALIVE, &a);
	if (rc != CTL_OK)
		return rc;
	*ret_count = 0;
	progress_erase(&r->progress);
	it = json_iter(json_obj_get(a.root, "events"));
	while (json_iter_next(&it)) {
		json_get_int64(json_obj_get(it.val, "seq"), &r->after);
		(*ret_count)++;
		if (r->draw != NULL)
			progress_take_event(
			    &r->progress, it.val, clock_mono_ms());
		if (r->ctl->opt[OPT_JSON] != NULL)
			print_line(it.val);
		else
			print_event(r->ctl, it.val);
	}
	json_str_copy(json_obj_get(a.root, "status"), name, sizeof(name));
	r->ended =
	    run_status_by_name(name, &status) && run_status_terminal(status);
	fflush(stdout);
	ctl_answer_free(&a);
	if (r->draw != NULL)
		on_draw(-1, 0, r);
	return CTL_OK;
}

enum ctl_exit
cmd_events(struct ctl *ctl)
{
	bool follow = ctl->opt[OPT_FOLLOW] != NULL;
	struct reader r = { .ctl = ctl };
	char id[IPC_ID_MAX + 1];
	size_t count = 0;
	enum ctl_exit rc;

	if (!ctl_number(ctl, OPT_AFTER, 0, IPC_INT_MAX, &r.after))
		return CTL_USAGE;
	rc = run_id_of(ctl, ctl->args[0], id);
	r.run_id = id;
	if (rc == CTL_OK && follow && ctl->out_tty && ctl->err_tty &&
	    ctl->opt[OPT_JSON] == NULL)
		rc = progress_start(&r);
	if (rc == CTL_OK)
		rc = read_some(&r, 0, &count);
	/*
	 * The last events of a run that has ended may lie beyond one answer,
	 * and an ended run is read until nothing comes.
	 */
	while (rc == CTL_OK && (count > 0 || (follow && !r.ended)))
		rc = read_some(&r, follow ? POLL_MS : 0, &count);
	progress_end(&r);
	return rc;
}
