#include <string.h>

#include <json-c/json.h>

#include "t/unit/json_oracle.h"

char *
oracle_respell(const char *bytes, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(600);
	struct json_object *obj;
	char *text = NULL;

	json_tokener_set_flags(
	    tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* With its NUL, which ends a number. */
	obj = json_tokener_parse_ex(tok, bytes, (int)len + 1);
	if (json_tokener_get_error(tok) == json_tokener_success &&
	    json_tokener_get_parse_end(tok) >= len)
		text = strdup(json_object_to_json_string_ext(obj,
		    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(obj);
	json_tokener_free(tok);
	return text;
}
