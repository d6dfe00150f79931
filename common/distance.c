/*
 * distance: how much two names differ. Runs wherever a mistyped name is
 * answered with the one that was meant; short names only, since its time grows
 * with the product of their lengths.
 */
#include <ctype.h>
#include <stdint.h>

#include "common/distance.h"

size_t
name_distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[DISTANCE_MAX_BYTES + 1];

	if (na > DISTANCE_MAX_BYTES || nb > DISTANCE_MAX_BYTES)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t up = row[j], least = corner;

			if (tolower((unsigned char)a[i - 1]) !=
			    tolower((unsigned char)b[j - 1]))
				least++;
			if (up + 1 < least)
				least = up + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			corner = up;
			row[j] = least;
		}
	}
	return row[nb];
}
