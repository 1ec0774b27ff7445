/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/s3/s3_credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/span.h"
#include "base/text/str.h"

#define FILE_MAX (1u << 20) /* bytes */

/* ---- files ---- */

bool s3_ini_find(const char *text, const char *section, const char *name, char *ret, size_t size)
{
	struct span rest = {text, strlen(text)}, line;
	bool inside = false;

	while (span_next_line(&rest, &line)) {
		struct span key, value;
		const char *equals;

		line = span_trim(line);
		if (line.len >= 2 && line.p[0] == '[' && line.p[line.len - 1] == ']') {
			inside = span_is(span_trim((struct span){line.p + 1, line.len - 2}),
					 section);
			continue;
		}
		equals = inside && line.len && *line.p != '#' && *line.p != ';'
				 ? memchr(line.p, '=', line.len)
				 : NULL;
		if (!equals)
			continue;
		key = span_trim((struct span){line.p, (size_t)(equals - line.p)});
		value = span_trim(
			(struct span){equals + 1, line.len - (size_t)(equals + 1 - line.p)});
		if (!span_is(key, name))
			continue;
		if (!value.len || value.len >= size)
			return false;
		memcpy(ret, value.p, value.len);
		ret[value.len] = '\0';
		return true;
	}
	return false;
}

/* Writes the path of a file in ~/.aws, or the value of the variable. Returns false if there is
 * none. */
static bool format_aws_file_path(const char *variable, const char *name, char ret[static PATH_MAX])
{
	const char *path = getenv(variable), *home = getenv("HOME");
	int n;

	if (path && *path)
		n = snprintf(ret, PATH_MAX, "%s", path);
	else if (home && *home)
		n = snprintf(ret, PATH_MAX, "%s/.aws/%s", home, name);
	else
		return false;
	return n < PATH_MAX;
}

static void wipe_and_free(struct strbuf *b)
{
	if (b->s)
		explicit_bzero(b->s, b->len);
	strbuf_deinit(b);
}

bool s3_config_read(const char *profile, const char *name, char *ret, size_t size)
{
	struct strbuf text = {0};
	char path[PATH_MAX], section[160];
	bool found;

	if (!format_aws_file_path("AWS_CONFIG_FILE", "config", path) ||
	    fs_read_file(path, FILE_MAX, &text) < 0) {
		strbuf_deinit(&text);
		return false;
	}
	snprintf(section, sizeof(section), "%s%s", strcmp(profile, "default") ? "profile " : "",
		 profile);
	found = s3_ini_find(text.s ? text.s : "", section, name, ret, size);
	wipe_and_free(&text);
	return found;
}

/* ---- keys ---- */

/* Returns true if the text can be written into a header. */
static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

static int check_keys(const struct s3_credentials *c, const char *where, struct err_text *e)
{
	if (is_printable(c->access_key) && is_printable(c->secret_key) && is_printable(c->token))
		return 0;
	return err_set(e, -EINVAL, "%.300s: a key contains blanks or invalid characters", where);
}

/* Returns true for a file in the directory in which systemd gives a unit its credentials. No other
 * user can enter it. */
static bool is_systemd_credential(const char *path)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");

	return dir && *dir && str_starts(path, dir) && path[strlen(dir)] == '/';
}

static int read_keys(struct s3_credentials *c, struct err_text *e)
{
	_cleanup_(closep) int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct strbuf text = {0};
	struct stat st;
	bool found;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, -errno, "cannot open the credentials file %.300s: %s", c->path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%.300s is not a regular file", c->path);
	if ((st.st_mode & 077) && !is_systemd_credential(c->path))
		return err_set(e, -EPERM,
			       "other users may read the credentials file %.300s; run: chmod 600 "
			       "%.100s",
			       c->path, c->path);
	r = fs_read_fd(fd, FILE_MAX, &text);
	found = r == 0 && text.s &&
		s3_ini_find(text.s, c->profile, "aws_access_key_id", c->access_key, S3_KEY_SIZE) &&
		s3_ini_find(text.s, c->profile, "aws_secret_access_key", c->secret_key,
			    S3_KEY_SIZE);
	if (found && !s3_ini_find(text.s, c->profile, "aws_session_token", c->token, S3_TOKEN_SIZE))
		c->token[0] = '\0';
	wipe_and_free(&text);
	if (r < 0)
		return err_set(e, r, "cannot read the credentials file %.300s: %s", c->path,
			       strerror(-r));
	if (!found)
		return err_set(e, -EINVAL,
			       "the credentials file %.300s has no aws_access_key_id and "
			       "aws_secret_access_key in [%.100s]",
			       c->path, c->profile);
	c->changed = st.st_mtim;
	return check_keys(c, c->path, e);
}

static bool read_environment_keys(struct s3_credentials *c)
{
	const char *access = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
	const char *token = getenv("AWS_SESSION_TOKEN");
	bool found = access && *access && secret && *secret && strlen(access) < S3_KEY_SIZE &&
		     strlen(secret) < S3_KEY_SIZE && (!token || strlen(token) < S3_TOKEN_SIZE);

	if (found) {
		strcpy(c->access_key, access);
		strcpy(c->secret_key, secret);
		strcpy(c->token, token ? token : "");
	}
	return found;
}

void s3_credentials_unset_environment(void)
{
	static const char *const secrets[] = {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};

	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		char *value = getenv(secrets[i]);

		if (value)
			explicit_bzero(value, strlen(value)); /* /proc/PID/environ has it, too */
		unsetenv(secrets[i]);
	}
}

int s3_credentials_load(const char *file, const char *profile, struct s3_credentials *ret,
			struct err_text *e)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY"), *chosen = getenv("AWS_PROFILE");
	bool found = false;

	*ret = (struct s3_credentials){.path = ""};
	if (!profile)
		profile = chosen && *chosen ? chosen : "default";
	snprintf(ret->profile, sizeof(ret->profile), "%s", profile);
	if (file)
		found = snprintf(ret->path, sizeof(ret->path), "%s", file) < PATH_MAX;
	else if (dir && *dir)
		found = !fs_join(ret->path, sizeof(ret->path), dir, "s3") && fs_exists(ret->path);
	if (!found) {
		ret->path[0] = '\0';
		found = read_environment_keys(ret);
		s3_credentials_unset_environment();
		if (found)
			return check_keys(ret, "AWS_SECRET_ACCESS_KEY", e);
		found = format_aws_file_path("AWS_SHARED_CREDENTIALS_FILE", "credentials",
					     ret->path);
	}
	s3_credentials_unset_environment();
	return found ? read_keys(ret, e)
		     : err_set(e, -ENOENT, "no credentials; use --credentials FILE");
}

int s3_credentials_refresh(struct s3_credentials *c, struct err_text *e)
{
	struct s3_credentials again = *c;
	struct stat st;
	int r;

	if (!c->path[0] || stat(c->path, &st) < 0 ||
	    (st.st_mtim.tv_sec == c->changed.tv_sec && st.st_mtim.tv_nsec == c->changed.tv_nsec))
		return 0;
	r = read_keys(&again, e);
	if (r == 0)
		*c = again;
	s3_credentials_clear_keys(&again);
	return r < 0 ? r : 1;
}

void s3_credentials_clear_keys(struct s3_credentials *c)
{
	explicit_bzero(c, sizeof(*c));
}
