/* tree: how much lies in a directory. */
#ifndef CELL_TREE_H
#define CELL_TREE_H

#include <stdint.h>

/*
 * Bytes that files and directories below path take up, each of them a page at
 * least; counting ends beyond most. What vanishes meanwhile is not counted, nor
 * what lies deeper than any browser puts it.
 */
uint64_t tree_bytes(const char *path, uint64_t most);

#endif
