/*
 * completion: prints the scripts, and the words that only the service knows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ctl/completion.h"
#include "ctl/text.h"

#define CALL_MS  3000
#define RUNS_MAX 50

static void
print_each(struct json_val array, const char *key)
{
	struct json_iter it;
	char *text;

	for (it = json_iter(array); json_iter_next(&it);) {
		text = text_of(json_obj_get(it.val, key));
		if (text != NULL && text[0] != '\0')
			printf("%s\n", text);
		free(text);
	}
}

static enum ctl_exit
print_runs(struct ctl *ctl)
{
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_RUN_LIST);
	ipc_set_int(&p, F_LIMIT, RUNS_MAX);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	printf("last\n");
	print_each(json_obj_get(a.root, "runs"), "runId");
	ctl_answer_free(&a);
	return rc;
}

static enum ctl_exit
print_templates(struct ctl *ctl)
{
	struct ctl_answer a;
	enum ctl_exit rc = template_list(ctl, &a);

	if (rc != CTL_OK)
		return rc;
	print_each(json_obj_get(a.root, "templates"), "id");
	ctl_answer_free(&a);
	return rc;
}

static enum ctl_exit
print_sessions(struct ctl *ctl)
{
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_SESSION_LIST);
	rc = ctl_call(ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	print_each(json_obj_get(a.root, "sessions"), "sessionId");
	ctl_answer_free(&a);
	return rc;
}

enum ctl_exit
cmd_completion(struct ctl *ctl)
{
	static const char *const words[] = { "bash", "zsh", "words-RUN",
		"words-TEMPLATE", "words-SESSION", NULL };

	switch (command_word("completion", ctl->args[0], words)) {
	case 0:
		completion_bash();
		return CTL_OK;
	case 1:
		completion_zsh();
		return CTL_OK;
	case 2:
		return print_runs(ctl);
	case 3:
		return print_templates(ctl);
	case 4:
		return print_sessions(ctl);
	default:
		return CTL_USAGE;
	}
}
