/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/probe_args.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

/* ---- types ---- */

static const struct {
	const char *words, *type;
} types[] = {
	{"bool", "u8"},
	{"_Bool", "u8"},
	{"char", "s8"},
	{"signed char", "s8"},
	{"unsigned char", "u8"},
	{"short", "s16"},
	{"short int", "s16"},
	{"unsigned short", "u16"},
	{"int", "s32"},
	{"signed", "s32"},
	{"unsigned", "u32"},
	{"unsigned int", "u32"},
	{"long", "s64"},
	{"long int", "s64"},
	{"unsigned long", "u64"},
	{"unsigned long int", "u64"},
	{"long long", "s64"},
	{"long long int", "s64"},
	{"unsigned long long", "u64"},
	{"int8_t", "s8"},
	{"int16_t", "s16"},
	{"int32_t", "s32"},
	{"int64_t", "s64"},
	{"uint8_t", "u8"},
	{"uint16_t", "u16"},
	{"uint32_t", "u32"},
	{"uint64_t", "u64"},
	{"size_t", "u64"},
	{"ssize_t", "s64"},
	{"off_t", "s64"},
	{"time_t", "s64"},
	{"intptr_t", "s64"},
	{"uintptr_t", "x64"},
	{"pid_t", "s32"},
	{"uid_t", "u32"},
	{"gid_t", "u32"},
	{"mode_t", "u32"},
	{"socklen_t", "u32"},
	{"u8", "u8"},
	{"u16", "u16"},
	{"u32", "u32"},
	{"u64", "u64"},
	{"s8", "s8"},
	{"s16", "s16"},
	{"s32", "s32"},
	{"s64", "s64"},
	{"x8", "x8"},
	{"x16", "x16"},
	{"x32", "x32"},
	{"x64", "x64"},
	{"i32", "s32"}, /* of Rust */
	{"i64", "s64"},
	{"usize", "u64"},
	{"isize", "s64"},
	{"ptr", "x64"},
	{"str", "string"},
	{"string", "string"},
	{"ustr", "ustring"},
};

static const char *find_type(const char *words)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].words, words))
			return types[i].type;
	return NULL;
}

/* The words of a declaration, without qualifiers: "unsigned int" "x". */
struct declaration {
	char words[4][32];
	size_t n;
	unsigned n_stars;
	bool is_struct;
	bool is_user; /* __user, as the kernel marks pointers to a program's memory */
};

static bool is_qualifier(struct span word)
{
	static const char *const qualifiers[] = {"const", "volatile", "restrict", "register"};

	for (size_t i = 0; i < ARRAY_SIZE(qualifiers); i++)
		if (span_is(word, qualifiers[i]))
			return true;
	return false;
}

static bool split_declaration(struct span text, struct declaration *ret)
{
	struct declaration d = {.n = 0};

	while (text.len) {
		size_t n = 0;

		while (n < text.len && (isalnum((unsigned char)text.p[n]) || text.p[n] == '_'))
			n++;
		if (n == 0 && *text.p == '*')
			d.n_stars++;
		else if (n == 0 && *text.p != ' ')
			return false;
		else if (n && (span_is((struct span){text.p, n}, "struct") ||
			       span_is((struct span){text.p, n}, "enum")))
			d.is_struct = true;
		else if (n && span_is((struct span){text.p, n}, "__user"))
			d.is_user = true;
		else if (n && !is_qualifier((struct span){text.p, n})) {
			if (d.n == ARRAY_SIZE(d.words) || n >= sizeof(d.words[0]))
				return false;
			memcpy(d.words[d.n], text.p, n);
			d.words[d.n++][n] = '\0';
		}
		n = MAX(n, (size_t)1);
		text.p += n;
		text.len -= n;
	}
	*ret = d;
	return d.n > 0;
}

/* Returns the kernel's type that the first n words name, or NULL. */
static const char *find_type_of_words(const struct declaration *d, size_t n)
{
	char words[4 * 32] = "";

	for (size_t i = 0; i < n; i++) {
		strcat(words, i ? " " : "");
		strcat(words, d->words[i]);
	}
	if (d->n_stars == 1 && !strcmp(words, "char"))
		return d->is_user ? "ustring" : "string";
	if (d->n_stars)
		return "x64";
	return find_type(words);
}

/* Reads an argument like "int", "int fd", "const char *path" or "struct file *f". */
static int parse_typed_argument(struct span text, size_t position, struct probe_arg *ret,
				struct err_text *e)
{
	struct declaration d;
	bool has_name = false;

	if (!split_declaration(text, &d))
		return err_set(e, -EINVAL, "'%.*s' is not an argument; example: 'int fd'",
			       (int)MIN(text.len, (size_t)60), text.p);
	if (!strcmp(d.words[0], "float") || !strcmp(d.words[0], "double"))
		return err_set(e, -EINVAL,
			       "the kernel cannot read a %s; leave the argument empty, so that the "
			       "others keep their positions",
			       d.words[0]);
	ret->type.name = find_type_of_words(&d, d.n);
	/* Any pointer is an address: the last of several words is its name. */
	if (d.n > 1 && (d.n_stars || !ret->type.name)) {
		has_name = true;
		ret->type.name = find_type_of_words(&d, d.n - 1);
	}
	if (d.is_struct && !d.n_stars)
		ret->type.name = NULL;
	if (!ret->type.name)
		return err_set(e, -EINVAL,
			       "'%.*s' has no known type; use a C type such as int, size_t or char "
			       "*, or str, ptr, u8 to u64, s8 to s64",
			       (int)MIN(text.len, (size_t)60), text.p);
	ret->type.is_string = *ret->type.name == 'u' ? ret->type.name[1] == 's'
						     : !strcmp(ret->type.name, "string");
	if (has_name)
		strcpy(ret->name, d.words[d.n - 1]);
	else
		snprintf(ret->name, sizeof(ret->name), "arg%zu", position);
	return 0;
}

