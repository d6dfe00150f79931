/*
 * protections: names and texts of what keeps runs apart. Runs in the launcher,
 * which looks what there is, in supervisord, which tells, and in browsertaskctl.
 */
#include <string.h>

#include "common/panic.h"
#include "model/protections.h"
#include "model/setting_checks.h"

static const struct {
	const char *name;
	enum protection_need need;
	const char *what, *fix;
} rows[PROTECTION__MAX] = {
#define PROTECTION(id, name, need, what, fix) \
	{ name, PROTECTION_##need, what, fix },
#include "model/protections.def"
#undef PROTECTION
};

const char *
protection_name(enum protection p)
{
	ASSERT(p < PROTECTION__MAX);
	return rows[p].name;
}

const char *
protection_what(enum protection p)
{
	ASSERT(p < PROTECTION__MAX);
	return rows[p].what;
}

const char *
protection_fix(enum protection p)
{
	ASSERT(p < PROTECTION__MAX);
	return rows[p].fix;
}

enum protection_need
protection_need(enum protection p)
{
	ASSERT(p < PROTECTION__MAX);
	return rows[p].need;
}

const char *
protection_need_name(enum protection_need need)
{
	static const char *const names[PROTECTION_NEED__MAX] = { "base",
		"required", "wanted" };

	ASSERT(need < PROTECTION_NEED__MAX);
	return names[need];
}

const char *
protection_state_name(enum protection_state state)
{
	static const char *const names[PROTECTION_STATE__MAX] = { "off",
		"weaker", "on" };

	ASSERT(state < PROTECTION_STATE__MAX);
	return names[state];
}

enum protection
protection_find(const char *name)
{
	for (int i = 0; i < PROTECTION__MAX; i++)
		if (strcmp(rows[i].name, name) == 0)
			return (enum protection)i;
	return PROTECTION__MAX;
}

bool
protection_is_waived(const char *list, enum protection p)
{
	const char *name = protection_name(p);
	size_t len;

	while (*(list += strspn(list, SETTING_SEPARATORS)) != '\0') {
		len = strcspn(list, SETTING_SEPARATORS);
		if (len == strlen(name) && memcmp(list, name, len) == 0)
			return true;
		list += len;
	}
	return false;
}
