/*
 * The completion script of bash, made from the tables. Runs in browsertaskctl.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/completion.h"

static void
put_option(const struct option_row *o, const char *between)
{
	if (o->letter != 0)
		printf("-%c%s", o->letter, between);
	printf("--%s", o->name);
}

static void
put_options(uint64_t set)
{
	const char *gap = "";

	for (int i = 0; i < OPT__MAX; i++) {
		if ((set & UINT64_C(1) << i) == 0)
			continue;
		printf("%s--%s", gap, option_row((enum ctl_option)i)->name);
		gap = " ";
	}
}

/* case branches: what the word after an option is */
static void
put_values(void)
{
	char words[VALUE_BYTES];

	for (int i = 0; i < OPT__MAX; i++) {
		const struct option_row *o = option_row((enum ctl_option)i);

		if (o->value == NULL)
			continue;
		value_words(o, words);
		printf("\t");
		put_option(o, "|");
		if (words[0] != '\0')
			printf(") words='%s' ;;\n", words);
		else
			printf(") kind=%s ;;\n", value_kind(o));
	}
}

static void
put_value_options(void)
{
	const char *gap = "";

	for (int i = 0; i < OPT__MAX; i++) {
		const struct option_row *o = option_row((enum ctl_option)i);

		if (o->value == NULL)
			continue;
		printf("%s", gap);
		put_option(o, "|");
		gap = "|";
	}
}

/* case branches: what stands at a place, by command, number and first word */
static void
put_places(void)
{
	const struct command *c;
	struct place p;

	for (size_t i = 0; (c = command_row(i)) != NULL; i++) {
		place_read(&p, c);
		if (p.kind[0] != '\0')
			printf("\t'%s 0 '*) kind=%s ;;\n", c->name, p.kind);
		if (p.nwords > 0) {
			printf("\t'%s 0 '*) words='", c->name);
			for (size_t w = 0; w < p.nwords; w++)
				printf("%s%s", w == 0 ? "" : " ", p.words[w]);
			printf("' ;;\n");
		}
		for (size_t w = 0; w < p.nwords; w++)
			if (p.below[w][0] != '\0')
				printf("\t'%s 1 %s') kind=%s ;;\n", c->name,
				    p.words[w], p.below[w]);
	}
}

static void
put_option_lists(void)
{
	const struct command *c;

	for (size_t i = 0; (c = command_row(i)) != NULL; i++) {
		printf("\t%s) words='", c->name);
		put_options(c->options | COMMON_OPTIONS);
		printf("' ;;\n");
	}
	printf("\t*) words='");
	put_options(COMMON_OPTIONS);
	printf("' ;;\n");
}

static void
put_commands(void)
{
	const struct command *c;

	for (size_t i = 0; (c = command_row(i)) != NULL; i++)
		printf("%s%s", i == 0 ? "" : " ", c->name);
}

void
completion_bash(void)
{
	printf("# bash completion for browsertaskctl; made by \"browsertaskctl "
	       "completion bash\".\n"
	       "_browsertaskctl()\n"
	       "{\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	       "\tlocal prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal i word command= first= n=0 words= kind= names\n"
	       "\n"
	       "\t# --option=value comes as three words\n"
	       "\tif [[ $cur == = ]]; then\n"
	       "\t\tcur=\n"
	       "\telif [[ $prev == = ]] && ((COMP_CWORD > 1)); then\n"
	       "\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
	       "\tfi\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tword=${COMP_WORDS[i]}\n"
	       "\t\tcase $word in\n\t\t");
	put_value_options();
	printf(")\n"
	       "\t\t\t[[ ${COMP_WORDS[i+1]} == = ]] && ((i++))\n"
	       "\t\t\t((i++)) ;;\n"
	       "\t\t-?*) ;;\n"
	       "\t\t*)\n"
	       "\t\t\tif [[ -z $command ]]; then\n"
	       "\t\t\t\tcommand=$word\n"
	       "\t\t\telse\n"
	       "\t\t\t\t[[ -z $first ]] && first=$word\n"
	       "\t\t\t\tn=$((n + 1))\n"
	       "\t\t\tfi ;;\n"
	       "\t\tesac\n"
	       "\tdone\n"
	       "\n"
	       "\t# a command that was shortened\n"
	       "\tif [[ -n $command ]]; then\n"
	       "\t\tnames=($(compgen -W '");
	put_commands();
	printf("' -- \"$command\"))\n"
	       "\t\t((${#names[@]} == 1)) && command=${names[0]}\n"
	       "\tfi\n"
	       "\n"
	       "\tcase $prev in\n");
	put_values();
	printf("\t*)\n"
	       "\t\tif [[ $cur == -* ]]; then\n"
	       "\t\t\t_browsertaskctl_options\n"
	       "\t\telif [[ -z $command ]]; then\n"
	       "\t\t\twords='");
	put_commands();
	printf("'\n"
	       "\t\telse\n"
	       "\t\t\t_browsertaskctl_place\n"
	       "\t\tfi ;;\n"
	       "\tesac\n"
	       "\n"
	       "\tcase $kind in\n"
	       "\tRUN|TEMPLATE|SESSION)\n"
	       "\t\twords=$(\"${COMP_WORDS[0]}\" completion \"words-$kind\" "
	       "2>/dev/null) ;;\n"
	       "\tFILE|DIR)\n"
	       "\t\tcompopt -o filenames 2>/dev/null\n"
	       "\t\t[[ $kind == DIR ]] && word=-d || word=-f\n"
	       "\t\tCOMPREPLY=($(compgen $word -- \"$cur\"))\n"
	       "\t\treturn ;;\n"
	       "\tesac\n"
	       "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	       "}\n"
	       "\n"
	       "_browsertaskctl_options()\n"
	       "{\n"
	       "\tcase $command in\n");
	put_option_lists();
	printf("\tesac\n"
	       "}\n"
	       "\n"
	       "_browsertaskctl_place()\n"
	       "{\n"
	       "\tcase \"$command $n $first\" in\n");
	put_places();
	printf("\tesac\n"
	       "}\n"
	       "\n"
	       "complete -F _browsertaskctl browsertaskctl\n");
}
