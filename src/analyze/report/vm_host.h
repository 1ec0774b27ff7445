/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pass_input;

/*
 * The process that runs a virtual machine, if the trace has both: its threads are the CPUs of the
 * guest. A thread is a CPU if it has an event kvm_entry, or by the name that the VMM gave it.
 *
 * The trace does not say which process runs which guest. But a CPU of a guest has events only while
 * its thread runs: a process is ruled out if its threads were off the CPU when the guest's CPUs
 * switched threads. If it is the only process and there were too few switches for this proof, it is
 * taken without. The proof also corrects the guest's clock: of the possible differences from the
 * host's clock, it takes the one with the fewest switches outside of the runs.
 */

/* A row of thread_state. */
struct vcpu_span {
	int64_t begin, end; /* begin is not negative */
	uint32_t cpu; /* of the host (ucpu), if it is running */
	uint32_t waker; /* a utid, after a wakeup; NULL_U32: none, or not known */
	bool running, blocked; /* neither: it waits for a CPU */
};

struct vcpu {
	uint32_t upid, utid; /* of the host */
	uint32_t id; /* the number of the guest's CPU */
	bool has_entry; /* known by kvm_entry */
	struct vcpu_span *spans; /* owned; by time, without those of no length */
	size_t n, cap;
	double total, off; /* ns: of all spans, and of those that are not running */
};

struct vm_host {
	struct vcpu *vcpus; /* owned; by process and id */
	size_t n_vcpus, cap;
	size_t first, n; /* the CPUs of the guest; n is 0 if its process is not known */
	size_t checked, outside; /* switches of the guest, and those outside of the runs */
	int64_t behind; /* ns, of the guest's clock: they are added to its times */
	int64_t error; /* of behind; NULL_I64: not known, as the process is not proved */
};

/* Finds the process that runs the machine of the report. Returns false if out of memory. Deinit in
 * either case. */
bool vm_host_find(struct vm_host *h, const struct pass_input *in);
void vm_host_deinit(struct vm_host *h);

/* Returns the thread of a CPU of the guest, or NULL. */
const struct vcpu *vm_host_vcpu(const struct vm_host *h, uint32_t cpu);

/* Returns the first span that ends after ts, or v->n. */
size_t vcpu_span_after(const struct vcpu *v, int64_t ts);
