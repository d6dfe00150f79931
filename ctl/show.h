/*
 * show: the result of a template that makes no list of items, for people.
 */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include "ctl/ctl.h"

/*
 * Prints an object: lists of objects as tables, the rest as names and values.
 * What has no place in that (elements and texts of pages) is counted.
 */
void show_result(const struct ctl *, struct json_val result);

#endif
