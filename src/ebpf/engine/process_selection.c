/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/process_selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int process_selection_copy_programs(const char *field, char *const *names, size_t n,
				    char ret[][PROGRAM_NAME_SIZE], size_t max, uint32_t *ret_n,
				    struct err_text *e)
{
	if (n > max)
		return err_set(e, -EINVAL, "%s: too many names; the limit is %zu", field, max);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		if (!len || len >= PROGRAM_NAME_SIZE)
			return err_set(
				e, -EINVAL,
				"%s: '%.80s' is too long; a process name has at most 15 bytes",
				field, names[i]);
		memcpy(ret[i], names[i], len);
	}
	*ret_n = (uint32_t)n;
	return 0;
}

int process_selection_copy_pids(const char *field, const uint32_t *pids, size_t n, size_t max,
				uint32_t **ret, size_t *ret_n, struct err_text *e)
{
	if (n > max)
		return err_set(e, -EINVAL, "%s: too many processes; the limit is %zu", field, max);
	*ret = malloc(n * sizeof(**ret) + 1);
	if (!*ret)
		return -ENOMEM;
	if (n)
		memcpy(*ret, pids, n * sizeof(**ret));
	*ret_n = n;
	return 0;
}
