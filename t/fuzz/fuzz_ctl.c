/*
 * A template's inputs on the command line of browsertaskctl. The first block
 * of the input has one argument per line, the next, after a line "%%", is what
 * the file f (which @f and a=@f name) and the standard input contain, the last
 * the template's schema. Whatever is put together is one JSON object without
 * double keys; what is not, was explained.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/panic.h"
#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "t/fuzz/fuzz.h"

#define ARGS_MAX 16

static int told;
static int file = -1; /* also the standard input */
static char path[64];

/* What the program says to people goes nowhere. */
void
ctl_error(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	told++;
}

void
ctl_hint(const char *fmt, ...)
{
}

/* A file without a name, which other programs cannot touch. */
static void
make_file(void)
{
	file = memfd_create("f", MFD_CLOEXEC);
	ASSERT(file != -1 && dup2(file, STDIN_FILENO) != -1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
}

static void
fill_file(const char *bytes, size_t len)
{
	ASSERT(ftruncate(file, 0) == 0);
	ASSERT(pwrite(file, bytes, len, 0) == (ssize_t)len);
	rewind(stdin);
}

/* The block up to the next line "%%", NUL-terminated; moves *at behind it. */
static char *
next_block(char **at, char *end, size_t *ret_len)
{
	char *start = *at, *mark = NULL;

	if (start < end)
		mark = memmem(start, (size_t)(end - start), "\n%%\n", 4);
	*ret_len = (size_t)((mark != NULL ? mark : end) - start);
	*at = mark != NULL ? mark + 4 : end;
	start[*ret_len] = '\0';
	return start;
}

/* An argument that names a file names ours, or one that is not there. */
static char *
take_arg(const char *line)
{
	const char *at = strchr(line, '=');
	char *arg = NULL;

	at = line[0] == '@' ? line : at != NULL && at[1] == '@' ? at + 1 : NULL;
	if (at == NULL)
		return strdup(line);
	if (asprintf(&arg, "%.*s@%s%s", (int)(at - line), line, path,
		strcmp(at + 1, "f") == 0 ? "" : ".none") == -1)
		return NULL;
	return arg;
}

static int
split_args(char *block, char *args[ARGS_MAX])
{
	int n = 0;

	for (char *line; n < ARGS_MAX && (line = strsep(&block, "\n"));) {
		if (line[0] == '\0' && block == NULL)
			break;
		args[n] = take_arg(line);
		ASSERT(args[n++] != NULL);
	}
	return n;
}

static void
build(char *const *args, int nargs, struct json_val schema)
{
	struct json_doc *doc = NULL;
	struct buf b;

	told = 0;
	buf_init(&b, 1 << 20);
	if (!inputs_build(args, nargs, schema, &b))
		ASSERT(told == 1);
	else {
		ASSERT(told == 0);
		ASSERT(json_parse(
		    b.data, b.len, NULL, JSON_DUP_ERROR, &doc, NULL));
		ASSERT(json_is_object(json_root(doc)));
		json_doc_free(&doc);
	}
	buf_clear(&b);
}

/* The same words as times, as options take them. */
static void
read_times(char *const *args, int nargs)
{
	static const int64_t now = INT64_C(1800000000000);
	int64_t ms;

	for (int i = 0; i < nargs; i++) {
		const char *text = args[i];
		size_t digits = strspn(text, "0123456789.");

		ms = -1;
		if (ctl_duration(text, &ms)) {
			ASSERT(ms >= 0 && digits > 0);
			ASSERT(strlen(text + digits) <= 2);
		} else
			ASSERT(ms == -1);
		if (ctl_moment(text, now, &ms))
			ASSERT(ms >= 0 && (strchr(text, '-') || ms <= now * 2));
		else
			ASSERT(ms >= -1);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size + 1), *at = copy, *args[ARGS_MAX], *text;
	struct json_doc *schema = NULL;
	size_t len;
	int nargs;

	ASSERT(copy != NULL);
	if (file == -1)
		make_file();
	if (size > 0)
		memcpy(copy, bytes, size);
	text = next_block(&at, copy + size, &len);
	nargs = split_args(text, args);
	text = next_block(&at, copy + size, &len);
	fill_file(text, len);
	text = next_block(&at, copy + size, &len);
	(void)json_parse(
	    (uint8_t *)text, len, NULL, JSON_DUP_ERROR, &schema, NULL);
	build(args, nargs, json_root(schema));
	read_times(args, nargs);
	json_doc_free(&schema);
	while (nargs > 0)
		free(args[--nargs]);
	free(copy);
	return 0;
}
