// SPDX-License-Identifier: Apache-2.0
#include "service/output/file_part.h"

#include "base/core/mem.h"
#include "service/output/compressor.h"

int file_part_init(struct file_part *p, const Pb__TraceConfig *config, int fd, uint32_t number)
{
	*p = (struct file_part){.number = number};
	out_file_init(&p->out, fd);
	return compressor_new(config, &p->compressor);
}

void file_part_deinit(struct file_part *p)
{
	out_file_deinit(&p->out);
	compressor_free(TAKE_PTR(p->compressor));
}

struct packet_sink *file_part_sink(struct file_part *p)
{
	return p->compressor ? compressor_sink(p->compressor, &p->out.sink) : &p->out.sink;
}

void file_part_end_group(struct file_part *p)
{
	if (!p->compressor)
		return;
	(void)file_part_sink(p); /* we may lie elsewhere than at the last packet */
	compressor_end(p->compressor);
}

static bool surely_has_room(const struct file_part *p, size_t size, uint64_t max)
{
	size_t most = p->compressor ? compressor_bound(p->compressor, size) : size;

	return out_file_size(&p->out) + out_file_record_size(most) <= max;
}

bool file_part_has_room(struct file_part *p, size_t packet_size, uint64_t max)
{
	if (surely_has_room(p, packet_size, max))
		return true;
	/* What is gathered may get a lot smaller: how much is known when it is done. */
	file_part_end_group(p);
	return surely_has_room(p, packet_size, max);
}
