/* The revisions; the adapter's. */
#include "mcp/revision.h"

static const struct revision revisions[] = {
#define MODERN                        ERA_MODERN
#define LEGACY                        ERA_LEGACY
#define BATCHES                       REV_BATCHES
#define ANNOTATIONS                   REV_ANNOTATIONS
#define STRUCTURED                    REV_STRUCTURED
#define TASKS                         REV_TASKS
#define REVISION(name, era, features) { name, era, features },
#include "mcp/revision.def"
#undef REVISION
};

#define REVISIONS (sizeof(revisions) / sizeof(revisions[0]))

const struct revision *
revision_find(struct json_val name)
{
	for (size_t i = 0; i < REVISIONS; i++)
		if (json_str_eq(name, revisions[i].name))
			return &revisions[i];
	return NULL;
}

static const struct revision *
newest_of(enum era era)
{
	size_t i = 0;

	while (revisions[i].era != era)
		i++;
	return &revisions[i];
}

const struct revision *
revision_newest_legacy(void)
{
	return newest_of(ERA_LEGACY);
}

const struct revision *
revision_newest_modern(void)
{
	return newest_of(ERA_MODERN);
}

void
revision_write_names(struct json_writer *w)
{
	json_write_begin_array(w);
	for (size_t i = 0; i < REVISIONS; i++)
		json_write_str(w, revisions[i].name);
	json_write_end_array(w);
}
