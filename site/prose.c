/*
 * prose: sentences for the generated pages. Runs in demosite. A pattern is
 * text with letters behind '$' that stand for a word of a list; the same seed
 * must give the same text for ever, since measurements are compared.
 */
#include <ctype.h>
#include <stddef.h>

#include "common/buf.h"
#include "site/prose.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const nouns[] = { "harbour", "timetable", "library",
	"orchard", "bridge", "workshop", "survey", "archive", "market",
	"lighthouse", "railway", "council", "garden", "map", "engine", "letter",
	"ledger", "school", "canal", "instrument", "theatre", "recipe",
	"notebook", "station", "printing press", "weather mast", "ferry",
	"museum", "field", "reservoir", "mill", "catalogue" };
static const char *const plurals[] = { "visitors", "measurements", "residents",
	"drawings", "samples", "pages", "machines", "records", "volunteers",
	"apprentices", "boats", "seeds", "photographs", "questions", "songs",
	"readings", "tools", "travellers", "trees", "letters", "numbers",
	"birds", "engineers", "stones", "stories" };
static const char *const adjectives[] = { "quiet", "old", "careful", "narrow",
	"public", "unfinished", "bright", "distant", "ordinary", "patient",
	"early", "heavy", "local", "sturdy", "forgotten", "northern", "precise",
	"wooden", "shared", "modest", "long", "green", "useful", "stubborn",
	"generous", "wet" };
static const char *const verbs[] = { "described", "repaired", "measured",
	"opened", "collected", "compared", "painted", "moved", "remembered",
	"counted", "copied", "explained", "changed", "carried", "built",
	"followed", "questioned", "restored", "sorted", "watched" };
static const char *const places[] = { "behind the town hall", "by the river",
	"on the eastern shore", "in the reading room", "under the arches",
	"along the coast road", "near the old mill", "at the top of the hill",
	"between two villages", "in a rented shed", "beyond the last stop",
	"across the valley", "inside the tower", "on the ground floor" };
static const char *const times[] = { "In spring", "Every Thursday",
	"For eleven years", "After the flood", "Before the road was paved",
	"Late in the season", "On the first dry morning", "By midwinter",
	"Some weeks later", "At the second attempt", "During the holidays",
	"When the ice broke", "Within a month", "Around noon" };
static const char *const forenames[] = { "Agnes", "Bertil", "Carmen", "Dorian",
	"Elin", "Farid", "Greta", "Hanif", "Ines", "Jonas", "Kaia", "Leon",
	"Mirela", "Nils", "Odette", "Pavel", "Rosa", "Sorin", "Tilda",
	"Viggo" };
static const char *const surnames[] = { "Almgren", "Barrow", "Castellan",
	"Dunmore", "Eskola", "Ferrand", "Gallowey", "Hartvig", "Ilmari",
	"Jessen", "Kolar", "Lindqvist", "Marchetti", "Norby", "Ostrander",
	"Pellegrin", "Rask", "Sandoval", "Thorne", "Wexley" };
static const char *const patterns[] = {
	"$T, $m $v the $a $n $l, and nobody was surprised.",
	"The $a $n was never meant for $p, yet it has served them well.",
	"$m keeps a list of $p and reads it aloud when the $n falls silent.",
	"It takes a $a mind to see why the $n and the $n belong together.",
	"$T the $p $v every $n that could be found $l.",
	"A $n is only as good as the $p who look after it.",
	"Of the # $p that arrived, fewer than half $v the $n.",
	"What looked like a $a $n turned out to be a $n for $p.",
	"$m wrote that the $n $l was larger than the plans had promised.",
	"There is a $a way to build a $n, and there is the way they chose.",
	"The $p waited $l while $m $v the $n once more.",
	"$T somebody left a $a $n $l with a note for the $p.",
	"Nothing in the $n explains why # $p were counted twice.",
	"The rule is simple: whoever $v the $n also mends it.",
	"$m and $m disagree about the $n, but they share the same $a $n.",
	"Seen from the $n, the $p seem $a and very far away.",
	"One $n costs as much as # $p, which is why it stands $l.",
	"The $a part of the work began when the $n had been $v.",
	"Few $p know that the $n was $v by $m in a single night.",
	"If the $n fails, the $p can still be $v by hand $l.",
	"$T, # of the $p $v their own $n and kept the rest dry.",
	"No $n is ever finished; it is only handed to other $p.",
};
static const char *const title_patterns[] = { "The $a $n of $m",
	"How # $p $v a $n", "A $n for $a $p", "Notes on a $a $n",
	"What the $p $v", "The $n and the $a $n", "Why $a $p need a $n",
	"From $n to $n" };
static const char *const phrase_patterns[] = { "$a $n", "the $a $p",
	"$n and $n", "# $p", "a $a $n" };

void
prose_init(struct prose *p, uint64_t seed)
{
	p->state = seed * 0x9e3779b97f4a7c15U + 1;
}

uint32_t
prose_below(struct prose *p, uint32_t n)
{
	uint64_t x = p->state += 0x9e3779b97f4a7c15U;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
	x = (x ^ x >> 27) * 0x94d049bb133111ebU;
	x ^= x >> 31;
	return (uint32_t)((x >> 32) * n >> 32);
}

#define PICK(p, list) ((list)[prose_below((p), (uint32_t)COUNT(list))])

void
prose_name(struct prose *p, struct buf *out)
{
	const char *first = PICK(p, forenames);

	buf_addf(out, "%s %s", first, PICK(p, surnames));
}

static void
prose_word(struct prose *p, struct buf *out, char kind)
{
	switch (kind) {
	case 'n':
		buf_add_str(out, PICK(p, nouns));
		break;
	case 'p':
		buf_add_str(out, PICK(p, plurals));
		break;
	case 'a':
		buf_add_str(out, PICK(p, adjectives));
		break;
	case 'v':
		buf_add_str(out, PICK(p, verbs));
		break;
	case 'l':
		buf_add_str(out, PICK(p, places));
		break;
	case 'T':
		buf_add_str(out, PICK(p, times));
		break;
	default:
		prose_name(p, out);
	}
}

/* Expands a pattern; its first letter becomes a capital. */
static void
prose_expand(struct prose *p, struct buf *out, const char *pattern)
{
	size_t start = out->len;

	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '$')
			prose_word(p, out, *++pattern);
		else if (*pattern == '#')
			buf_addf(out, "%u", 3 + prose_below(p, 480));
		else
			buf_add(out, pattern, 1);
	}
	if (!out->failed)
		out->data[start] = (uint8_t)toupper(out->data[start]);
}

void
prose_title(struct prose *p, struct buf *out)
{
	prose_expand(p, out, PICK(p, title_patterns));
}

void
prose_phrase(struct prose *p, struct buf *out)
{
	prose_expand(p, out, PICK(p, phrase_patterns));
}

void
prose_sentence(struct prose *p, struct buf *out)
{
	prose_expand(p, out, PICK(p, patterns));
}

void
prose_sentences(struct prose *p, struct buf *out, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (i > 0)
			buf_add(out, " ", 1);
		prose_sentence(p, out);
	}
}
