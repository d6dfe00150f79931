/*
 * mime: what a media type says about its bytes.
 */
#ifndef MODEL_MIME_H
#define MODEL_MIME_H

#include <stdbool.h>

/* Bytes of this type are text in UTF-8, whatever its parameters. */
bool mime_is_text(const char *mime);

#endif
