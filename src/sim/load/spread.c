/* SPDX-License-Identifier: BSD-2-Clause */
/* Percentiles of values, by the nearest rank. See report.h. */
#include "base/assert.h"
#include "sim/load/report.h"

static void heap_sift(uint64_t *v, size_t i, size_t cnt)
{
	uint64_t x = v[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= cnt)
			break;
		if (child + 1 < cnt && v[child + 1] > v[child])
			child++;
		if (v[child] <= x)
			break;
		v[i] = v[child];
		i = child;
	}
	v[i] = x;
}

void vb_values_sort(uint64_t *v, size_t cnt)
{
	for (size_t i = cnt / 2; i-- > 0;)
		heap_sift(v, i, cnt);
	for (size_t n = cnt; n > 1; n--) {
		uint64_t max = v[0];

		v[0] = v[n - 1];
		v[n - 1] = max;
		heap_sift(v, 0, n - 1);
	}
}

uint64_t vb_nearest_rank(const uint64_t *v, size_t cnt, uint32_t milli)
{
	size_t rank = (cnt * milli + 999) / 1000;

	VB_ASSERT_ALL(cnt > 0 && milli <= 1000 && rank <= cnt);
	return v[rank ? rank - 1 : 0];
}

void vb_spread_of(struct vb_spread *s, uint64_t *v, size_t cnt)
{
	uint64_t sum = 0;

	*s = (struct vb_spread){.cnt = cnt};
	if (cnt == 0)
		return;
	vb_values_sort(v, cnt);
	for (size_t i = 0; i < cnt; i++)
		sum += v[i];
	VB_ASSERT_ALL(v[0] <= v[cnt - 1]);
	s->mean = sum / cnt;
	s->min = v[0];
	s->p50 = vb_nearest_rank(v, cnt, 500);
	s->p90 = vb_nearest_rank(v, cnt, 900);
	s->p95 = vb_nearest_rank(v, cnt, 950);
	s->p99 = vb_nearest_rank(v, cnt, 990);
	s->p999 = vb_nearest_rank(v, cnt, 999);
	s->max = v[cnt - 1];
}
