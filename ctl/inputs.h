/*
 * inputs: a template's inputs from the command line: key=value, key:=JSON,
 * key=@FILE (lines), @FILE and - (a whole JSON object).
 */
#ifndef CTL_INPUTS_H
#define CTL_INPUTS_H

#include <stdbool.h>

#include "common/buf.h"
#include "json/tape.h"

/*
 * Appends one JSON object. Plain values become what the schema's property of
 * that name asks for (number, boolean, array); without a schema they are
 * strings, and an array when the key is repeated. False after telling why.
 */
bool inputs_build(
    char *const *args, int nargs, struct json_val schema, struct buf *ret_json);

#endif
