/*
 * Commands about templates: templates, template show, template check.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/commands.h"
#include "ctl/ctl.h"
#include "ctl/luapath.h"
#include "ctl/table.h"
#include "ctl/text.h"

#define CALL_MS          30000
#define ANSWER_BYTES_MAX (2u << 20)

enum ctl_exit
template_list(struct ctl *ctl, struct ctl_answer *ret_answer)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_TEMPLATE_LIST);
	return ctl_call(ctl, &p, CALL_MS, ret_answer);
}

static void
show_inputs(struct ctl *ctl, struct json_val template)
{
	static const char *const titles[] = { "INPUT", "TYPE", "~WHAT" };
	struct json_val inputs = json_obj_get(template, "inputs"), type;
	struct json_iter it, req;
	struct table *t = table_new(titles, 3);

	it = json_iter(json_obj_get(inputs, "properties"));
	while (json_iter_next(&it)) {
		char *name = text_of(it.key), *kind;
		bool required = false;

		for (req = json_iter(json_obj_get(inputs, "required"));
		     json_iter_next(&req);)
			required |= name != NULL && json_str_eq(req.val, name);
		type = json_obj_get(it.val, "type");
		kind = text_of(type);
		table_add(t, name == NULL ? "" : name);
		table_addf(t, "%s%s", kind == NULL ? "" : kind,
		    required ? ", required" : "");
		table_add_val(t, json_obj_get(it.val, "description"));
		free(name);
		free(kind);
	}
	if (table_rows(t) > 0) {
		putchar('\n');
		table_print(
		    t, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	}
	table_free(&t);
}

static void
show_template(struct ctl *ctl, struct json_val template)
{
	struct json_val example = json_obj_get(template, "exampleInputs");
	char *id = text_of(json_obj_get(template, "id"));
	char *version = text_of(json_obj_get(template, "version"));
	char *about = text_of(json_obj_get(template, "description"));

	printf("%s %s\n", id == NULL ? "" : id, version == NULL ? "" : version);
	text_wrap(
	    stdout, about == NULL ? "" : about, (size_t)ctl->columns, 0, 0);
	show_inputs(ctl, template);
	if (!json_is_missing(example)) {
		printf("\nexample inputs\n");
		ctl_print_json(example);
	}
	free(id);
	free(version);
	free(about);
}

static void
list_templates(struct ctl *ctl, struct json_val templates)
{
	static const char *const titles[] = { "TEMPLATE", "VERSION",
		"~WHAT IT DOES" };
	struct table *t = table_new(titles, 3);
	struct json_iter it = json_iter(templates);

	while (json_iter_next(&it)) {
		table_add_val(t, json_obj_get(it.val, "id"));
		table_add_val(t, json_obj_get(it.val, "version"));
		table_add_val(t, json_obj_get(it.val, "description"));
	}
	table_print(t, stdout, (size_t)ctl->columns, ctl->color, ctl->unicode);
	table_free(&t);
}

static enum ctl_exit
one_template(struct ctl *ctl, struct json_val templates, const char *id)
{
	struct json_iter it = json_iter(templates);

	while (json_iter_next(&it)) {
		if (!json_str_eq(json_obj_get(it.val, "id"), id))
			continue;
		if (ctl->opt[OPT_JSON] != NULL)
			ctl_print_json(it.val);
		else
			show_template(ctl, it.val);
		return CTL_OK;
	}
	ctl_error("there is no template %s", id);
	ctl_hint("browsertaskctl templates lists the templates");
	return CTL_REFUSED;
}

static enum ctl_exit
list_or_show(struct ctl *ctl, const char *id)
{
	struct ctl_answer a;
	enum ctl_exit rc = template_list(ctl, &a);

	if (rc != CTL_OK)
		return rc;
	if (id != NULL)
		rc = one_template(ctl, json_obj_get(a.root, "templates"), id);
	else if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		list_templates(ctl, json_obj_get(a.root, "templates"));
	ctl_answer_free(&a);
	return rc;
}

enum ctl_exit
cmd_templates(struct ctl *ctl)
{
	return list_or_show(ctl, ctl->nargs > 0 ? ctl->args[0] : NULL);
}

/* template check */

static bool
read_file(const char *path, struct buf *ret_text)
{
	bool in = strcmp(path, "-") == 0;
	FILE *f = in ? stdin : fopen(path, "r");
	char part[8192];
	bool fits = true, good;
	size_t n;

	if (f == NULL) {
		ctl_error("%s: %s", path, strerror(errno));
		return false;
	}
	while (fits && (n = fread(part, 1, sizeof(part), f)) > 0)
		fits = buf_add(ret_text, part, n);
	good = fits && !ferror(f) && ret_text->len > 0;
	if (!fits)
		ctl_error("%s: a template has at most %u bytes", path,
		    LIMIT_TEMPLATE_BYTES);
	else if (ferror(f))
		ctl_error("%s: %s", path, strerror(errno));
	else if (!good)
		ctl_error("%s is empty", path);
	if (!in)
		fclose(f);
	return good;
}

