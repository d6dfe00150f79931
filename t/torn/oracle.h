/*
 * oracle: opens what a crash left and says what does not hold: everything
 * acknowledged before the cut is there, nothing is half there, and the service
 * can go on.
 */
#ifndef T_TORN_ORACLE_H
#define T_TORN_ORACLE_H

#include "t/torn/work.h"

/*
 * What is wrong with the files in dir, after a crash when the log was cut
 * operations long; NULL: nothing. Changes them as a start of the service does.
 */
const char *oracle_check(const char *dir, const struct work *, size_t cut);

#endif
