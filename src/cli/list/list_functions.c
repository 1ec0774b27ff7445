/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the kernel that a probe or the function graph can be set to: those of tracefs, or,
 * where these cannot be read, the functions of /proc/kallsyms, of which the kernel may refuse
 * some. */
#include <errno.h>
#include <string.h>

#include "base/system/fs.h"
#include "cli/list/list.h"

#define FUNCTIONS_MAX_BYTES (64u << 20)

static bool tracefs_has(const char *root, const char *file)
{
	char path[512];

	return root && !fs_join(path, sizeof(path), root, file) && fs_exists(path);
}

static void put_function(struct list *l, const char *root, const char *name, const char *module)
{
	struct strbuf graph = {0}, probe = {0};
	const char *examples[2];
	size_t n = 0;

	list_out_item(&l->out, "function", name, NULL);
	list_out_value(&l->out, "module", module);
	strbuf_printf(&graph, "sonda record --function-graph=%s", name);
	strbuf_printf(&probe, "sonda record --kprobe %s --kretprobe %s", name, name);
	if (tracefs_has(root, "max_graph_depth") && graph.s)
		examples[n++] = graph.s;
	if (tracefs_has(root, "kprobe_events") && probe.s)
		examples[n++] = probe.s;
	if (l->exact)
		list_out_lines(&l->out, "example", examples, n);
	if (l->exact && n < 2 && root)
		list_out_value(&l->out, "note",
			       n && examples[0] == graph.s ? "this kernel has no kprobes"
			       : n			   ? "this kernel has no function graph"
				   : "this kernel has neither kprobes nor function "
				     "graph");
	strbuf_deinit(&graph);
	strbuf_deinit(&probe);
}

/* ---- the kernel's lists ---- */

/* Splits "name [module]" or, of kallsyms, "address type name [module]". Returns the name, NULL if
 * the line is no function. */
static char *list_functions_read_line(char *line, bool is_kallsyms, char **ret_module)
{
	char *name = line, *end;

	if (is_kallsyms) {
		name = strchr(line, ' ');
		if (!name || !name[1] || !strchr("tT", name[1]) || name[2] != ' ')
			return NULL;
		name += 3;
	}
	end = name + strcspn(name, " \t");
	*ret_module = *end ? end + 1 + strspn(end + 1, " \t[") : NULL;
	*end = '\0';
	if (*ret_module)
		(*ret_module)[strcspn(*ret_module, "]")] = '\0';
	/* NAME.cold and NAME.isra.0 are parts and copies of functions that the compiler makes;
	 * __pfx_NAME is the padding before a function. */
	return strchr(name, '.') || str_starts(name, "__pfx_") ? NULL : name;
}

static int list_functions_read_list(const char *root, struct strbuf *text, bool *ret_is_kallsyms)
{
	char path[512];
	int r = -ENOENT;

	*ret_is_kallsyms = false;
	if (root && !fs_join(path, sizeof(path), root, "available_filter_functions"))
		r = fs_read_file(path, FUNCTIONS_MAX_BYTES, text);
	if (!r && text->len)
		return 0;
	*ret_is_kallsyms = true;
	strbuf_clear(text);
	return fs_read_file("/proc/kallsyms", FUNCTIONS_MAX_BYTES, text);
}

int list_functions(struct list *l, const char *pattern, struct err_text *e)
{
	const char *root = list_need_events(l, e) ? NULL : l->events.root;
	struct strbuf text = {0};
	char *line, *next, *name, *module;
	bool is_kallsyms;
	int r = list_functions_read_list(root, &text, &is_kallsyms);

	for (line = text.s; line && *line && !r; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		name = list_functions_read_line(line, is_kallsyms, &module);
		if (name && list_matches(l, pattern, name))
			put_function(l, root, name, module);
	}
	strbuf_deinit(&text);
	return r ? err_set(e, r, "cannot read the kernel's functions (/proc/kallsyms): %s",
			   strerror(-r))
		 : 0;
}
