/*
 * The layout of a tape, private to json/. One token is 64 bits:
 *
 *	type:4 flag:4 offset:28 aux:28
 *
 *	open	offset of the bracket, aux: index of its close token
 *	close	offset of the bracket, aux: number of elements or members
 *	string	offset behind the quote, aux: raw length without quotes
 *	number	offset, aux: length
 *	word	offset, aux: length (null, true, false)
 *
 * An object holds key, value, key, value ... between open and close.
 */
#ifndef JSON_TAPE_INT_H
#define JSON_TAPE_INT_H

#include "json/tape.h"

enum token_type {
	TOKEN_NULL,
	TOKEN_FALSE,
	TOKEN_TRUE,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_ARRAY,
	TOKEN_OBJECT,
	TOKEN_CLOSE,
	TOKEN__MAX
};

/* A string that has to be decoded: an escape or ill-formed bytes inside. */
#define TOKEN_CODED 1u

struct json_doc {
	uint32_t magic;
	uint32_t ntokens;
	bool unique;   /* no object has equal keys */
	bool repaired; /* strings may hold ill-formed bytes */
	const uint8_t *bytes;
	uint8_t *copy; /* NULL if borrowed */
	size_t len;
	uint64_t *tape;
};

#define JSON_DOC_MAGIC 0x6a736f6e

static inline uint64_t
token_make(enum token_type type, unsigned flag, size_t off, size_t aux)
{
	return (uint64_t)type << 60 | (uint64_t)flag << 56 |
	    (uint64_t)off << 28 | (uint64_t)aux;
}

static inline enum token_type
token_type(uint64_t t)
{
	return (enum token_type)(t >> 60);
}

static inline unsigned
token_flag(uint64_t t)
{
	return t >> 56 & 0xf;
}

static inline uint32_t
token_off(uint64_t t)
{
	return t >> 28 & 0xfffffff;
}

static inline uint32_t
token_aux(uint64_t t)
{
	return t & 0xfffffff;
}

/* Index of the token behind the value at i. */
static inline uint32_t
tape_skip(const uint64_t *tape, uint32_t i)
{
	enum token_type type = token_type(tape[i]);

	if (type == TOKEN_ARRAY || type == TOKEN_OBJECT)
		return token_aux(tape[i]) + 1;
	return i + 1;
}

/*
 * Sorts the tape indexes of n keys by their decoded bytes, equal ones by
 * index.
 */
void tape_sort_keys(const struct json_doc *, uint32_t *keys, size_t n);
/* Order of the decoded strings at two indexes. */
int tape_str_cmp(const struct json_doc *, uint32_t, uint32_t);

#endif
