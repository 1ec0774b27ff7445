/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"

/* Latency, bytes and requests in flight of block devices; bytes by process (bpf/block.bpf.c). */
extern const struct ebpf_family block_family;
