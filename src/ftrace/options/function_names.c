// SPDX-License-Identifier: Apache-2.0
/* Lines of "vfs_read" or "xfs_iget [xfs]". */
#include <string.h>

#include "base/system/fs.h"
#include "ftrace/options/function_names.h"

#define MAX_TEXT (32 << 20)

void function_names_deinit(struct function_names *f)
{
	strbuf_deinit(&f->text);
	f->is_read = false;
}

static void read_names(struct function_names *f, const char *root)
{
	char path[4096];

	f->is_read = true;
	if (fs_join(path, sizeof(path), root, "available_filter_functions") ||
	    fs_read_file(path, MAX_TEXT, &f->text))
		strbuf_clear(&f->text);
	for (size_t i = 0; i < f->text.len; i++)
		if (f->text.s[i] == '\n' || f->text.s[i] == ' ' || f->text.s[i] == '\t')
			f->text.s[i] = '\0';
}

const char *function_names_nearest(struct function_names *f, const char *root, const char *name)
{
	struct str_nearest nearest;

	if (!f->is_read)
		read_names(f, root);
	str_nearest_init(&nearest, name);
	for (size_t i = 0; i < f->text.len; i += strlen(f->text.s + i) + 1)
		/* The names of modules are in brackets. */
		if (f->text.s[i] != '[')
			str_nearest_try(&nearest, f->text.s + i);
	return str_nearest_get(&nearest);
}
