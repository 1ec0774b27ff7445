/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * For programs of your own that linux.ebpf_counters loads (docs/ebpf-programs.md): what names and
 * types of maps cannot say.
 *
 *	__u64 waited SONDA_UNIT(ns);    behind a field of a map's value; also bytes, count,
 *	                                or any word, such as % or req/s
 *	__u32 depth SONDA_GAUGE;        goes up and down; without it a value only grows
 *
 * Behind the map itself they count for all of its fields. It takes clang 14.
 */
#define SONDA_UNIT(unit) __attribute__((btf_decl_tag("sonda:unit=" #unit)))
#define SONDA_GAUGE __attribute__((btf_decl_tag("sonda:gauge")))
