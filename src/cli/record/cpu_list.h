/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"

/* CPUs by number, as people and the kernel list them ("0,2-5"), and as the kernel's masks. */

#define CPU_LIST_MAX 8192 /* CPUs; the most that Linux can be built for */

struct cpu_list {
	uint32_t words[CPU_LIST_MAX / 32]; /* bit c % 32 of word c / 32 */
};

/* Adds the CPUs of text. 0, -EINVAL (no list: "", "1-", "3-1", "a"), or -ERANGE (a number that no
 * CPU has); after an error some may have been added. */
int cpu_list_add(struct cpu_list *l, const char *text);

/* Is every CPU of l one of this machine? sys_root: where sysfs is. 0, or -ENXIO with the sentence
 * in e; also 0 when the machine does not tell. */
int cpu_list_check(const struct cpu_list *l, const char *sys_root, struct err_text *e);

/* Appends the mask as tracing_cpumask takes it: words of 32 bits in hex with commas between, the
 * highest CPUs first: "3d", "1,00000000". */
void cpu_list_mask(const struct cpu_list *l, struct strbuf *b);
