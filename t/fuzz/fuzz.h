/*
 * fuzz: the function that every fuzz target defines. libFuzzer calls it
 * (configure --enable-fuzz), or t/fuzz/replay.c with the files of the corpus.
 * A target gives the bytes to a parser and ASSERTs what must hold for any
 * bytes; it keeps nothing from one input to the next, so that a file found by
 * the fuzzer fails alone, too.
 */
#ifndef T_FUZZ_FUZZ_H
#define T_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0, or aborts. bytes may be NULL when size is 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
