/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/kernel_names.h"

#include <errno.h>
#include <string.h>

#include "base/text/number_read.h"
#include "import/formats/tracing_data.h"

/* Returns the address of the symbol in lines "ADDRESS T NAME"; 0: it is not there, or hidden. */
static uint64_t find_symbol_address(const char *kallsyms, const char *symbol)
{
	size_t len = strlen(symbol);
	const char *line, *name, *end;
	uint64_t address;

	for (line = kallsyms; line && *line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
		end = line;
		if (str_read_u64(&end, 16, &address) == -EINVAL || *end != ' ' || !end[1] ||
		    end[2] != ' ')
			continue;
		name = end + 3;
		if (!strncmp(name, symbol, len) && (name[len] == '\n' || !name[len]))
			return address;
	}
	return 0;
}

/* Returns true if a source has the names of the recorded kernel. here: the address of the recorded
 * symbol in the source. */
static bool is_same_kernel(const struct kernel_names_source *source,
			   const struct recorded_kernel *kernel, uint64_t here)
{
	if (source->is_of_user)
		return true;
	if (kernel->n_build_id)
		return kernel->n_build_id == source->n_build_id &&
		       !memcmp(kernel->build_id, source->build_id, kernel->n_build_id);
	return here == kernel->address && !strcmp(kernel->release, source->release);
}

int kernel_names_init(struct kernel_names *k, const struct kernel_names_source *source,
		      const struct recorded_kernel *kernel)
{
	uint64_t here;
	int r;

	*k = (struct kernel_names){0};
	if (!source->kallsyms || !*kernel->symbol)
		return 0;
	here = find_symbol_address(source->kallsyms, kernel->symbol);
	if (!here || !is_same_kernel(source, kernel, here))
		return 0;
	r = tracing_data_read_symbols(source->kallsyms, &k->symbols);
	k->shift = here - kernel->address;
	k->is_usable = !r && k->symbols.n_functions;
	return r;
}

void kernel_names_deinit(struct kernel_names *k)
{
	symbol_table_deinit(&k->symbols);
	*k = (struct kernel_names){0};
}

size_t kernel_names_find(const struct kernel_names *k, uint64_t address, char *ret_name)
{
	return k->is_usable ? symbol_table_find_name(&k->symbols, address + k->shift, ret_name) : 0;
}
