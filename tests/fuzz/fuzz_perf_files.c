/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What linux.perf reads of other processes: an ELF file, and lines of /proc/PID/maps. The first
 * byte chooses. Names lie in the file's table and have no NUL; mappings are not empty, and their
 * paths lie in the line.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/files/proc_maps.h"
#include "symbols/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_elf(const uint8_t *data, size_t size)
{
	struct elf_symbols s = {0};
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (elf_symbols_read(fd, 16u << 20, &s) == 0) {
		assert(elf_symbols_bytes(&s) <= 16u << 20);
		assert(s.facts.n_build_id <= ELF_BUILD_ID_MAX);
		assert(s.facts.n_segments <= ELF_SEGMENTS_MAX && s.n_symbols <= ELF_SYMBOLS_MAX);
		for (size_t i = 0; i < s.n_symbols; i++) {
			const char *name = elf_symbols_find_name(&s, s.symbols[i].address);

			assert(s.symbols[i].name < s.n_names);
			assert(s.symbols[i].rank <= 2 * ELF_NAME_MAX + 1); /* underscores; local */
			assert(!name || strlen(name) <= ELF_NAME_MAX);
			assert(i == 0 || s.symbols[i - 1].address < s.symbols[i].address);
		}
		elf_symbols_deinit(&s);
	}
	close(fd);
}

static void check_maps(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct span rest = {text, size}, line, path;
	struct file_mapping m;

	memcpy(text, data, size);
	while (span_next_line(&rest, &line))
		if (proc_maps_parse_any_line(line, &m, &path)) {
			assert(m.start < m.end && path.len > 0 && path.len == m.path_len);
			assert(span_is(path, "//anon") ||
			       (path.p >= line.p && path.p + path.len <= line.p + line.len));
		}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'm')
		check_maps(data + 1, size - 1);
	else if (size)
		check_elf(data + 1, size - 1);
	return 0;
}
