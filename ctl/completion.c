/*
 * What may stand where on the command line. Runs in browsertaskctl.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/completion.h"
#include "model/audit.h"
#include "model/run.h"

static bool
is_kind(const char *word)
{
	static const char *const kinds[] = { "RUN", "TEMPLATE", "SESSION",
		"FILE", "DIR" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], word) == 0)
			return true;
	return false;
}

/* One alternative: "get RUN", "bash", "RUN". */
static void
take_alternative(struct place *p, char *text)
{
	char *state = NULL, *first = strtok_r(text, " ", &state);
	char *second = first == NULL ? NULL : strtok_r(NULL, " ", &state);
	size_t i;

	if (first == NULL)
		return;
	if (first[0] < 'a' || first[0] > 'z') {
		if (is_kind(first))
			strlcpy(p->kind, first, sizeof(p->kind));
		return;
	}
	for (i = 0; i < p->nwords && strcmp(p->words[i], first) != 0; i++)
		;
	if (i == PLACE_WORDS)
		return;
	if (i == p->nwords) {
		strlcpy(p->words[i], first, sizeof(p->words[i]));
		p->below[i][0] = '\0';
		p->nwords++;
	}
	if (second != NULL && is_kind(second))
		strlcpy(p->below[i], second, sizeof(p->below[i]));
}

void
place_read(struct place *p, const struct command *c)
{
	char args[256], *state = NULL, *part;
	size_t n = 0;

	memset(p, 0, sizeof(*p));
	/* What is in brackets after the first word are inputs, not words. */
	for (const char *s = c->args; *s != '\0' && n + 1 < sizeof(args); s++) {
		if (*s == '[' && n > 0)
			break;
		if (*s != '[' && *s != ']')
			args[n++] = *s;
	}
	args[n] = '\0';
	for (part = strtok_r(args, "|", &state); part != NULL;
	     part = strtok_r(NULL, "|", &state))
		take_alternative(p, part);
}

static const char *
mode_word(int i)
{
	return i < MODE__MAX ? run_mode_name((enum run_mode)i) : NULL;
}

static const char *
priority_word(int i)
{
	return i < PRIORITY__MAX ? run_priority_name((enum run_priority)i)
				 : NULL;
}

static const char *
status_word(int i)
{
	return i < RUN__MAX ? run_status_name((enum run_status)i) : NULL;
}

static const char *
kind_word(int i)
{
	return i < ARTIFACT__MAX ? artifact_kind_name((enum artifact_kind)i)
				 : NULL;
}

static const char *
action_word(int i)
{
	return i < AUDIT__MAX ? audit_action_name((enum audit_action)i) : NULL;
}

void
value_words(const struct option_row *o, char ret_words[VALUE_BYTES])
{
	static const struct {
		const char *value;
		const char *(*word)(int);
	} rows[] = { { "MODE", mode_word }, { "PRIORITY", priority_word },
		{ "STATUS", status_word }, { "KIND", kind_word },
		{ "ACTION", action_word } };
	const char *word;

	ret_words[0] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].value, o->value) != 0)
			continue;
		for (int n = 0; (word = rows[i].word(n)) != NULL; n++) {
			strlcat(ret_words, n == 0 ? "" : " ", VALUE_BYTES);
			strlcat(ret_words, word, VALUE_BYTES);
		}
	}
}

const char *
value_kind(const struct option_row *o)
{
	if (strcmp(o->value, "PATH") == 0)
		return "FILE";
	return is_kind(o->value) ? o->value : "ANY";
}
