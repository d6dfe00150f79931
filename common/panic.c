#include <stdio.h>
#include <stdlib.h>

#include "common/panic.h"

void
panic_at(const char *file, int line, const char *what)
{
	fprintf(stderr, "<2>panic: %s (%s:%d)\n", what, file, line);
	fflush(stderr);
	abort();
}
