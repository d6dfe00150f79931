/*
 * secret: the stored secrets that inputs may name. They are files that only
 * their owner may read, written here and nowhere else; the service is not asked,
 * so that no value passes through it. A value is read from a terminal without
 * being shown, or from a pipe, never from the command line, and never printed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <readpassphrase.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/secretname.h"
#include "ctl/commands.h"
#include "ctl/ctl.h"
#include "ctl/table.h"
#include "json/writer.h"
#include "model/secrethosts.h"

#define VALUE_MAX 16384 /* as the launcher takes them */

struct place {
	char dir[PATH_MAX]; /* of all secrets */
	char user[16];      /* "": those for everybody */
};

static enum ctl_exit
failed(const char *what, const char *name)
{
	ctl_error("%s %s: %s", what, name, strerror(errno));
	if (errno == EACCES || errno == EPERM)
		ctl_hint("secrets of the system's service belong to root: use "
			 "sudo, or name another directory with --dir");
	return CTL_FAILED;
}

static bool
place_find(const struct ctl *ctl, struct place *p)
{
	const char *dir = ctl->opt[OPT_DIR], *user = ctl->opt[OPT_FOR];
	const struct passwd *pw;
	char *end;
	unsigned long n;

	memset(p, 0, sizeof(*p));
	if (dir != NULL)
		strlcpy(p->dir, dir, sizeof(p->dir));
	else if (!secretname_dir(
		     geteuid() == 0, SYSCONFDIR, p->dir, sizeof(p->dir))) {
		ctl_error("neither XDG_CONFIG_HOME nor HOME is set");
		ctl_hint("name the directory of the secrets with --dir");
		return false;
	}
	if (user == NULL)
		return true;
	pw = getpwnam(user);
	n = pw != NULL ? pw->pw_uid : strtoul(user, &end, 10);
	if (pw == NULL && (*user < '0' || *user > '9' || *end != '\0')) {
		ctl_error("--for: there is no user \"%s\"", user);
		return false;
	}
	snprintf(p->user, sizeof(p->user), "%u", (unsigned)n);
	return true;
}

/* Makes what is missing of a path, for its owner alone. */
static int
make_dirs(const char *path)
{
	char part[PATH_MAX];

	if (strlcpy(part, path, sizeof(part)) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *p = part + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) == -1 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	return mkdir(part, 0700) == -1 && errno != EEXIST ? -1 : 0;
}

/* The directory the place's secrets are in, or -1. */
static int
place_open(const struct place *p, bool make)
{
	const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd, sub;

	if (make && make_dirs(p->dir) == -1)
		return -1;
	fd = open(p->dir, how);
	if (fd == -1 || p->user[0] == '\0')
		return fd;
	if (make && mkdirat(fd, p->user, 0700) == -1 && errno != EEXIST) {
		fd_close(&fd);
		return -1;
	}
	sub = openat(fd, p->user, how);
	fd_close(&fd);
	return sub;
}

/* -1 with a word said; one byte more than is taken is read, to see it. */
static ssize_t
read_value(const char *name, char value[VALUE_MAX + 1])
{
	char prompt[SECRETNAME_BYTES + 32];
	size_t len = 0;
	ssize_t n = 1;

	if (isatty(STDIN_FILENO)) {
		snprintf(
		    prompt, sizeof(prompt), "Value of %s (not shown): ", name);
		if (readpassphrase(
			prompt, value, VALUE_MAX + 1, RPP_ECHO_OFF) == NULL)
			n = -1;
		else
			len = strlen(value);
	} else {
		while (len <= VALUE_MAX &&
		    (n = read(STDIN_FILENO, value + len, VALUE_MAX + 1 - len)) >
			0)
			len += (size_t)n;
	}
	if (n == -1)
		ctl_error("reading the value: %s", strerror(errno));
	else if (len == 0 || (len == 1 && value[0] == '\n'))
		ctl_error("the value is empty: nothing was stored");
	else if (len > VALUE_MAX)
		ctl_error("the value has more than %d bytes", VALUE_MAX);
	else
		return (ssize_t)len;
	return -1;
}

/* Whole or not at all: another name first. */
static int
store_file(int dir, const char *name, const char *value, size_t len,
    bool *ret_replaced)
{
	static const char temporary[] = ".new";
	int fd, error;

	(void)unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return -1;
	*ret_replaced = faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	error = fd_write_all(fd, value, len);
	if (error == 0 &&
	    (fchmod(fd, 0600) == -1 || fsync(fd) == -1 ||
		renameat(dir, temporary, dir, name) == -1 || fsync(dir) == -1))
		error = errno;
	close(fd);
	if (error == 0)
		return 0;
	(void)unlinkat(dir, temporary, 0);
	errno = error;
	return -1;
}

struct hosts_name {
	char text[SECRETNAME_BYTES + sizeof(SECRETNAME_HOSTS)];
};

static struct hosts_name
hosts_name(const char *name)
{
	struct hosts_name n;

	snprintf(n.text, sizeof(n.text), "%s" SECRETNAME_HOSTS, name);
	return n;
}

