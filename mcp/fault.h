/*
 * fault: errors that the adapter itself finds, in the form in which the service
 * writes errors.
 */
#ifndef MCP_FAULT_H
#define MCP_FAULT_H

#include "model/errors.h"

#define FAULT_TEXT_MAX  2048
#define FAULT_BYTES_MAX (6 * FAULT_TEXT_MAX + 1024)

/* Writes the JSON document, NUL-terminated; a longer message is cut. */
void
fault_write(char ret_json[FAULT_BYTES_MAX], enum err_code, const char *message);

#endif