/* ---- lists ---- */

/* Cuts the next argument off the front of *rest, with the comma that ends it, and returns it
 * without blanks. Commas in parentheses do not count. */
static struct span cut_next_argument(struct span *rest)
{
	struct span arg = {rest->p, 0};
	int depth = 0;

	while (arg.len < rest->len && (depth || rest->p[arg.len] != ',')) {
		depth += (rest->p[arg.len] == '(') - (rest->p[arg.len] == ')');
		arg.len++;
	}
	rest->p += arg.len;
	rest->len -= arg.len;
	if (rest->len) {
		rest->p++;
		rest->len--;
	}
	return span_trim(arg);
}

/* Returns true for a bare name such as "count": an argument of a kernel function by its name in
 * BTF. */
static bool is_name_of_kernel(struct span arg)
{
	struct declaration d;

	return split_declaration(arg, &d) && d.n == 1 && !d.n_stars && !d.is_struct &&
	       strcmp(d.words[0], "_") && strcmp(d.words[0], "float") &&
	       strcmp(d.words[0], "double") && !find_type(d.words[0]);
}

static bool is_kernel_argument(struct span arg, uint32_t machine)
{
	return memchr(arg.p, '=', arg.len) || strchr("%+-@$\\", *arg.p) ||
	       (machine == PROBE_MACHINE_KERNEL && is_name_of_kernel(arg));
}

int probe_args_parse(struct span text, uint32_t machine,
		     struct probe_arg ret[static PROBE_ARGS_MAX], size_t *ret_n, struct err_text *e)
{
	size_t n = 0, position = 0;
	int r = 0;

	text = span_trim(text);
	if (span_is(text, "void"))
		text.len = 0;
	while (text.len && r == 0) {
		struct span arg = cut_next_argument(&text);

		if (n == PROBE_ARGS_MAX)
			return err_set(e, -EINVAL, "too many arguments; the limit is %d",
				       PROBE_ARGS_MAX);
		if (!arg.len)
			return err_set(e, -EINVAL, "empty argument");
		ret[n] = (struct probe_arg){.name = ""};
		if (is_kernel_argument(arg, machine))
			ret[n].kernel = arg;
		else if (!span_is(arg, "_"))
			r = parse_typed_argument(arg, position + 1, &ret[n], e);
		position += !ret[n].kernel.p;
		n++;
	}
	*ret_n = n;
	return r;
}

/* ---- places ---- */

/* Writes where argument i is when the function begins. Returns false if that is unknown. */
static bool find_argument_place(uint32_t machine, size_t i, char place[static 32])
{
	static const char *const x86_64[] = {"di", "si", "dx", "cx", "r8", "r9"};

	if (machine == EM_X86_64 && i < ARRAY_SIZE(x86_64))
		snprintf(place, 32, "%%%s", x86_64[i]);
	else if (machine == EM_X86_64) /* after the return address */
		snprintf(place, 32, "+%zu(%%sp)", 8 * (i - ARRAY_SIZE(x86_64) + 1));
	else if (machine == PROBE_MACHINE_KERNEL)
		snprintf(place, 32, "$arg%zu", i + 1);
	else if (machine == EM_AARCH64 && i < 8)
		snprintf(place, 32, "%%x%zu", i);
	else if (machine == EM_AARCH64)
		snprintf(place, 32, "+%zu(%%sp)", 8 * (i - 8));
	else
		return false;
	return true;
}

void probe_args_put(struct strbuf *b, const char *name, const char *fetch, struct probe_type type)
{
	if (type.is_string)
		strbuf_printf(b, " %s=+0(%s):%s", name, fetch, type.name);
	else
		strbuf_printf(b, " %s=%s:%s", name, fetch, type.name);
}

static void put_kernel_arg(struct strbuf *b, const struct probe_arg *a)
{
	strbuf_putc(b, ' ');
	strbuf_add(b, a->kernel.p, a->kernel.len);
}

int probe_args_put_call(struct strbuf *b, const struct probe_arg *args, size_t n, uint32_t machine,
			struct err_text *e)
{
	size_t position = 0;
	char place[32];

	for (size_t i = 0; i < n; i++) {
		if (args[i].kernel.p) {
			put_kernel_arg(b, &args[i]);
			continue;
		}
		if (!find_argument_place(machine, position++, place))
			return err_set(e, -EINVAL,
				       "the calling convention of this architecture is unknown to "
				       "sonda; name the registers: 'fd=%%REGISTER:s32'");
		if (args[i].type.name)
			probe_args_put(b, args[i].name, place, args[i].type);
	}
	return 0;
}

int probe_args_put_result(struct strbuf *b, const struct probe_arg *args, size_t n,
			  struct err_text *e)
{
	bool has_result = false;

	for (size_t i = 0; i < n; i++) {
		if (args[i].kernel.p) {
			put_kernel_arg(b, &args[i]);
			continue;
		}
		if (has_result || !args[i].type.name)
			return err_set(
				e, -EINVAL,
				"on return, only the return value is available; example: '(int)'");
		has_result = true;
		/* A type without a name was named after its position. */
		probe_args_put(b, strcmp(args[i].name, "arg1") ? args[i].name : "ret", "$retval",
			       args[i].type);
	}
	return 0;
}
