/*
 * files: reads the files of the page directory and nothing beside them.
 */
#ifndef SITE_FILES_H
#define SITE_FILES_H

struct evbuffer;

#define FILES_MAX_BYTES (64 << 20)

/*
 * Appends the file at path (already percent-decoded, relative to the open
 * directory dirfd, with or without a leading slash) to out. "" and a trailing
 * slash mean index.html; a last part without a dot gets ".html". Parts that
 * begin with a dot and symbolic links are refused. 0 and a borrowed constant
 * media type, or a positive errno value with out untouched.
 */
int files_read(
    int dirfd, const char *path, struct evbuffer *out, const char **ret_type);

#endif