/*
 * The patterns of --for-host or --any-host, one a line; "" when neither is
 * given. False with a word said.
 */
static bool
hosts_read(const struct ctl *ctl, char ret_lines[SECRETHOSTS_BYTES + 1])
{
	const char *list = ctl->opt[OPT_FOR_HOST];
	char why[DOMAINS_WHY_BYTES];
	struct secret_hosts *hosts = NULL;

	if (list != NULL && ctl->opt[OPT_ANY_HOST] != NULL) {
		ctl_error("--for-host and --any-host exclude each other");
		return false;
	}
	if (ctl->opt[OPT_ANY_HOST] != NULL)
		list = "*";
	ret_lines[0] = '\0';
	if (list == NULL)
		return true;
	if (strlcpy(ret_lines, list, SECRETHOSTS_BYTES) >= SECRETHOSTS_BYTES) {
		ctl_error("--for-host: more than %d bytes", SECRETHOSTS_BYTES);
		return false;
	}
	for (char *c = ret_lines; *c != '\0'; c++)
		if (*c == ',')
			*c = '\n';
	if (!secret_hosts_parse(ret_lines, strlen(ret_lines), &hosts, why)) {
		ctl_error("--for-host: %s", why);
		return false;
	}
	secret_hosts_free(&hosts);
	strlcat(ret_lines, "\n", SECRETHOSTS_BYTES + 1);
	return true;
}

static enum ctl_exit
secret_set_hosts(const struct ctl *ctl, const struct place *p, const char *name)
{
	char lines[SECRETHOSTS_BYTES + 1];
	enum ctl_exit code = CTL_OK;
	bool replaced;
	int dir;

	if (!hosts_read(ctl, lines))
		return CTL_USAGE;
	if (lines[0] == '\0') {
		ctl_error("secret hosts: say --for-host HOSTS, or --any-host");
		return CTL_USAGE;
	}
	dir = place_open(p, false);
	if (dir == -1 ||
	    faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == -1 ||
	    store_file(dir, hosts_name(name).text, lines, strlen(lines),
		&replaced) == -1)
		code = failed("secret", name);
	fd_close(&dir);
	return code;
}

/* A secret has hosts, its own from before or those that are given. */
static bool
hosts_are_said(int dir, const char *name, const char *lines)
{
	if (lines[0] != '\0' ||
	    faccessat(dir, hosts_name(name).text, F_OK, AT_SYMLINK_NOFOLLOW) ==
		0)
		return true;
	ctl_error("secret add: say which hosts the secret is for: --for-host "
		  "example.com, or --any-host");
	return false;
}

/* A new value never goes where the old one went unless that is said again. */
static int
store_secret(int dir, const char *name, const char *value, size_t len,
    const char *lines, bool *ret_replaced)
{
	const struct hosts_name hosts = hosts_name(name);
	bool replaced;

	if (lines[0] != '\0' && unlinkat(dir, hosts.text, 0) == -1 &&
	    errno != ENOENT)
		return -1;
	if (store_file(dir, name, value, len, ret_replaced) == -1)
		return -1;
	return lines[0] == '\0'
	    ? 0
	    : store_file(dir, hosts.text, lines, strlen(lines), &replaced);
}

static enum ctl_exit
secret_add(const struct ctl *ctl, const struct place *p, const char *name)
{
	static char value[VALUE_MAX + 1];
	char lines[SECRETHOSTS_BYTES + 1];
	enum ctl_exit code = CTL_OK;
	bool replaced = false;
	ssize_t len;
	int dir;

	if (!hosts_read(ctl, lines))
		return CTL_USAGE;
	dir = place_open(p, true);
	if (dir == -1)
		return failed("the directory", p->dir);
	if (!hosts_are_said(dir, name, lines)) {
		close(dir);
		return CTL_USAGE;
	}
	len = read_value(name, value);
	if (len == -1)
		code = CTL_FAILED;
	else if (store_secret(
		     dir, name, value, (size_t)len, lines, &replaced) == -1)
		code = failed("secret", name);
	explicit_bzero(value, sizeof(value));
	close(dir);
	if (code == CTL_OK)
		fprintf(stderr, "%s; inputs name it {\"secretRef\":\"%s\"}\n",
		    replaced ? "replaced" : "stored", name);
	return code;
}

static enum ctl_exit
secret_remove(const struct place *p, const char *name)
{
	int dir = place_open(p, false), gone = -1;

	if (dir != -1) {
		(void)unlinkat(dir, hosts_name(name).text, 0);
		gone = unlinkat(dir, name, 0);
		close(dir);
	}
	if (gone == 0)
		return CTL_OK;
	if (errno != ENOENT)
		return failed("secret", name);
	ctl_error("there is no secret \"%s\"%s%s", name,
	    p->user[0] != '\0' ? " for uid " : "", p->user);
	ctl_hint("browsertaskctl secret list shows those there are");
	return CTL_REFUSED;
}

struct listing {
	struct table *table; /* NULL with --json */
	struct json_writer json;
};

