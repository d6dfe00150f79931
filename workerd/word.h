/*
 * word: secrets that are words, which stand in texts for themselves, too.
 */
#ifndef WORKERD_WORD_H
#define WORKERD_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether a value is one short word: letters, digits behind them or none.
 * Names that programs give to things, texts and addresses are made of such
 * words; the password "page" must not take them apart, nor "admin1".
 */
bool word_is_plain(const void *bytes, size_t len);
/*
 * Whether the word from p to p_end stands alone in the text from begin to end:
 * "admin" is neither a part of "administration" nor of "/wp-admin/". Where that
 * cannot be told, it does.
 */
bool word_is_alone(const uint8_t *begin, const uint8_t *end, const uint8_t *p,
    const uint8_t *p_end);

#endif
