/* backup_name: names of files in a backup, as they come from elsewhere. */
#ifndef CTL_BACKUP_NAME_H
#define CTL_BACKUP_NAME_H

#include <stdbool.h>

#define BACKUP_SUMS     "SHA256SUMS"
#define BACKUP_MANIFEST "manifest.json"

/*
 * A name below the backup's directory, of letters, digits, "." in no front
 * place, "-" and "_", in at most three parts; not one of the two above.
 */
bool backup_name_good(const char *);

#endif
