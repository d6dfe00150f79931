/* The adapter's own errors. */
#include <string.h>

#include "common/panic.h"
#include "json/writer.h"
#include "mcp/fault.h"

void
fault_write(
    char ret_json[FAULT_BYTES_MAX], enum err_code code, const char *message)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, FAULT_BYTES_MAX - 1);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "errorCode", err_mcp_name(code));
	json_put_strn(&w, "message", message, strnlen(message, FAULT_TEXT_MAX));
	json_put_str(&w, "recoverHint", err_hint(code));
	json_put_bool(&w, "retryable", err_retryable(code));
	json_write_key(&w, "details");
	json_write_begin_object(&w);
	json_put_str(&w, "cause", err_name(code));
	json_write_end_object(&w);
	json_write_end_object(&w);
	ret_json[0] = '\0';
	if (json_writer_finish(&w)) {
		memcpy(ret_json, b.data, b.len);
		ret_json[b.len] = '\0';
	}
	buf_clear(&b);
}
