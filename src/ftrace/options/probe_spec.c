/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The group of the session replaces that of the user.
 *
 *	config:      p:mine/my_read   vfs_read count=%dx
 *	             |  |     |         |
 *	            type group name    rest
 *
 *	to tracefs:  p:sonda_12_3456_0/my_read vfs_read count=%dx
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "ftrace/options/probe_spec.h"

#define NAME_MAX_BYTES 63 /* MAX_EVENT_NAME_LEN of the kernel */
/* Concurrent calls that a return probe tracks, unless its definition sets the number. The kernel
 * drops the returns of further calls. Its default is twice the number of CPUs. */
#define MAX_ACTIVE "1024"

void probe_spec_deinit(struct probe_spec *l)
{
	free(l->type);
	free(l->group);
	free(l->name);
	free(l->rest);
	free(l->written);
	*l = (struct probe_spec){0};
}

/* Returns true if the kernel accepts the name for a group or an event. */
static bool probe_name_is_good(const char *name)
{
	if (!*name || isdigit((unsigned char)*name) || strlen(name) > NAME_MAX_BYTES)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

/* Returns the words separated by single spaces, without a comment, or NULL if out of memory. */
static char *normalize_definition(const char *line)
{
	size_t len = strcspn(line, "#"), n = 0;
	char *to = malloc(len + 1);

	for (size_t i = 0; to && i < len; i++) {
		if (line[i] != ' ' && line[i] != '\t')
			to[n++] = line[i];
		else if (n && to[n - 1] != ' ')
			to[n++] = ' ';
	}
	if (!to)
		return NULL;
	to[n && to[n - 1] == ' ' ? n - 1 : n] = '\0';
	return to;
}

static bool is_printable(const char *line)
{
	for (; *line; line++)
		if (*line != '\t' && (*line < ' ' || *line > '~'))
			return false;
	return true;
}

/* Returns the kernel's default name (p_vfs_read_0, p_libc_0x9d2c0), which the caller frees, or NULL
 * if out of memory. */
static char *make_default_name(char type, enum probe_kind kind, const char *rest)
{
	_cleanup_(freep) char *location = strndup(rest, strcspn(rest, " %"));
	char *name = NULL, *from, *sep;
	int n;

	if (!location)
		return NULL;
	if (kind == PROBE_USER) {
		from = strrchr(location, '/');
		from = from ? from + 1 : location;
		sep = strrchr(from, ':');
		n = asprintf(&name, "%c_%.*s_0x%" PRIx64, type, (int)strcspn(from, ":._-"), from,
			     sep ? str_leading_u64(sep + 1, 0) : 0);
	} else if (isdigit((unsigned char)*location)) {
		n = asprintf(&name, "%c_%s", type, location);
	} else {
		sep = strpbrk(location, "+-");
		n = asprintf(&name, "%c_%.*s_%" PRId64, type, (int)strcspn(location, "+-"),
			     location, sep ? str_leading_i64(sep, 0) : 0);
	}
	if (n < 0)
		return NULL;
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	if (n > NAME_MAX_BYTES)
		name[NAME_MAX_BYTES] = '\0';
	return name;
}

/* Parses the type at the start of the first word, head. */
static int parse_probe_type(char *head, enum probe_kind kind, struct probe_spec *l,
			    struct err_text *e)
{
	size_t digits;

	if (*head == '-')
		return err_set(e, -EINVAL,
			       "a definition cannot begin with '-', which removes a probe");
	if (*head != 'p' && *head != 'r' && *head != 's')
		return err_set(e, -EINVAL, "expected 'p', 'r' or 's' first, for example '%s'",
			       kind == PROBE_USER ? "p:mine ./app:0x1160"
						  : "p:mine do_sys_openat2");
	digits = *head == 's' ? 0 : strspn(head + 1, "0123456789");
	if (head[1 + digits] && head[1 + digits] != ':')
		return err_set(e, -EINVAL, "expected ':' after the type");
	l->type = !digits && *head == 'r' && kind == PROBE_KERNEL ? strdup("r" MAX_ACTIVE)
								  : strndup(head, 1 + digits);
	return l->type ? 0 : -ENOMEM;
}

/* Parses the names: "", ":", ":name", ":group/name" or ":group/". */
static int parse_probe_names(char *names, enum probe_kind kind, struct probe_spec *l,
			     struct err_text *e)
{
	char *group = NULL, *name = *names ? names + 1 : names, *sep = strpbrk(name, "/.");

	if (sep) {
		*sep = '\0';
		group = name;
		name = sep + 1;
	}
	if (*name && !probe_name_is_good(name))
		return err_set(e, -EINVAL, "'%.80s' is not a valid event name", name);
	if (group && !probe_name_is_good(group))
		return err_set(e, -EINVAL, "'%.80s' is not a valid group name", group);
	l->group = strdup(group ? group : kind == PROBE_KERNEL ? "kprobes" : "uprobes");
	l->name = *name ? strdup(name) : make_default_name(*l->type, kind, l->rest);
	return l->group && l->name ? 0 : -ENOMEM;
}

/* Returns -EINVAL with e if the location of a user probe is malformed, for which the kernel's
 * message is only "Invalid argument". */
static int check_location(const char *rest, struct err_text *e)
{
	int len = (int)strcspn(rest, " ");
	const char *offset = memrchr(rest, ':', (size_t)len);

	if (offset && isdigit((unsigned char)offset[1]))
		return 0;
	return err_set(e, -EINVAL,
		       "'%.*s' is not a location in a program; expected FILE:OFFSET, for example "
		       "/bin/ls:0x4b50 (nm and objdump show offsets)",
		       MIN(len, 80), rest);
}

static int parse_definition(struct probe_spec *l, enum probe_kind kind, struct err_text *e)
{
	_cleanup_(freep) char *head = strndup(l->written, strcspn(l->written, " "));
	int r;

	if (!head)
		return -ENOMEM;
	r = parse_probe_type(head, kind, l, e);
	if (r)
		return r;
	if (!l->written[strlen(head)])
		return err_set(e, -EINVAL, "no location to probe");
	l->rest_at = strlen(head) + 1;
	l->rest = strdup(l->written + l->rest_at);
	if (!l->rest)
		return -ENOMEM;
	r = kind == PROBE_USER ? check_location(l->rest, e) : 0;
	if (r)
		return r;
	return parse_probe_names(head + strcspn(head, ":"), kind, l, e);
}

int probe_spec_parse(const char *line, enum probe_kind kind, struct probe_spec *ret,
		     struct err_text *e)
{
	struct probe_spec l = {0};
	int r;

	if (strlen(line) > PROBE_SPEC_MAX)
		return err_set(e, -EINVAL, "the definition is longer than %d bytes",
			       PROBE_SPEC_MAX);
	if (!is_printable(line))
		return err_set(e, -EINVAL,
			       "the definition is not a single line of printable ASCII");
	l.written = normalize_definition(line);
	if (!l.written)
		r = -ENOMEM;
	else
		r = *l.written ? parse_definition(&l, kind, e)
			       : err_set(e, -EINVAL, "the definition is empty");
	if (r)
		probe_spec_deinit(&l);
	else
		*ret = l;
	return r;
}

/* ---- spans ---- */

static const char result_mark[] = " ->";

static int copy_entry_or_return_probe(const struct probe_spec *l, const char *type, char *rest,
				      size_t rest_at, struct probe_spec *ret)
{
	struct probe_spec half = {.type = strdup(type),
				  .group = strdup(l->group),
				  .name = strdup(l->name),
				  .rest = rest,
				  .written = strdup(l->written),
				  .rest_at = rest_at};

	if (!half.type || !half.group || !half.name || !half.rest || !half.written) {
		probe_spec_deinit(&half);
		return -ENOMEM;
	}
	*ret = half;
	return 0;
}

int probe_spec_split(const struct probe_spec *l, enum probe_kind kind, struct probe_spec *ret_call,
		     struct probe_spec *ret_return)
{
	const char *mark = strstr(l->rest, result_mark),
		   *result = mark ? mark + strlen(result_mark) : "";
	size_t place = strcspn(l->rest, " ");
	struct probe_spec call;
	char *rest;
	int r = copy_entry_or_return_probe(
		l, "p", strndup(l->rest, mark ? (size_t)(mark - l->rest) : SIZE_MAX), l->rest_at,
		&call);

	if (r)
		return r;
	if (asprintf(&rest, "%.*s%s", (int)place, l->rest, result) < 0)
		rest = NULL;
	/* An error in the result is shown there. */
	r = copy_entry_or_return_probe(
		l, kind == PROBE_KERNEL ? "r" MAX_ACTIVE : "r", rest,
		mark ? l->rest_at + (size_t)(result - l->rest) - place : l->rest_at, ret_return);
	if (r)
		probe_spec_deinit(&call);
	else
		*ret_call = call;
	return r;
}

/* ---- probes of consumers that are not root ---- */

/* Returns true for the name of a kernel function, which may contain dots: "foo.isra.0". */
static bool is_symbol(const char *s, size_t len)
{
	if (!len || isdigit((unsigned char)*s))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != '.')
			return false;
	return true;
}

