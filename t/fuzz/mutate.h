/*
 * mutate: changed copies of valid inputs, for tests that have no fuzzer. What
 * is made depends on the state alone, so a run can be repeated.
 */
#ifndef T_FUZZ_MUTATE_H
#define T_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mutate_seed {
	uint8_t *bytes;
	size_t len;
};

struct mutate {
	uint64_t state; /* not 0 */
};

static inline uint64_t
mutate_random(struct mutate *m)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return m->state;
}

/* Less than n, which is not 0. */
static inline size_t
mutate_below(struct mutate *m, size_t n)
{
	return (size_t)(mutate_random(m) >> 11) % n;
}

static inline uint8_t
mutate_byte(struct mutate *m)
{
	static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xc1, 0xdf, 0xfe,
		0xff, '"', '\\', '{', '[', '\n', ' ', '-', '9' };

	if (mutate_below(m, 2) == 0)
		return telling[mutate_below(m, sizeof(telling))];
	return (uint8_t)mutate_random(m);
}

/* Some bytes of another input go in, or what is behind them comes here. */
static inline size_t
mutate_splice(struct mutate *m, const struct mutate_seed *other, uint8_t *out,
    size_t len, size_t room)
{
	size_t at = mutate_below(m, len + 1), from, n;

	if (other->len == 0)
		return len;
	from = mutate_below(m, other->len);
	n = mutate_below(m, other->len - from) + 1;
	if (mutate_below(m, 2) == 0)
		len = at;
	if (n > room - len)
		n = room - len;
	memmove(out + at + n, out + at, len - at);
	memcpy(out + at, other->bytes + from, n);
	return len + n;
}

static inline size_t
mutate_once(struct mutate *m, const struct mutate_seed *other, uint8_t *out,
    size_t len, size_t room)
{
	size_t at, n;

	if (len == 0)
		return mutate_splice(m, other, out, len, room);
	at = mutate_below(m, len);
	n = mutate_below(m, len - at < 16 ? len - at : 16) + 1;
	switch (mutate_below(m, 6)) {
	case 0:
		out[at] ^= (uint8_t)(1u << mutate_below(m, 8));
		return len;
	case 1:
		out[at] = mutate_byte(m);
		return len;
	case 2:
		memset(out + at, mutate_byte(m), n);
		return len;
	case 3:
		memmove(out + at, out + at + n, len - at - n);
		return len - n;
	case 4:
		if (n > room - len)
			return at;
		memmove(out + at + n, out + at, len - at);
		return len + n;
	default:
		return mutate_splice(m, other, out, len, room);
	}
}

/* Takes one of the seeds, changes it up to four times; returns its length. */
static inline size_t
mutate(struct mutate *m, const struct mutate_seed *seeds, size_t nseeds,
    uint8_t *out, size_t room)
{
	const struct mutate_seed *s = &seeds[mutate_below(m, nseeds)];
	size_t times = mutate_below(m, 4) + 1;
	size_t len = s->len < room ? s->len : room;

	memcpy(out, s->bytes, len);
	while (times-- > 0)
		len = mutate_once(
		    m, &seeds[mutate_below(m, nseeds)], out, len, room);
	return len;
}

#endif
