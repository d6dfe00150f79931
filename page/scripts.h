/*
 * scripts: the page scripts as they are written in page/ (*.js), made at build
 * into text that is already escaped for the inside of a JSON string.
 */
#ifndef PAGE_SCRIPTS_H
#define PAGE_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define SCRIPT(name)                       \
	extern const char script_##name[]; \
	extern const size_t script_##name##_len;
#include "page/scripts.def"
#undef SCRIPT

#define SCRIPT_IOV(name) \
	((struct iovec){ \
	    (void *)(uintptr_t)script_##name, script_##name##_len })
#define SCRIPT_LITERAL(text) \
	((struct iovec){ (void *)(uintptr_t)(text), sizeof(text) - 1 })

#endif
