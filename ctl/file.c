/*
 * Files that people name on the command line. Runs in browsertaskctl.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "ctl/file.h"

void
file_hint_above(const char *path)
{
	char *copy = strdup(path);

	if (copy != NULL)
		ctl_hint(
		    "make the directory first: mkdir -p %s", dirname(copy));
	free(copy);
}

static bool
file_failed(struct file *f, const char *path)
{
	ctl_error("%s: %s", path, strerror(errno));
	if (errno == ENOENT)
		file_hint_above(path);
	free(f->path);
	free(f->part);
	return false;
}

/*
 * A device or pipe is written to as it is, and so is what /dev/stdout and its
 * like lead to. Any other link may be somebody else's.
 */
static bool
is_special(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		return false;
	if (S_ISLNK(st.st_mode))
		return strncmp(path, "/dev/std", strlen("/dev/std")) == 0 ||
		    strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0;
	return !S_ISREG(st.st_mode);
}

/*
 * A new file beside the one it will replace, readable by its owner only: what
 * lies there under any name is neither followed nor written to.
 */
static FILE *
part_open(char *path)
{
	int fd = mkostemp(path, O_CLOEXEC), error;
	FILE *stream;

	if (fd == -1)
		return NULL;
	stream = fdopen(fd, "w");
	if (stream != NULL)
		return stream;
	error = errno;
	close(fd);
	unlink(path);
	errno = error;
	return NULL;
}

bool
file_open(struct file *f, const char *path)
{
	memset(f, 0, sizeof(*f));
	f->stream = stdout;
	if (path == NULL || strcmp(path, "-") == 0)
		return true;
	f->path = strdup(path);
	if (f->path == NULL)
		return file_failed(f, path);
	if (is_special(path)) {
		f->stream = fopen(path, "w");
		return f->stream != NULL || file_failed(f, path);
	}
	if (asprintf(&f->part, "%s.XXXXXX", path) == -1) {
		f->part = NULL;
		return file_failed(f, path);
	}
	f->stream = part_open(f->part);
	return f->stream != NULL || file_failed(f, path);
}

bool
file_is_stdout(const struct file *f)
{
	return f->path == NULL;
}

bool
file_write(struct file *f, const void *bytes, size_t len)
{
	if (len == 0 || fwrite(bytes, 1, len, f->stream) == len)
		return true;
	ctl_error("%s: %s", f->path == NULL ? "standard output" : f->path,
	    strerror(errno));
	return false;
}

bool
file_close(struct file *f, bool keep)
{
	bool good = true;

	if (f->path == NULL)
		return true;
	if (fclose(f->stream) != 0 && keep)
		good = false;
	if (good && keep && f->part != NULL && rename(f->part, f->path) == -1)
		good = false;
	if (!good)
		ctl_error("%s: %s", f->path, strerror(errno));
	if ((!good || !keep) && f->part != NULL)
		unlink(f->part);
	free(f->path);
	free(f->part);
	return good;
}
