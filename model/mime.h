/*
 * mime: what a media type says about its bytes.
 */
#ifndef MODEL_MIME_H
#define MODEL_MIME_H

#include <stdbool.h>

/* Bytes of this type are text in UTF-8, whatever its parameters. */
bool mime_is_text(const char *mime);
/*
 * Whether it may be the type of an artifact: type/subtype and parameters, in the
 * letters that these have; nothing that a terminal or a header takes otherwise.
 */
bool mime_is_valid(const char *mime);

#endif
