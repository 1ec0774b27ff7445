/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "procfs/cpu_info.h"
#include "procfs/interrupt_info.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

/* The same bytes as /proc/cpuinfo and /proc/interrupts; what comes out must be a message. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(struct pb_mem *m)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m->buf, pb_mem_len(m));
	while (pb_dec_next(&d, &f))
		if (f.id != 1)
			abort();
	if (!pb_dec_ok(&d) || m->enc.depth != 0)
		abort();
	pb_mem_reset(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	struct cpu_info cpus;
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return 0;
	cpu_info_begin(&cpus, (const char *)data, size, "/nonexistent");
	while (cpu_info_step(&cpus, &m.enc))
		;
	check_message(&m);
	while (interrupt_info_step(&text, &m.enc))
		;
	check_message(&m);
	pb_mem_deinit(&m);
	return 0;
}
