#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/panic.h"

void
panic_at(const char *file, int line, const char *what)
{
	log_flush();
	fprintf(stderr, "<2>%s: panic: %s (%s:%d)\n", log_program(), what, file,
	    line);
	fflush(stderr);
	abort();
}