/* Returns true for "[MODULE:]SYMBOL[%return]". */
static bool is_plain_location(const char *location, size_t len)
{
	static const char is_return[] = "%return";
	const size_t tail = strlen(is_return);
	const char *colon = memchr(location, ':', len);

	if (len > tail && !strncmp(location + len - tail, is_return, tail))
		len -= tail;
	if (!colon)
		return is_symbol(location, len);
	for (const char *p = location; p < colon; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return false;
	return colon > location && is_symbol(colon + 1, len - (size_t)(colon + 1 - location));
}

/* Returns true for an argument or the return value of the function, $comm or a register: none of
 * them reads memory. */
static bool is_plain_value(const char *s, size_t len)
{
	static const char arg[] = "$arg";
	size_t head = strlen(arg);

	if (len > 1 && *s == '%') {
		for (size_t i = 1; i < len; i++)
			if (!isalnum((unsigned char)s[i]))
				return false;
		return true;
	}
	/* Further arguments are on the stack, where other data may be. */
	if (len == head + 1 && !strncmp(s, arg, head))
		return s[head] >= '1' && s[head] <= '6';
	return (len == strlen("$retval") && !strncmp(s, "$retval", len)) ||
	       (len == strlen("$comm") && !strncmp(s, "$comm", len));
}

static bool is_plain_type(const char *s, size_t len)
{
	static const char *const sizes[] = {"8", "16", "32", "64"};

	if (len < 2 || !memchr("usx", *s, 3))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (len - 1 == strlen(sizes[i]) && !strncmp(s + 1, sizes[i], len - 1))
			return true;
	return false;
}

static bool is_plain_argument(const char *s, size_t len)
{
	const char *sign = memchr(s, '=', len), *colon;

	if (sign) {
		if (!is_symbol(s, (size_t)(sign - s)))
			return false;
		len -= (size_t)(sign + 1 - s);
		s = sign + 1;
	}
	colon = memchr(s, ':', len);
	if (colon && !is_plain_type(colon + 1, len - (size_t)(colon + 1 - s)))
		return false;
	return is_plain_value(s, colon ? (size_t)(colon - s) : len);
}

int probe_spec_check_plain(const struct probe_spec *l, enum probe_kind kind, struct err_text *e)
{
	const char *word = l->rest;
	size_t len = strcspn(word, " ");

	if (kind == PROBE_USER)
		return err_set(e, -EPERM, "only root may probe programs");
	if (!is_plain_location(word, len))
		return err_set(
			e, -EPERM,
			"only root may probe '%.*s'; other users may probe functions by name",
			MIN((int)len, 80), word);
	while (word[len]) {
		word += len + 1;
		len = strcspn(word, " ");
		if (!is_plain_argument(word, len))
			return err_set(e, -EPERM,
				       "only root may use '%.*s'; other users may use $arg1 to "
				       "$arg6, $retval, $comm and registers, as numbers",
				       MIN((int)len, 80), word);
	}
	return 0;
}

/* ---- the command ---- */

void probe_spec_write_command(const struct probe_spec *l, const char *group, struct strbuf *b)
{
	strbuf_printf(b, "%s:%s/%s %s", l->type, group, l->name, l->rest);
}

size_t probe_spec_find_written_offset(const struct probe_spec *l, const char *group, size_t at)
{
	size_t head = strlen(l->type) + 1 + strlen(group) + 1 + strlen(l->name);

	if (at <= head)
		return 0;
	return MIN(at - head + l->rest_at - 1, strlen(l->written));
}
