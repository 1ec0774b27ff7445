/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"

struct cpu_state *import_get_cpu(struct import *im, struct machine *m, uint32_t cpu)
{
	if (cpu >= MAX_CPUS)
		return NULL;
	if (cpu >= m->n_cpus) {
		size_t n = m->n_cpus;

		if (array_reserve(&m->cpus, &m->cap_cpus, (size_t)cpu + 1, sizeof(*m->cpus))) {
			im->store->budget.error = -ENOMEM;
			return NULL;
		}
		memset(m->cpus + n, 0, ((size_t)cpu + 1 - n) * sizeof(*m->cpus));
		for (; n <= cpu; n++) {
			m->cpus[n].sched.slice = NULL_U32;
			m->cpus[n].processor = m->cpus[n].capacity = NULL_U32;
			m->cpus[n].max_khz = m->cpus[n].args = NULL_U32;
		}
		m->n_cpus = (size_t)cpu + 1;
	}
	return &m->cpus[cpu];
}

/* ---- CpuInfo ---- */

static void add_arm_identifier_args(struct import *im, const struct pb_field *arm)
{
	static const char *const keys[] = {
		[PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER] = "arm_cpu_implementer",
		[PB_CPU_INFO_ARM_CPU_IDENTIFIER_ARCHITECTURE] = "arm_cpu_architecture",
		[PB_CPU_INFO_ARM_CPU_IDENTIFIER_VARIANT] = "arm_cpu_variant",
		[PB_CPU_INFO_ARM_CPU_IDENTIFIER_PART] = "arm_cpu_part",
		[PB_CPU_INFO_ARM_CPU_IDENTIFIER_REVISION] = "arm_cpu_revision",
	};
	uint32_t values[ARRAY_SIZE(keys)] = {0};

	pb_for_each (f, arm)
		if (f.id < ARRAY_SIZE(keys))
			values[f.id] = (uint32_t)f.u64;
	for (size_t i = 1; i < ARRAY_SIZE(keys); i++)
		arg_builder_add_int(im->store, &im->args, keys[i], ARG_UINT, values[i]);
}

static void add_feature_args(struct import *im, uint64_t features)
{
	static const char *const keys[] = {"cpu_features.mte", "cpu_features.mte3"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (features & 1u << i)
			arg_builder_add_int(im->store, &im->args, keys[i], ARG_BOOL, 1);
	if (features)
		arg_builder_add_int(im->store, &im->args, "cpu_features.raw_bitmap", ARG_UINT,
				    (int64_t)features);
}

static void cpus_read_cpu(struct import *im, struct cpu_state *c, const struct pb_field *cpu)
{
	struct pb_field arm = {0};
	uint64_t features = 0;

	c->seen = true;
	c->processor = c->capacity = c->max_khz = NULL_U32;
	pb_for_each (f, cpu) {
		if (f.id == PB_CPU_INFO_CPU_PROCESSOR && f.data)
			c->processor = strings_intern(&im->store->strings, f.data, f.len);
		else if (f.id == PB_CPU_INFO_CPU_FREQUENCIES &&
			 (c->max_khz == NULL_U32 || f.u64 > c->max_khz))
			c->max_khz = (uint32_t)f.u64;
		else if (f.id == PB_CPU_INFO_CPU_CAPACITY)
			c->capacity = (uint32_t)f.u64;
		else if (f.id == PB_CPU_INFO_CPU_ARM_IDENTIFIER && f.data)
			arm = f;
		else if (f.id == PB_CPU_INFO_CPU_FEATURES)
			features = f.u64;
	}
	if (arm.data)
		add_arm_identifier_args(im, &arm);
	add_feature_args(im, features);
	c->args = arg_sets_add(im->store, &im->args);
}

static int compare_cpu_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Numbers the clusters of n CPUs: all CPUs with the same capacity are one cluster. If the capacity
 * of some CPU is unknown, their highest frequency counts instead; if that is unknown too, there is
 * one cluster. */
static void number_cpu_clusters(struct import *im, struct cpu_state *cpus, size_t n)
{
	bool by_capacity = true, by_frequency = true;
	uint32_t *keys = calloc(n + 1, sizeof(*keys));
	size_t distinct = 0;

	if (!keys) {
		im->store->budget.error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		by_capacity &= cpus[i].capacity != NULL_U32;
		by_frequency &= cpus[i].max_khz != NULL_U32;
	}
	for (size_t i = 0; i < n; i++)
		keys[i] = by_capacity ? cpus[i].capacity : by_frequency ? cpus[i].max_khz : 0;
	for (size_t i = 0; i < n; i++)
		cpus[i].cluster = keys[i];
	qsort(keys, n, sizeof(*keys), compare_cpu_numbers);
	for (size_t i = 0; i < n; i++)
		if (!i || keys[i] != keys[distinct - 1])
			keys[distinct++] = keys[i];
	for (size_t i = 0; i < n; i++)
		cpus[i].cluster =
			(uint32_t)((uint32_t *)bsearch(&cpus[i].cluster, keys, distinct,
						       sizeof(*keys), compare_cpu_numbers) -
				   keys);
	free(keys);
}

void tokenize_cpu_info(struct import *im, struct machine *m, const struct pb_field *info)
{
	uint32_t n = 0;

	pb_for_each (f, info) {
		struct cpu_state *c;

		if (f.id != PB_CPU_INFO_CPUS || !f.data)
			continue;
		c = import_get_cpu(im, m, n);
		if (!c)
			break;
		cpus_read_cpu(im, c, &f);
		n++;
	}
	number_cpu_clusters(im, m->cpus, n);
}

/* ---- the table ---- */

void import_cpus(struct import *im)
{
	struct table *t = import_table(im, TABLE_CPU);

	for (size_t i = 0; i < im->n_machines; i++) {
		const struct machine *m = im->machines[i];

		for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++) {
			const struct cpu_state *c = &m->cpus[cpu];
			uint32_t row;

			if (!c->seen)
				continue;
			row = table_append(t);
			table_set_u32(t, CPU_ID, row, m->row * MAX_CPUS + cpu);
			table_set_u32(t, CPU_CPU, row, cpu);
			table_set_u32(t, CPU_CLUSTER, row, c->cluster);
			table_set_u32(t, CPU_PROCESSOR, row, c->processor);
			table_set_u32(t, CPU_MACHINE, row, m->row);
			table_set_u32(t, CPU_CAPACITY, row, c->capacity);
			table_set_u32(t, CPU_ARGS, row, c->args);
		}
	}
}
