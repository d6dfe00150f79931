/* Reading of control groups. Runs in the launcher and in cells. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cgroup.h"

#define INFO_BYTES 262144

bool
cgroup_read(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd == -1)
		return false;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	return n != -1;
}

bool
cgroup_own(const char *text, char *ret_path, size_t size)
{
	size_t len;

	while (strncmp(text, "0::/", 4) != 0) {
		text = strchr(text, '\n');
		if (text == NULL)
			return false;
		text++;
	}
	text += 3;
	len = strcspn(text, "\n");
	if (len >= size || text[len] != '\n')
		return false;
	memcpy(ret_path, text, len);
	ret_path[len] = '\0';
	return true;
}

/* Words 4 and 5 are the root of the mount and its place. */
static bool
mount_line(char *line, char *ret_point, char *ret_root, size_t size)
{
	char *word, *rest = line, *words[5];

	if (strstr(line, " - cgroup2 ") == NULL)
		return false;
	for (size_t i = 0; i < 5; i++) {
		word = strsep(&rest, " ");
		if (word == NULL)
			return false;
		words[i] = word;
	}
	return strlcpy(ret_root, words[3], size) < size &&
	    strlcpy(ret_point, words[4], size) < size;
}

bool
cgroup_mount(const char *text, char *ret_point, char *ret_root, size_t size)
{
	char line[2 * PATH_MAX];
	size_t len;

	for (; *text != '\0'; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (len >= sizeof(line))
			continue;
		memcpy(line, text, len);
		line[len] = '\0';
		if (mount_line(line, ret_point, ret_root, size))
			return true;
	}
	return false;
}

uint64_t
cgroup_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text != NULL && *text != '\0') {
		if (strncmp(text, key, len) == 0 && text[len] == ' ')
			return strtoull(text + len + 1, NULL, 10);
		text = strchr(text, '\n');
		if (text != NULL)
			text++;
	}
	return 0;
}

int
cgroup_open_own(void)
{
	static char text[INFO_BYTES];
	char own[PATH_MAX], point[PATH_MAX], root[PATH_MAX];
	char path[2 * PATH_MAX];
	size_t skip;

	if (!cgroup_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) ||
	    !cgroup_own(text, own, sizeof(own)) ||
	    !cgroup_read(
		AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) ||
	    !cgroup_mount(text, point, root, sizeof(point)))
		return -1;
	skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(own, root, skip) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s%s", point, own + skip);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
