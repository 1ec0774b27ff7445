/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Selects the samples that the kernel writes, for perf events whose samples no program takes. */
#include "common.h"

/* Returns 0 if the event is to write no sample. */
SEC("perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	return is_interrupted_counted(bpf_get_current_pid_tgid() >> 32);
}
