/* json_oracle: json-c behind one function, since its names clash with ours. */
#ifndef T_UNIT_JSON_ORACLE_H
#define T_UNIT_JSON_ORACLE_H

#include <stddef.h>

/*
 * What json-c writes after it has read a text, to be freed; NULL if it refuses
 * the text.
 */
char *oracle_respell(const char *bytes, size_t len);

#endif