/* "a,b"; "" when there are none that can be read. */
static void
list_hosts(int dir, const char *name, char ret[SECRETHOSTS_BYTES + 1])
{
	int fd = openat(dir, hosts_name(name).text,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd == -1 ? 0 : read(fd, ret, SECRETHOSTS_BYTES);

	fd_close(&fd);
	ret[n > 0 ? n : 0] = '\0';
	for (n = (ssize_t)strlen(ret); n > 0 && ret[n - 1] == '\n'; n--)
		ret[n - 1] = '\0';
	for (char *c = ret; *c != '\0'; c++)
		if (*c == '\n')
			*c = ',';
}

static void
list_one(struct listing *l, int dir, const char *name, const char *user)
{
	char hosts[SECRETHOSTS_BYTES + 1];
	const struct passwd *pw;
	struct stat st;
	char when[32];
	struct tm tm;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISREG(st.st_mode))
		return;
	list_hosts(dir, name, hosts);
	if (l->table == NULL) {
		json_write_begin_object(&l->json);
		json_put_str(&l->json, "name", name);
		json_put_str(&l->json, "for", user);
		json_put_str(&l->json, "hosts", hosts);
		json_put_int64(
		    &l->json, "storedAt", (int64_t)st.st_mtim.tv_sec * 1000);
		json_write_end_object(&l->json);
		return;
	}
	pw = user[0] == '\0' ? NULL : getpwuid((uid_t)strtoul(user, NULL, 10));
	localtime_r(&st.st_mtim.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	table_add(l->table, name);
	table_add(l->table,
	    pw != NULL            ? pw->pw_name
		: user[0] == '\0' ? "everybody"
				  : user);
	table_add(l->table,
	    strcmp(hosts, "*") == 0 ? "any"
		: hosts[0] == '\0'  ? "none"
				    : hosts);
	table_add(l->table, when);
	table_add(l->table,
	    (st.st_mode & 077) != 0 ? "refused: others may read it"
		: hosts[0] == '\0' ? "refused: say secret hosts NAME --for-host"
				   : "");
}

/* Takes the directory. */
static void
list_dir(struct listing *l, int fd, const char *user, bool deeper)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;

	if (dir == NULL) {
		close(fd);
		return;
	}
	while ((d = readdir(dir)) != NULL) {
		int sub = -1;

		if (secretname_good(d->d_name))
			list_one(l, dirfd(dir), d->d_name, user);
		else if (deeper &&
		    d->d_name[strspn(d->d_name, "0123456789")] == '\0')
			sub = openat(dirfd(dir), d->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub != -1)
			list_dir(l, sub, d->d_name, false);
	}
	closedir(dir);
}

static enum ctl_exit
secret_list(const struct ctl *ctl, const struct place *p)
{
	static const char *const titles[] = { "NAME", "FOR", "HOSTS", "STORED",
		"~NOTE" };
	struct listing l = { .table = NULL };
	struct buf out;
	int dir = place_open(p, false);

	if (dir == -1 && errno != ENOENT)
		return failed("the directory", p->dir);
	buf_init(&out, SIZE_MAX);
	if (ctl->opt[OPT_JSON] == NULL)
		l.table = table_new(titles, 5);
	json_writer_init(&l.json, &out);
	json_write_begin_array(&l.json);
	if (dir != -1)
		list_dir(&l, dir, p->user, p->user[0] == '\0');
	json_write_end_array(&l.json);
	if (l.table != NULL && table_rows(l.table) == 0)
		fprintf(stderr, "no secrets\n");
	else if (l.table != NULL)
		table_print(l.table, stdout, (size_t)ctl->columns, ctl->color,
		    ctl->unicode);
	else
		ctl_print_written(&l.json, &out);
	table_free(&l.table);
	buf_clear(&out);
	return CTL_OK;
}

enum ctl_exit
cmd_secret(struct ctl *ctl)
{
	const char *verb = ctl->nargs > 0 ? ctl->args[0] : "list";
	const char *name = ctl->nargs > 1 ? ctl->args[1] : NULL;
	bool list = strcmp(verb, "list") == 0;
	struct place p;

	if (!list && strcmp(verb, "add") != 0 && strcmp(verb, "hosts") != 0 &&
	    strcmp(verb, "remove") != 0) {
		ctl_error(
		    "secret: \"%s\" is not add, hosts, list or remove", verb);
		return CTL_USAGE;
	}
	if (list != (name == NULL)) {
		ctl_error(list ? "secret list takes no name"
			       : "secret %s: name the secret",
		    verb);
		return CTL_USAGE;
	}
	if (!list && !secretname_good(name)) {
		ctl_error("a name has up to %d of A-Z a-z 0-9 . _ - and begins "
			  "with a letter",
		    SECRETNAME_BYTES - 1);
		return CTL_USAGE;
	}
	if (!place_find(ctl, &p))
		return CTL_USAGE;
	if (list)
		return secret_list(ctl, &p);
	if (strcmp(verb, "hosts") == 0)
		return secret_set_hosts(ctl, &p, name);
	return strcmp(verb, "add") == 0 ? secret_add(ctl, &p, name)
					: secret_remove(&p, name);
}
