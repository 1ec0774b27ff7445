/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "procfs/process/taskstats.c"

/* One answer of taskstats, to one of four questions from number 1 on. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_name name = {0};
	int32_t tgid = -1;
	int at = taskstats_parse(data, size, 1, 4, &tgid, &name);

	if (at >= 4 || (at >= 0 && tgid < 0) || name.len > PROC_NAME_MAX || (at < 0 && tgid != -1))
		abort();
	return 0;
}
