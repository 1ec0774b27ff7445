/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ebpf_floor [READS]
 *
 * Attaches two programs to sched_switch and sched_waking that read the clock READS times (0) and do
 * nothing else: the least that a recording of waits can cost. Prints "ready", and ends at a signal.
 * Needs root.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define READS_MAX 8

/* Returns a descriptor, which keeps the program attached; negative errno otherwise. */
static int attach(const char *event, unsigned n_reads)
{
	const struct bpf_insn read_clock = {.code = BPF_JMP | BPF_CALL,
					    .imm = BPF_FUNC_ktime_get_boot_ns};
	struct bpf_insn code[READS_MAX + 2];
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP,
		    .attach_btf_id = (__u32)libbpf_find_vmlinux_btf_id(event, BPF_TRACE_RAW_TP));
	unsigned n = 0;
	int fd;

	while (n < n_reads)
		code[n++] = read_clock;
	code[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0};
	code[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "floor", "GPL", code, n, &opts);
	return fd < 0 ? fd : bpf_raw_tracepoint_open(NULL, fd);
}

int main(int argc, char **argv)
{
	unsigned n_reads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;

	if (n_reads > READS_MAX) {
		fprintf(stderr, "ebpf_floor: at most %d reads\n", READS_MAX);
		return 1;
	}
	if (attach("sched_switch", n_reads) < 0 || attach("sched_waking", n_reads) < 0) {
		fprintf(stderr, "ebpf_floor: %s\n", strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
