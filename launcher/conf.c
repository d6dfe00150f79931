/*
 * conf: reads the configuration file. Runs in the launcher, with all its
 * privileges, before anything else: the file is trusted as far as only its
 * owner can write to it, but no content of it may end the process. libconfuse
 * knows the syntax; what a value may be is the table's matter, so that a value
 * in the file and one on the command line are judged alike.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <confuse.h>

#include "launcher/conf.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

struct parse {
	struct settings settings;
	struct conf_lines lines;
	struct conf_error error; /* text "" until there is one */
};

/* libconfuse hands no argument to its callbacks. */
static struct parse *parsing;

static bool __attribute__((format(printf, 3, 4)))
conf_bad(struct conf_error *e, int line, const char *fmt, ...)
{
	va_list ap;

	e->line = line;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return false;
}

/* A setting was given a value. */
static int
on_value(cfg_t *cfg, cfg_opt_t *opt)
{
	struct parse *p = parsing;
	const char *name = cfg_opt_name(opt), *value = cfg_opt_getstr(opt);
	int *line = &p->lines.at[settings_index(name)];

	if (*line != 0)
		conf_bad(&p->error, cfg->line,
		    "%s: set in line %d already: remove one of them", name,
		    *line);
	else if (!settings_set(&p->settings, name, value == NULL ? "" : value,
		     p->error.text, sizeof(p->error.text)))
		p->error.line = cfg->line;
	*line = cfg->line;
	return p->error.text[0] == '\0' ? 0 : -1;
}

/* What libconfuse says of a name that it was not told of. */
static bool
take_unknown(struct parse *p, const char *text, int line)
{
	static const char says[] = "no such option '";
	char name[2 * SETTINGS_NAME_BYTES];
	struct settings unused;
	const char *end;
	size_t len;

	if (strncmp(text, says, sizeof(says) - 1) != 0)
		return false;
	text += sizeof(says) - 1;
	end = strrchr(text, '\'');
	len = end == NULL ? strlen(text) : (size_t)(end - text);
	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, text, len);
	name[len] = '\0';
	p->error.line = line;
	settings_default(&unused);
	return !settings_set(
	    &unused, name, "", p->error.text, sizeof(p->error.text));
}

/* A mistake of syntax. The first one counts. */
static void __attribute__((format(printf, 2, 0)))
on_syntax(cfg_t *cfg, const char *fmt, va_list ap)
{
	struct parse *p = parsing;
	char text[128];

	if (p->error.text[0] != '\0')
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	if (!take_unknown(p, text, cfg->line))
		conf_bad(&p->error, cfg->line,
		    "%s: write each setting as name = value", text);
}

static bool
parse_text(struct parse *p, const char *text)
{
	cfg_opt_t opts[SETTINGS_COUNT + 1];
	const cfg_opt_t end = CFG_END();
	const struct setting_info *row;
	cfg_t *cfg;
	int status;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		const cfg_opt_t opt = CFG_STR(row->name, NULL, CFGF_NODEFAULT);

		opts[i] = opt;
	}
	opts[SETTINGS_COUNT] = end;
	cfg = cfg_init(opts, CFGF_NONE);
	if (cfg == NULL)
		return conf_bad(&p->error, 0, "no memory");
	cfg_set_error_function(cfg, on_syntax);
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++)
		cfg_set_validate_func(cfg, row->name, on_value);
	parsing = p;
	status = cfg_parse_buf(cfg, text);
	parsing = NULL;
	cfg_free(cfg);
	if (status != CFG_SUCCESS && p->error.text[0] == '\0')
		conf_bad(&p->error, 0, "it cannot be read");
	return p->error.text[0] == '\0';
}

/* The line that a byte is in. */
static int
line_of(const char *bytes, const char *at)
{
	int line = 1;

	for (; bytes < at; bytes++)
		line += *bytes == '\n';
	return line;
}

/* The end of a string in quotes; NULL: it has none. */
static char *
skip_string(char *p)
{
	char quote = *p++;

	while (*p != '\0' && *p != quote)
		p += p[0] == '\\' && p[1] != '\0' ? 2 : 1;
	return *p == '\0' ? NULL : p + 1;
}

/* Overwrites a comment with blanks; NULL: it has no end. */
static char *
blank_comment(char *p)
{
	char *end;

	if (p[0] == '/' && p[1] == '*') {
		end = strstr(p + 2, "*/");
		if (end == NULL)
			return NULL;
		end += 2;
	} else {
		end = p + strcspn(p, "\n");
	}
	for (; p < end; p++)
		if (*p != '\n')
			*p = ' ';
	return end;
}

static bool
begins_comment(const char *at)
{
	return *at == '#' || (*at == '/' && (at[1] == '/' || at[1] == '*'));
}

/*
 * A URL, or a path, without quotes: what is left of it would be taken. last is
 * what stands before, comments and blanks left out.
 */
static bool
comment_is_meant(struct parse *p, const char *text, const char *at, char last)
{
	int len = *at == '#' ? 1 : 2;

	if (last == '=')
		return conf_bad(&p->error, line_of(text, at),
		    "%.*s begins a comment where a value should be: put the"
		    " value in quotes",
		    len, at);
	if (at > text && strchr(" \t\r\n\"'", at[-1]) == NULL)
		return conf_bad(&p->error, line_of(text, at),
		    "%.*s in a value begins a comment: put the value in quotes,"
		    " or a blank before the comment",
		    len, at);
	return true;
}

