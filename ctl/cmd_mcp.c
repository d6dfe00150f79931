/*
 * mcp-config: what to paste into an agent's settings so that it starts
 * browsertask-mcp. Asks no service; writes nothing but standard output, and
 * where it belongs to standard error.
 */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "json/writer.h"

#define NAME "browsertask"

enum form {
	FORM_COMMAND,
	FORM_SERVERS,
	FORM_TYPED,
	FORM_TABLE
};

static const struct {
	const char *name;
	enum form form;
	const char *place;
} clients[] = {
#define COMMAND                   FORM_COMMAND
#define SERVERS                   FORM_SERVERS
#define TYPED                     FORM_TYPED
#define TABLE                     FORM_TABLE
#define CLIENT(name, form, place) { name, form, place },
#include "ctl/mcpclients.def"
#undef CLIENT
};

#define CLIENTS (sizeof(clients) / sizeof(clients[0]))

/* The adapter beside this very program, else where it is installed. */
static void
find_adapter(char ret[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int len;

	if (n > 0) {
		self[n] = '\0';
		len = snprintf(
		    ret, PATH_MAX, "%s/browsertask-mcp", dirname(self));
		if (len > 0 && len < PATH_MAX && access(ret, X_OK) == 0)
			return;
	}
	snprintf(ret, PATH_MAX, "%s", BINDIR "/browsertask-mcp");
}

static void
write_server(struct json_writer *w, enum form form, const char *program,
    const char *socket)
{
	json_write_begin_object(w);
	json_write_key(w, form == FORM_TYPED ? "servers" : "mcpServers");
	json_write_begin_object(w);
	json_write_key(w, NAME);
	json_write_begin_object(w);
	if (form == FORM_TYPED)
		json_put_str(w, "type", "stdio");
	json_put_str(w, "command", program);
	json_write_key(w, "args");
	json_write_begin_array(w);
	if (socket != NULL) {
		json_write_str(w, "-s");
		json_write_str(w, socket);
	}
	json_write_end_array(w);
	json_write_end_object(w);
	json_write_end_object(w);
	json_write_end_object(w);
}

static enum ctl_exit
print_file(enum form form, const char *program, const char *socket)
{
	struct json_writer w;
	struct buf b;
	bool good;

	buf_init(&b, 16 * PATH_MAX);
	json_writer_init_pretty(&w, &b);
	write_server(&w, form, program, socket);
	good = json_writer_finish(&w);
	if (good)
		printf("%.*s\n", (int)b.len, (char *)b.data);
	buf_clear(&b);
	return good ? CTL_OK : CTL_FAILED;
}

/* TOML, whose strings are those of JSON. */
static enum ctl_exit
print_table(const char *program, const char *socket)
{
	struct json_writer w;
	struct buf b;
	bool good;

	buf_init(&b, 16 * PATH_MAX);
	json_writer_init(&w, &b);
	json_write_begin_array(&w);
	if (socket != NULL) {
		json_write_str(&w, "-s");
		json_write_str(&w, socket);
	}
	json_write_end_array(&w);
	good = json_writer_finish(&w) && buf_add_str(&b, "\ncommand = ");
	json_writer_init(&w, &b);
	json_write_str(&w, program);
	good = good && json_writer_finish(&w);
	if (good)
		printf("[mcp_servers.%s]\nargs = %.*s\n", NAME, (int)b.len,
		    (char *)b.data);
	buf_clear(&b);
	return good ? CTL_OK : CTL_FAILED;
}

/* For a shell: a path without special characters stays as it is. */
static void
print_word(const char *text)
{
	if (text[strcspn(text, " \t\n'\"\\$`!*?[](){}<>|&;#~")] == '\0') {
		printf(" %s", text);
		return;
	}
	printf(" '");
	for (; *text != '\0'; text++)
		if (*text == '\'')
			printf("'\\''");
		else
			putchar(*text);
	putchar('\'');
}

static void
print_command(const char *program, const char *socket)
{
	printf("claude mcp add --scope user %s --", NAME);
	print_word(program);
	if (socket != NULL) {
		printf(" -s");
		print_word(socket);
	}
	putchar('\n');
}

static void
hint_clients(void)
{
	char text[256] = "";

	for (size_t i = 0; i < CLIENTS; i++) {
		strlcat(text, i == 0 ? "" : ", ", sizeof(text));
		strlcat(text, clients[i].name, sizeof(text));
	}
	ctl_hint("these are: %s; generic fits most others", text);
}

/* The agent starts the adapter in a directory of its own choice. */
static const char *
absolute(const char *path, char ret[PATH_MAX])
{
	char here[PATH_MAX];
	int len;

	if (path == NULL || path[0] == '/' || getcwd(here, PATH_MAX) == NULL)
		return path;
	len = snprintf(ret, PATH_MAX, "%s/%s", here, path);
	return len > 0 && len < PATH_MAX ? ret : path;
}

/* Where this program would find the service is where the agent shall. */
static const char *
service_socket(const struct ctl *ctl)
{
	const char *given = getenv("BROWSERTASK_SOCKET");

	if (ctl->opt[OPT_SOCKET] != NULL)
		return ctl->opt[OPT_SOCKET];
	return given != NULL && given[0] != '\0' ? given : NULL;
}

enum ctl_exit
cmd_mcp_config(struct ctl *ctl)
{
	const char *name = ctl->nargs > 0 ? ctl->args[0] : clients[0].name;
	char program[PATH_MAX], path[PATH_MAX];
	const char *socket = absolute(service_socket(ctl), path);
	size_t i = 0;

	while (i < CLIENTS && strcmp(clients[i].name, name) != 0)
		i++;
	if (i == CLIENTS) {
		ctl_error("%s is no client that is known", name);
		hint_clients();
		return CTL_USAGE;
	}
	find_adapter(program);
	if (ctl->err_tty)
		fprintf(stderr, "for %s:\n", clients[i].place);
	if (clients[i].form == FORM_TABLE)
		return print_table(program, socket);
	if (clients[i].form != FORM_COMMAND)
		return print_file(clients[i].form, program, socket);
	print_command(program, socket);
	return CTL_OK;
}
