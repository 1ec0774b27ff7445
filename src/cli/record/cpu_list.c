// SPDX-License-Identifier: Apache-2.0
#include "cli/record/cpu_list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/system/fs.h"
#include "base/core/mem.h"

#define WORDS ARRAY_SIZE(((struct cpu_list *)0)->words)
#define MAX_BYTES (64u << 10) /* of a list of the kernel */

/* A decimal number at *at, which is moved behind it. 0, -EINVAL or -ERANGE. */
static int take_number(const char **at, uint32_t *ret)
{
	uint32_t n = 0;

	if (**at < '0' || **at > '9')
		return -EINVAL;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		n = n * 10 + (uint32_t)(**at - '0');
		if (n >= CPU_LIST_MAX)
			return -ERANGE;
	}
	*ret = n;
	return 0;
}

int cpu_list_add(struct cpu_list *l, const char *text)
{
	uint32_t first, last;
	int r;

	for (;; text++) {
		r = take_number(&text, &first);
		if (r)
			return r;
		last = first;
		if (*text == '-') {
			text++;
			r = take_number(&text, &last);
			if (r)
				return r;
		}
		if (last < first || (*text && *text != ','))
			return -EINVAL;
		for (uint32_t c = first; c <= last; c++)
			l->words[c / 32] |= 1u << c % 32;
		if (!*text)
			return 0;
	}
}

/* What the kernel found when it started; it may be offline now. */
static int read_present(const char *sys_root, struct strbuf *text, struct cpu_list *ret)
{
	char path[PATH_MAX];
	int r;

	r = fs_join(path, sizeof(path), sys_root, "devices/system/cpu/present");
	if (!r)
		r = fs_read_file(path, MAX_BYTES, text);
	if (r)
		return r;
	if (text->len && text->s[text->len - 1] == '\n')
		text->s[--text->len] = '\0';
	return text->s ? cpu_list_add(ret, text->s) : -EINVAL;
}

int cpu_list_check(const struct cpu_list *l, const char *sys_root, struct err_text *e)
{
	struct cpu_list present = {0};
	struct strbuf text = {0};
	int r = 0;

	if (read_present(sys_root, &text, &present)) {
		strbuf_deinit(&text);
		return 0;
	}
	for (uint32_t c = 0; c < CPU_LIST_MAX && !r; c++)
		if (l->words[c / 32] & ~present.words[c / 32] & 1u << c % 32)
			r = err_set(e, -ENXIO, "-C: this machine has no CPU %u; it has %s", c,
				    text.s);
	strbuf_deinit(&text);
	return r;
}

void cpu_list_mask(const struct cpu_list *l, struct strbuf *b)
{
	size_t i = WORDS - 1;

	while (i && !l->words[i])
		i--;
	strbuf_printf(b, "%x", l->words[i]);
	while (i--)
		strbuf_printf(b, ",%08x", l->words[i]);
}
