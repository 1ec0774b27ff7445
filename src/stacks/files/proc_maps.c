/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/proc_maps.h"

#include <string.h>

#include "base/text/number_read.h"

/* Reads a number in that base and the character that must follow it (0: none). Returns false if the
 * text is something else. */
static bool proc_maps_read_number(const char **p, unsigned base, char follows, uint64_t *ret)
{
	const char *end = *p;

	if (**p == '-' || **p == '+' || **p == ' ')
		return false;
	if (str_read_u64(&end, base, ret) || (follows && *end != follows))
		return false;
	*p = follows ? end + 1 : end;
	return true;
}

bool proc_maps_parse_any_line(struct span line, struct file_mapping *ret, struct span *ret_path)
{
	static const char anonymous[] = "//anon";
	uint64_t start, end, offset, major, minor, inode;
	char head[128]; /* all before the path: 6 numbers of at most 20 digits */
	const char *p = head;
	size_t n = line.len < sizeof(head) - 1 ? line.len : sizeof(head) - 1;

	memcpy(head, line.p, n);
	head[n] = '\0';
	if (!proc_maps_read_number(&p, 16, '-', &start) ||
	    !proc_maps_read_number(&p, 16, ' ', &end) || strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	p += 5;
	if (start >= end || !proc_maps_read_number(&p, 16, ' ', &offset) ||
	    !proc_maps_read_number(&p, 16, ':', &major) ||
	    !proc_maps_read_number(&p, 16, ' ', &minor) ||
	    !proc_maps_read_number(&p, 10, '\0', &inode) || major > UINT32_MAX ||
	    minor > UINT32_MAX)
		return false;
	for (n = (size_t)(p - head); n < line.len && line.p[n] == ' ';)
		n++;
	*ret_path = n < line.len ? (struct span){line.p + n, line.len - n}
				 : (struct span){anonymous, strlen(anonymous)};
	*ret = (struct file_mapping){.start = start,
				     .end = end,
				     .offset = offset,
				     .inode = inode,
				     .major = (uint32_t)major,
				     .minor = (uint32_t)minor,
				     .path_len = (uint32_t)ret_path->len};
	return true;
}

bool proc_maps_parse_line(struct span line, struct file_mapping *ret, struct span *ret_path)
{
	const char *blank = memchr(line.p, ' ', line.len);

	return blank && line.p + line.len - blank > 3 && blank[3] == 'x' &&
	       proc_maps_parse_any_line(line, ret, ret_path);
}
