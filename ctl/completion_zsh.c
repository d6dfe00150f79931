/*
 * The completion script of zsh, made from the tables. Runs in browsertaskctl.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/completion.h"

/* Within single quotes, with what _arguments or _describe would obey escaped. */
static void
put_quoted(const char *text, const char *escape)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			printf("'\\''");
			continue;
		}
		if (strchr(escape, *text) != NULL)
			putchar('\\');
		putchar(*text);
	}
}

/* What completes a kind; a space for what nothing does. */
static void
put_kind(const char *kind)
{
	if (strcmp(kind, "FILE") == 0)
		printf("_files");
	else if (strcmp(kind, "DIR") == 0)
		printf("_files -/");
	else if (strcmp(kind, "ANY") == 0)
		printf(" ");
	else
		printf("_browsertaskctl_words %s", kind);
}

/* ":message:action" of what is wanted. */
static void
put_action(const char *what, const char *kind, const char *words)
{
	printf(":%s:", what);
	if (words[0] != '\0')
		printf("(%s)", words);
	else
		put_kind(kind);
}

static void
put_option_line(const struct option_row *o)
{
	char words[VALUE_BYTES] = "";

	if (o->value != NULL)
		value_words(o, words);
	printf("\t\t");
	if (o->letter != 0)
		printf("'(-%c --%s)'{-%c,--%s}'[", o->letter, o->name,
		    o->letter, o->name);
	else
		printf("'--%s[", o->name);
	put_quoted(o->help, "[]\\");
	printf("]");
	if (o->value != NULL)
		put_action(o->value, value_kind(o), words);
	printf("' \\\n");
}

static void
put_option_lines(uint64_t set)
{
	for (int i = 0; i < OPT__MAX; i++)
		if ((set & UINT64_C(1) << i) != 0)
			put_option_line(option_row((enum ctl_option)i));
}

static void
put_place_lines(const struct command *c)
{
	struct place p;
	char words[256] = "";

	place_read(&p, c);
	for (size_t w = 0; w < p.nwords; w++) {
		strlcat(words, w == 0 ? "" : " ", sizeof(words));
		strlcat(words, p.words[w], sizeof(words));
	}
	if (c->most == 0)
		return;
	printf("\t\t'1");
	if (p.kind[0] != '\0')
		put_action(p.kind, p.kind, words);
	else
		put_action("word", "ANY", words);
	printf("' \\\n");
	if (p.nwords > 0 && c->most > 1)
		printf("\t\t'2: :_browsertaskctl_below' \\\n");
	else if (c->most > 2)
		printf("\t\t'*:input:_files' \\\n");
}

static void
put_below(const struct command *c)
{
	struct place p;

	place_read(&p, c);
	for (size_t w = 0; w < p.nwords; w++) {
		if (p.below[w][0] == '\0')
			continue;
		printf("\t%s) ", p.words[w]);
		put_kind(p.below[w]);
		printf(" ;;\n");
	}
}

void
completion_zsh(void)
{
	const struct command *c;

	printf("#compdef browsertaskctl\n"
	       "# zsh completion for browsertaskctl; made by \"browsertaskctl "
	       "completion zsh\".\n"
	       "# _arguments puts what compadd is to have before the kind\n"
	       "_browsertaskctl_words()\n"
	       "{\n"
	       "\tlocal -a found\n"
	       "\tfound=(${(f)\"$(browsertaskctl completion words-$@[-1] "
	       "2>/dev/null)\"})\n"
	       "\tcompadd \"${@[1,-2]}\" -a found\n"
	       "}\n"
	       "\n"
	       "_browsertaskctl_below()\n"
	       "{\n"
	       "\tcase $line[1] in\n");
	for (size_t i = 0; (c = command_row(i)) != NULL; i++)
		put_below(c);
	printf("\tesac\n"
	       "}\n"
	       "\n"
	       "_browsertaskctl()\n"
	       "{\n"
	       "\tlocal curcontext=$curcontext state state_descr command\n"
	       "\tlocal -a line commands names\n"
	       "\tlocal -A opt_args\n"
	       "\n"
	       "\tcommands=(\n");
	for (size_t i = 0; (c = command_row(i)) != NULL; i++) {
		printf("\t\t'%s:", c->name);
		put_quoted(c->help, ":\\");
		printf("'\n");
	}
	printf("\t)\n"
	       "\t_arguments -C \\\n");
	put_option_lines(COMMON_OPTIONS);
	printf("\t\t'1:command:->command' \\\n"
	       "\t\t'*::argument:->argument' && return\n"
	       "\n"
	       "\tcase $state in\n"
	       "\tcommand)\n"
	       "\t\t_describe command commands\n"
	       "\t\treturn ;;\n"
	       "\tesac\n"
	       "\tcommand=$line[1]\n"
	       "\tnames=(${(M)${commands%%:*}:#$command*})\n"
	       "\t(( $#names == 1 )) && command=$names[1]\n"
	       "\tcase $command in\n");
	for (size_t i = 0; (c = command_row(i)) != NULL; i++) {
		printf("\t%s)\n\t\t_arguments \\\n", c->name);
		put_option_lines(c->options | COMMON_OPTIONS);
		put_place_lines(c);
		printf("\t\t&& return ;;\n");
	}
	printf("\tesac\n"
	       "}\n"
	       "\n"
	       "if [[ $funcstack[1] == _browsertaskctl ]]; then\n"
	       "\t_browsertaskctl \"$@\"\n"
	       "elif (( $+functions[compdef] )); then\n"
	       "\tcompdef _browsertaskctl browsertaskctl\n"
	       "fi\n");
}