/*
 * Without comments libconfuse counts lines right: it counts theirs twice. Of a
 * string without end it would write parts to the standard output.
 */
static bool
blank_comments(struct parse *p, char *text)
{
	char *at = text, *next, last = '\n';

	while (*at != '\0') {
		next = at + 1;
		if (*at == '"' || *at == '\'') {
			next = skip_string(at);
			if (next == NULL)
				return conf_bad(&p->error, line_of(text, at),
				    "this string has no end: close it with %c",
				    *at);
			last = *at;
		} else if (begins_comment(at)) {
			if (!comment_is_meant(p, text, at, last))
				return false;
			next = blank_comment(at);
			if (next == NULL)
				return conf_bad(&p->error, line_of(text, at),
				    "this comment has no end: close it with "
				    "*/");
		} else if (strchr(" \t\r\n", *at) == NULL) {
			last = *at;
		}
		at = next;
	}
	return true;
}

/* What libconfuse leaves out of a word, or takes for its own syntax. */
static bool
has_no_signs(struct parse *p, char *text)
{
	for (char *at = text; *at != '\0';) {
		if (*at == '"' || *at == '\'')
			at = skip_string(at);
		else if (strchr("*,+(){}", *at) != NULL)
			return conf_bad(&p->error, line_of(text, at),
			    "%c needs quotes: write name = \"value\"", *at);
		else
			at++;
	}
	return true;
}

/* libconfuse would put in what the environment holds. */
static bool
has_no_variables(struct parse *p, const char *text)
{
	const char *at = strstr(text, "${");

	return at == NULL ||
	    conf_bad(&p->error, line_of(text, at),
		"there are no variables: write the value itself");
}

static bool
parse_bytes(struct parse *p, const char *bytes, size_t len)
{
	const char *nul = memchr(bytes, '\0', len);
	char *text;
	bool good;

	if (len > CONF_BYTES_MAX)
		return conf_bad(&p->error, 0,
		    "it is longer than %d bytes: shorten its comments",
		    CONF_BYTES_MAX);
	if (nul != NULL)
		return conf_bad(&p->error, line_of(bytes, nul),
		    "there is a byte of value 0: write text only");
	text = strndup(bytes, len);
	if (text == NULL)
		return conf_bad(&p->error, 0, "no memory");
	good = blank_comments(p, text) && has_no_variables(p, text) &&
	    has_no_signs(p, text) && parse_text(p, text);
	free(text);
	return good;
}

/* A value that is quoted may hold anything, but the text goes into one line. */
static void
clean_text(struct conf_error *e)
{
	for (char *p = e->text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}

bool
conf_parse(const char *bytes, size_t len, struct settings *settings,
    struct conf_lines *ret_lines, struct conf_error *ret_error)
{
	struct parse p = { .settings = *settings };

	if (!parse_bytes(&p, bytes, len)) {
		clean_text(&p.error);
		*ret_error = p.error;
		return false;
	}
	*settings = p.settings;
	*ret_lines = p.lines;
	return true;
}

static bool
file_is_trusted(int fd, struct conf_error *e)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return conf_bad(e, 0, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return conf_bad(e, 0, "it is not a regular file");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return conf_bad(e, 0,
		    "it belongs to uid %u, who could change it: chown it to"
		    " uid %u",
		    (unsigned int)st.st_uid, (unsigned int)geteuid());
	if ((st.st_mode & OTHERS_WRITE) != 0)
		return conf_bad(e, 0,
		    "others can write to it (mode %04o): chmod go-w",
		    (unsigned int)(st.st_mode & 07777));
	return true;
}

/* Up to one byte more than is allowed, to see that it is too long. */
static bool
file_read(int fd, char *bytes, size_t *ret_len, struct conf_error *e)
{
	size_t len = 0;
	ssize_t n;

	while (len <= CONF_BYTES_MAX) {
		n = read(fd, bytes + len, CONF_BYTES_MAX + 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return conf_bad(e, 0, "%s", strerror(errno));
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret_len = len;
	return true;
}

enum conf_status
conf_read(const char *path, struct settings *settings,
    struct conf_lines *ret_lines, struct conf_error *ret_error)
{
	/* A pipe must not be waited for. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *bytes;
	size_t len = 0;
	bool good;

	if (fd == -1) {
		conf_bad(ret_error, 0, "%s", strerror(errno));
		return errno == ENOENT ? CONF_ABSENT : CONF_BAD;
	}
	bytes = malloc(CONF_BYTES_MAX + 1);
	if (bytes == NULL)
		good = conf_bad(ret_error, 0, "no memory");
	else
		good = file_is_trusted(fd, ret_error) &&
		    file_read(fd, bytes, &len, ret_error) &&
		    conf_parse(bytes, len, settings, ret_lines, ret_error);
	free(bytes);
	close(fd);
	return good ? CONF_GOOD : CONF_BAD;
}