/* As the service tells it, or where the text has the member; 0: nowhere. */
static int64_t
line_of(const struct buf *text, struct json_val fault)
{
	char *path = text_of(json_obj_get(fault, "path"));
	int64_t line = 0;

	if (!json_get_int64(json_obj_get(fault, "line"), &line) &&
	    path != NULL && path[0] != '\0')
		line = luapath_line((const char *)text->data, text->len, path);
	free(path);
	return line;
}

static void
tell_fault(struct ctl *ctl, const struct buf *text, struct json_val fault,
    bool warning)
{
	char *path = text_of(json_obj_get(fault, "path"));
	char *message = text_of(json_obj_get(fault, "message"));
	bool at = path != NULL && path[0] != '\0';
	int64_t line = line_of(text, fault);

	printf("%s:", ctl->args[1]);
	if (line > 0)
		printf("%" PRId64 ":", line);
	printf(" %s%s%s", ctl->color ? warning ? "\033[33m" : "\033[31m" : "",
	    warning ? "warning" : "error", ctl->color ? "\033[0m" : "");
	printf(": %s%s%s\n", at ? path + 1 : "", at ? ": " : "",
	    message == NULL ? "" : message);
	free(path);
	free(message);
}

static void
tell_faults(struct ctl *ctl, const struct buf *text, struct json_val answer)
{
	struct json_val template = json_obj_get(answer, "template");
	char *id = text_of(json_obj_get(template, "id"));
	char *version = text_of(json_obj_get(template, "version"));
	struct json_iter it;
	bool good = false;

	it = json_iter(json_obj_get(answer, "errors"));
	while (json_iter_next(&it))
		tell_fault(ctl, text, it.val, false);
	it = json_iter(json_obj_get(answer, "warnings"));
	while (json_iter_next(&it))
		tell_fault(ctl, text, it.val, true);
	json_get_bool(json_obj_get(answer, "ok"), &good);
	if (good)
		printf("%s: %s %s is a good template\n", ctl->args[1],
		    id == NULL ? "" : id, version == NULL ? "" : version);
	free(id);
	free(version);
}

static void
write_fault(
    struct json_writer *w, const struct buf *text, struct json_val fault)
{
	struct json_iter it = json_iter(fault);
	int64_t line = line_of(text, fault);
	char key[64];

	json_write_begin_object(w);
	while (json_iter_next(&it)) {
		if (!json_str_copy(it.key, key, sizeof(key)))
			continue;
		if (strcmp(key, "line") == 0 && line > 0)
			json_put_int64(w, key, line);
		else
			json_put_val(w, key, it.val);
	}
	json_write_end_object(w);
}

/* The answer, with the lines of its faults. */
static void
print_answer(const struct buf *text, struct json_val answer)
{
	struct json_iter it = json_iter(answer), faults;
	struct json_writer w;
	struct buf b;
	char key[64];

	buf_init(&b, ANSWER_BYTES_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	while (json_iter_next(&it)) {
		if (!json_str_copy(it.key, key, sizeof(key)))
			continue;
		if (strcmp(key, "errors") != 0 &&
		    strcmp(key, "warnings") != 0) {
			json_put_val(&w, key, it.val);
			continue;
		}
		json_write_key(&w, key);
		json_write_begin_array(&w);
		faults = json_iter(it.val);
		while (json_iter_next(&faults))
			write_fault(&w, text, faults.val);
		json_write_end_array(&w);
	}
	json_write_end_object(&w);
	ctl_print_written(&w, &b);
	buf_clear(&b);
}

static enum ctl_exit
check(struct ctl *ctl)
{
	struct ctl_answer a;
	struct ipc_params p;
	bool good = false;
	struct buf text;
	enum ctl_exit rc;

	buf_init(&text, LIMIT_TEMPLATE_BYTES);
	if (!read_file(ctl->args[1], &text)) {
		buf_clear(&text);
		return CTL_USAGE;
	}
	ipc_params_init(&p, MSG_TEMPLATE_CHECK);
	ipc_set_bin(&p, F_DATA, text.data, text.len);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc == CTL_OK) {
		json_get_bool(json_obj_get(a.root, "ok"), &good);
		if (ctl->opt[OPT_JSON] != NULL)
			print_answer(&text, a.root);
		else
			tell_faults(ctl, &text, a.root);
		ctl_answer_free(&a);
		rc = good ? CTL_OK : CTL_FAILED;
	}
	buf_clear(&text);
	return rc;
}

enum ctl_exit
cmd_template(struct ctl *ctl)
{
	static const char *const words[] = { "check", "show", NULL };

	switch (command_word("template", ctl->args[0], words)) {
	case 0:
		return check(ctl);
	case 1:
		return list_or_show(ctl, ctl->args[1]);
	default:
		return CTL_USAGE;
	}
}
