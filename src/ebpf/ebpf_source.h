/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.ebpf_counters: counters of BPF programs as counter tracks (docs/reference/ebpf.md).
 * A build without clang or libbpf has the data source too; it reports that and records nothing
 * (ebpf_none.c). */
extern const struct data_source ebpf_counters_data_source;
