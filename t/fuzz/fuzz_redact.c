/*
 * The redactor: the first two lines are secrets, what follows is a text. What
 * is JSON stays JSON, looking and taking out agree, no secret stays in a text
 * as it is but a word in another one, and nothing is changed where there is none.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fdio.h"
#include "common/panic.h"
#include "json/tape.h"
#include "json/writer.h"
#include "model/limits.h"
#include "t/fuzz/fuzz.h"
#include "workerd/redact.h"
#include "workerd/secret.h"
#include "workerd/word.h"

/* A part of the input, not NUL-terminated. */
struct part {
	const char *bytes;
	size_t len;
};

static struct part
take_line(struct part *rest)
{
	struct part line = *rest;
	const char *end =
	    rest->len == 0 ? NULL : memchr(rest->bytes, '\n', rest->len);

	if (end == NULL) {
		rest->len = 0;
		return line;
	}
	line.len = (size_t)(end - line.bytes);
	rest->len -= line.len + 1;
	rest->bytes = end + 1;
	return line;
}

/* As they come through the pipe; NULL when there are too many bytes. */
static struct secrets *
read_secrets(const struct part *values, size_t n)
{
	struct secrets *s = secrets_new();
	enum secrets_status status;
	struct json_writer w;
	struct buf b;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	ASSERT(s != NULL && fd != -1);
	buf_init(&b, 8 * LIMIT_SECRETS_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_array(&w);
	for (size_t i = 0; i < n; i++)
		json_write_strn(&w, values[i].bytes, values[i].len);
	json_write_end_array(&w);
	ASSERT(json_writer_finish(&w));
	ASSERT(fd_write_all(fd, b.data, b.len) == 0);
	ASSERT(lseek(fd, 0, SEEK_SET) == 0);
	status = secrets_read(s, fd);
	ASSERT(status == SECRETS_COMPLETE || b.len > LIMIT_SECRETS_BYTES);
	close(fd);
	buf_clear(&b);
	if (status != SECRETS_COMPLETE)
		secrets_free(&s);
	return s;
}

static bool
is_json(const void *bytes, size_t len)
{
	struct json_doc *doc = NULL;
	bool good = json_parse(bytes, len, NULL, 0, &doc, NULL);

	json_doc_free(&doc);
	return good;
}

/* Unless it could be made of what stands in its place. */
static void
check_gone(const struct secrets *s, const struct buf *out)
{
	const char *value;
	size_t len;

	for (size_t i = 0; i < secrets_count(s); i++) {
		value = secrets_value(s, i, &len);
		if (len < REDACT_MIN || strlen(value) != len ||
		    strpbrk(value, REDACT_SHOWN) != NULL)
			continue;
		/* A part of another word stays. */
		if (word_is_plain(value, len)) {
			ASSERT(out->len != len ||
			    memcmp(out->data, value, len) != 0);
			continue;
		}
		ASSERT(out->len == 0 ||
		    memmem(out->data, out->len, value, len) == NULL);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct part text = { (const char *)bytes, size }, values[2];
	struct secrets *s;
	struct redact *r;
	struct buf out;
	bool found;

	values[0] = take_line(&text);
	values[1] = take_line(&text);
	s = read_secrets(values, 2);
	if (s == NULL)
		return 0;
	r = redact_new(s);
	ASSERT(r != NULL);
	buf_init(&out, 2 * text.len + sizeof(REDACT_SHOWN));
	ASSERT(redact_add(r, text.bytes, text.len, &out));
	found = redact_finds(r, text.bytes, text.len);
	if (!found)
		ASSERT(out.len == text.len &&
		    (out.len == 0 ||
			memcmp(out.data, text.bytes, out.len) == 0));
	else
		ASSERT(memmem(out.data, out.len, REDACT_SHOWN,
			   sizeof(REDACT_SHOWN) - 1) != NULL);
	if (is_json(text.bytes, text.len))
		ASSERT(is_json(out.data, out.len));
	else
		check_gone(s, &out);
	buf_clear(&out);
	redact_free(&r);
	secrets_free(&s);
	return 0;
}
