/* root: the directory tree that a compartment has instead of the machine's. */
#ifndef LAUNCHER_ROOT_H
#define LAUNCHER_ROOT_H

#include <stdint.h>

/*
 * All of it in the child only, in the order below, after its mounts were made
 * private. From root_begin() to root_enter() the working directory is the new
 * tree, and relative paths lead into it. All return 0 or an errno value.
 */

/* An empty tree in memory. */
int root_begin(void);
/* Puts in, read-only, what programs need to run. */
int root_put_system(void);
/*
 * Puts in a file or directory under the path it has outside, with all that is
 * mounted below, and more MOUNT_ATTR_* than no set-uid and no devices. The
 * kind of file must not change meanwhile.
 */
int root_put(const char *path, uint64_t attributes);
/* Makes a directory (relative path) with its parents. */
int root_make_dir(const char *path);
/* A file system in memory with a size, on a new directory (relative path). */
int root_put_tmpfs(const char *path, uint64_t bytes, const char *options,
    uint64_t mount_flags);
/* The tree becomes the root; what was the root is gone. */
int root_enter(void);
/* Covers what is there and is not to be seen; what is not there is well. */
int root_hide(const char *path);
/* From now on nothing can be made in the tree itself. */
int root_seal(void);

#endif
