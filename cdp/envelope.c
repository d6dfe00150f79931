/*
 * Takes a message of the browser apart, in the worker, with as little walking
 * as the way in which Chromium writes messages allows. What is written in
 * another way is scanned, to the same result.
 */
#include <string.h>

#include "cdp/cdp.h"
#include "cdp/envelope.h"
#include "cdp/route.h"

/*
 * Chromium writes the method of an event first. A name that is not in our
 * table ends the matter here, before the message is walked.
 */
static bool
is_unknown_event(const uint8_t *msg, size_t len)
{
	static const char start[] = "{\"method\":\"";
	const size_t skip = sizeof(start) - 1;
	const uint8_t *end;
	size_t room;

	if (len <= skip || memcmp(msg, start, skip) != 0)
		return false;
	room = len - skip < 80 ? len - skip : 80;
	end = memchr(msg + skip, '"', room);
	return end != NULL &&
	    cdp_route_event((const char *)msg + skip,
		(size_t)(end - msg) - skip) == CDP_EV__MAX;
}

/*
 * Chromium writes an answer as {"id":N,"result":{...},"sessionId":"S"}, the
 * last member only in sessions. Then the result is what lies between, and a
 * long one need not be walked. False for anything else: it is scanned.
 */
static bool
split_answer(const uint8_t *msg, size_t len, struct json_envelope *ret)
{
	static const char id[] = "{\"id\":", result[] = ",\"result\":{",
			  session[] = ",\"sessionId\":\"";
	const size_t id_len = sizeof(id) - 1, result_len = sizeof(result) - 1;
	const size_t session_len = sizeof(session) - 1;
	size_t at = id_len, end = len;

	if (len < 32 || memcmp(msg, id, id_len) != 0)
		return false;
	while (at < id_len + 10 && msg[at] >= '0' && msg[at] <= '9')
		at++;
	if (memcmp(msg + at, result, result_len) != 0 || msg[--end] != '}')
		return false;
	if (msg[end - 1] == '"') {
		end--;
		for (size_t n = 0; msg[end - 1] != '"'; n++) {
			if (n > CDP_SESSION_ID_MAX || end < at + result_len)
				return false;
			end--;
		}
		end -= session_len < end ? session_len : end;
		if (end < at + result_len ||
		    memcmp(msg + end, session, session_len) != 0)
			return false;
	}
	if (end < at + result_len + 1 || msg[end - 1] != '}')
		return false;
	*ret = (struct json_envelope){ .id = { msg + id_len, at - id_len },
		.result = {
		    msg + at + result_len - 1, end - at - result_len + 1 } };
	return true;
}

bool
cdp_envelope_take(const uint8_t *msg, size_t len, struct json_envelope *ret)
{
	if (is_unknown_event(msg, len))
		return false;
	return split_answer(msg, len, ret) || json_envelope_scan(msg, len, ret);
}

bool
cdp_session_id_ok(const char *id, size_t len)
{
	if (len == 0 || len > CDP_SESSION_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (id[i] <= ' ' || id[i] > '~' || id[i] == '"' ||
		    id[i] == '\\')
			return false;
	}
	return true;
}
