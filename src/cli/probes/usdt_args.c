/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/usdt_args.h"

#include <ctype.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"

/* Parses "-4@": the size, negative if it is signed. */
static const char *parse_size(const char *p, struct probe_type *ret)
{
	static const char *const names[2][9] = {
		{[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"},
		{[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"},
	};
	bool is_signed = *p == '-';

	p += is_signed;
	if (*p < '1' || *p > '8' || p[1] != '@' || !names[is_signed][*p - '0'])
		return NULL;
	ret->name = names[is_signed][*p - '0'];
	return p + 2;
}

/* Parses a number, decimal or with 0x. Returns the end, or NULL. */
static const char *parse_offset(const char *p, int64_t *ret)
{
	if (!isdigit((unsigned char)*p) && !(*p == '-' && isdigit((unsigned char)p[1])))
		return NULL;
	return str_read_i64(&p, 0, ret) ? NULL : p;
}

/* ---- x86-64 ---- */

/* Reads a register. The kernel has one name for it, whatever part is meant: rax, eax and al are
 * ax. */
static const char *parse_x86_register(const char *p, char ret[static 8])
{
	static const struct {
		const char *part, *whole;
	} parts[] = {{"al", "ax"},  {"bl", "bx"},  {"cl", "cx"},  {"dl", "dx"},
		     {"sil", "si"}, {"dil", "di"}, {"bpl", "bp"}, {"spl", "sp"}};
	static const char *const whole[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
	char name[8];
	size_t n = 0;
	uint64_t number;

	if (*p++ != '%')
		return NULL;
	while (n < sizeof(name) - 1 && isalnum((unsigned char)p[n])) {
		name[n] = p[n];
		n++;
	}
	name[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(name, parts[i].part))
			return strcpy(ret, parts[i].whole), p + n;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (!strcmp(name, whole[i]) ||
		    ((*name == 'r' || *name == 'e') && !strcmp(name + 1, whole[i])))
			return strcpy(ret, whole[i]), p + n;
	/* r8 to r15, and r8d, r8w, r8b */
	if (name[0] != 'r' || !isdigit((unsigned char)name[1]))
		return NULL;
	number = str_leading_u64(name + 1, 10);
	if (number < 8 || number > 15)
		return NULL;
	name[strspn(name + 1, "0123456789") + 1] = '\0';
	return strcpy(ret, name), p + n;
}

static bool parse_x86(const char *p, size_t len, char *fetch, size_t size)
{
	const char *end = p + len;
	int64_t offset = 0;
	char name[8];

	if (*p == '$')
		return parse_offset(p + 1, &offset) == end &&
		       snprintf(fetch, size, "\\%" PRId64, offset) > 0;
	if (*p == '%')
		return parse_x86_register(p, name) == end &&
		       snprintf(fetch, size, "%%%s", name) > 0;
	if (*p != '(')
		p = parse_offset(p, &offset);
	if (!p || *p != '(')
		return false;
	p = parse_x86_register(p + 1, name);
	return p && *p == ')' && p + 1 == end &&
	       snprintf(fetch, size, "%+" PRId64 "(%%%s)", offset, name) > 0;
}

/* ---- arm64 ---- */

/* Reads a register: x0 to x30, their halves w0 to w30, or sp. */
static const char *parse_arm_register(const char *p, char ret[static 8])
{
	size_t n = strspn(p + (*p != '\0'), "0123456789");
	uint64_t number;

	if (!strncmp(p, "sp", 2) && !isalnum((unsigned char)p[2]))
		return strcpy(ret, "sp"), p + 2;
	if ((*p != 'x' && *p != 'w') || n < 1 || n > 2)
		return NULL;
	number = str_leading_u64(p + 1, 10);
	if (number > 30)
		return NULL;
	snprintf(ret, 8, "x%u", (unsigned)number);
	return p + 1 + n;
}

static bool parse_arm(const char *p, size_t len, char *fetch, size_t size)
{
	const char *end = p + len;
	int64_t offset = 0;
	char name[8];

	if (isdigit((unsigned char)*p) || *p == '-')
		return parse_offset(p, &offset) == end &&
		       snprintf(fetch, size, "\\%" PRId64, offset) > 0;
	if (*p != '[')
		return parse_arm_register(p, name) == end &&
		       snprintf(fetch, size, "%%%s", name) > 0;
	p = parse_arm_register(p + 1, name);
	if (p && *p == ',') {
		p += 1 + strspn(p + 1, " ");
		p = parse_offset(p + (*p == '#'), &offset);
	}
	return p && *p == ']' && p + 1 == end &&
	       snprintf(fetch, size, "%+" PRId64 "(%%%s)", offset, name) > 0;
}

/* ---- lists ---- */

/* Returns the length of an operand, which ends at a blank. On arm64 it may have blanks in
 * brackets. */
static size_t operand_length(const char *p)
{
	size_t n = 0;

	for (bool inside = false; p[n] && (inside || p[n] != ' '); n++)
		inside = p[n] == '[' || (inside && p[n] != ']');
	return n;
}

size_t usdt_args_parse(const char *text, uint32_t machine,
		       struct usdt_arg ret[static USDT_ARGS_MAX])
{
	size_t n = 0, len;

	for (; n < USDT_ARGS_MAX && *(text += strspn(text, " ")); text += len) {
		struct usdt_arg *a = &ret[n++];
		const char *operand;
		size_t rest;
		bool ok = false;

		*a = (struct usdt_arg){.fetch = ""};
		operand = parse_size(text, &a->type);
		len = operand_length(text);
		rest = operand && operand < text + len ? (size_t)(text + len - operand) : 0;
		if (rest && machine == EM_X86_64)
			ok = parse_x86(operand, rest, a->fetch, sizeof(a->fetch));
		else if (rest && machine == EM_AARCH64)
			ok = parse_arm(operand, rest, a->fetch, sizeof(a->fetch));
		if (!ok)
			a->fetch[0] = '\0';
	}
	return n;
}
