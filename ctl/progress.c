/*
 * The progress line. Runs in browsertaskctl; draws on standard error only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "ctl/progress.h"
#include "ctl/text.h"

#define BAR_COLUMNS    20
#define LINE_MAX_BYTES 2048

void
progress_init(struct progress *p, bool live, bool color, bool unicode)
{
	memset(p, 0, sizeof(*p));
	p->live = live;
	p->color = color;
	p->unicode = unicode;
	p->base = -1;
	snprintf(p->status, sizeof(p->status), "queued");
}

static void
take_numbers(struct progress *p, struct json_val v, const char *done,
    const char *total, int64_t mono_ms)
{
	json_get_int64(json_obj_get(v, done), &p->done);
	json_get_int64(json_obj_get(v, total), &p->total);
	json_get_int64(json_obj_get(v, "failed"), &p->failed);
	if (p->base == -1 && p->total > 0) {
		p->base = p->done;
		p->begun_ms = mono_ms;
	}
}

void
progress_take_run(struct progress *p, struct json_val run, int64_t mono_ms)
{
	json_str_copy(
	    json_obj_get(run, "status"), p->status, sizeof(p->status));
	if (p->begun_ms == 0)
		p->begun_ms = mono_ms;
	take_numbers(p, json_obj_get(run, "progress"), "doneSteps",
	    "totalSteps", mono_ms);
}

/* Title and address of a finished item, or why it failed. */
static void
take_item(struct progress *p, struct json_val item, bool good)
{
	struct json_val title = json_obj_get(item, "title");
	char *url = text_of(json_obj_get(item, "url"));
	char *why = text_of(json_obj_get(item, "message"));
	char *name = text_of(title);
	bool named = name != NULL && name[0] != '\0';

	if (!good)
		snprintf(p->now, sizeof(p->now), "%s: %s",
		    why == NULL || why[0] == '\0' ? "failed" : why,
		    url == NULL ? "" : url);
	else
		snprintf(p->now, sizeof(p->now), "%s%s%s", named ? name : "",
		    named ? "  " : "", url == NULL ? "" : url);
	free(url);
	free(why);
	free(name);
}

static void
print_plain(const struct progress *p)
{
	fprintf(stderr, "%*" PRId64 "/%" PRId64 "  %s\n",
	    p->total > 999      ? 4
		: p->total > 99 ? 3
				: 2,
	    p->done, p->total, p->now);
}

void
progress_take_event(struct progress *p, struct json_val event, int64_t mono_ms)
{
	struct json_val data = json_obj_get(event, "data");
	struct json_val item = json_obj_get(data, "item");
	struct json_val type = json_obj_get(event, "type");
	char *message;
	bool good = true;

	if (json_str_eq(type, "run_started")) {
		snprintf(p->status, sizeof(p->status), "running");
		/* Also when it starts again behind its journal. */
		p->begun_ms = mono_ms;
		p->base = p->total > 0 ? p->done : -1;
		if (!p->live && !p->silent)
			fprintf(stderr, "running\n");
	}
	if (!json_str_eq(type, "progress"))
		return;
	take_numbers(p, data, "done", "total", mono_ms);
	json_get_bool(json_obj_get(data, "ok"), &good);
	if (json_is_object(item)) {
		take_item(p, item, good);
		if (!p->live && !p->silent)
			print_plain(p);
		return;
	}
	message = text_of(json_obj_get(data, "message"));
	if (message != NULL && message[0] != '\0')
		snprintf(p->now, sizeof(p->now), "%s", message);
	free(message);
}

static void
put_bar(const struct progress *p, struct buf *b)
{
	int64_t full = p->total == 0 ? 0 : p->done * BAR_COLUMNS / p->total;

	for (int64_t i = 0; i < BAR_COLUMNS; i++)
		buf_add_str(b,
		    p->unicode     ? i < full ? "\xe2\x96\x88" : "\xe2\x96\x91"
			: i < full ? "#"
				   : ".");
}

/* The remaining time at the pace since the first sight. */
static void
put_eta(const struct progress *p, int64_t elapsed, struct buf *b)
{
	int64_t ours = p->done - (p->base > 0 ? p->base : 0);
	char text[32];

	if (ours < 2 || p->done >= p->total)
		return;
	text_duration(
	    elapsed / ours * (p->total - p->done), text, sizeof(text));
	buf_addf(b, "  ETA %s", text);
}

void
progress_line(const struct progress *p, int64_t mono_ms, size_t columns,
    char *ret_line, size_t size)
{
	int64_t elapsed = p->begun_ms == 0 ? 0 : mono_ms - p->begun_ms;
	char text[32];
	struct buf b, line;

	buf_init(&b, LINE_MAX_BYTES);
	buf_init(&line, LINE_MAX_BYTES * 2);
	text_duration(elapsed, text, sizeof(text));
	if (p->total > 0) {
		put_bar(p, &b);
		buf_addf(&b, " %" PRId64 "/%" PRId64, p->done, p->total);
		if (p->failed > 0)
			buf_addf(&b, "  %" PRId64 " failed", p->failed);
		buf_addf(&b, "  %s", text);
		put_eta(p, elapsed, &b);
	} else
		buf_addf(&b, "%s  %s", p->status, text);
	if (p->now[0] != '\0')
		buf_addf(&b, "  %s", p->now);
	buf_add(&b, "", 1);
	text_cut(&line, (char *)b.data, columns, p->unicode);
	snprintf(ret_line, size, "%.*s", (int)line.len, (char *)line.data);
	buf_clear(&b);
	buf_clear(&line);
}

void
progress_draw(struct progress *p, int64_t mono_ms)
{
	char line[LINE_MAX_BYTES * 2];

	if (!p->live)
		return;
	/* One less than there are: the cursor stands on the last. */
	progress_line(
	    p, mono_ms, text_columns(STDERR_FILENO) - 1, line, sizeof(line));
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	p->drawn = true;
}

void
progress_erase(struct progress *p)
{
	if (!p->drawn)
		return;
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
	p->drawn = false;
}
