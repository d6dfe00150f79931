/*
 * panic: a state that only our own code controls turned out impossible.
 * Prints where and aborts. Never used for what a peer, page, model, file or
 * disk did (those are returned codes), nor for the environment at start-up.
 */
#ifndef COMMON_PANIC_H
#define COMMON_PANIC_H

_Noreturn void panic_at(const char *file, int line, const char *what);

#define panic(what) panic_at(__FILE__, __LINE__, (what))
#define ASSERT(cond)                                         \
	do {                                                 \
		if (!(cond))                                 \
			panic_at(__FILE__, __LINE__, #cond); \
	} while (0)

/* Objects begin with a magic number that is checked where they are entered. */
#define MAGIC_CHECK(obj, val) ASSERT((obj) != NULL && (obj)->magic == (val))

#endif
