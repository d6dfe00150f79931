/*
 * Commands about the service: status, templates.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/table.h"
#include "ctl/text.h"

#define CALL_MS 30000

static void
show_member(struct json_val key, struct json_val v)
{
	char name[64], text[64];
	char *plain;
	size_t len;
	int64_t n;

	if (!json_str_copy(key, name, sizeof(name)))
		return;
	len = strlen(name);
	if (json_get_int64(v, &n) && len > 2 &&
	    strcmp(name + len - 2, "Ms") == 0) {
		text_duration(n, text, sizeof(text));
		printf("  %-22s %s\n", name, text);
		return;
	}
	plain = text_of(v);
	if (plain != NULL && plain[0] != '\0')
		printf("  %-22s %s\n", name, plain);
	free(plain);
}

enum ctl_exit
cmd_status(struct ctl *ctl)
{
	struct ctl_answer a;
	struct ipc_params p;
	struct json_iter it;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_PROFILE_GET);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->opt[OPT_JSON] != NULL) {
		ctl_print_json(a.root);
		ctl_answer_free(&a);
		return CTL_OK;
	}
	printf("browsertaskd %s at %s, trust %s%s\n\nruns\n",
	    client_hello(ctl->client)->version, client_path(ctl->client),
	    client_hello(ctl->client)->trust,
	    client_hello(ctl->client)->admin ? ", administrator" : "");
	for (it = json_iter(json_obj_get(a.root, "runs")); json_iter_next(&it);)
		show_member(it.key, it.val);
	printf("\nprofile\n");
	for (it = json_iter(a.root); json_iter_next(&it);)
		show_member(it.key, it.val);
	ctl_answer_free(&a);
	return rc;
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

	printf("%s %s\n%s\n", id == NULL ? "" : id,
	    version == NULL ? "" : version, about == NULL ? "" : about);
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

enum ctl_exit
cmd_templates(struct ctl *ctl)
{
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_TEMPLATE_LIST);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	if (ctl->nargs > 0)
		rc = one_template(
		    ctl, json_obj_get(a.root, "templates"), ctl->args[0]);
	else if (ctl->opt[OPT_JSON] != NULL)
		ctl_print_json(a.root);
	else
		list_templates(ctl, json_obj_get(a.root, "templates"));
	ctl_answer_free(&a);
	return rc;
}
