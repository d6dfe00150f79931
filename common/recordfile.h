/*
 * recordfile: where the launcher records the last row of the audit log, and
 * browsertaskctl looks: STATEDIR.audit/last. One line: the row in 20 digits, a
 * colon, its hash in 64.
 */
#ifndef COMMON_RECORDFILE_H
#define COMMON_RECORDFILE_H

#define RECORD_SUFFIX ".audit"
#define RECORD_FILE   "last"
#define RECORD_NUMBER 20
#define RECORD_BYTES  (RECORD_NUMBER + 1 + 64 + 1) /* with the line's end */

#endif
