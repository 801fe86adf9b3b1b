/* SPDX-License-Identifier: BSD-2-Clause */
/* Ethernet speeds in the words of InfiniBand, see eth_rate.h. */
#include "node/netdev/eth_rate.h"

enum { SDR = 1, DDR = 2, FDR10 = 8, EDR = 32, HDR = 64, NDR = 128 };
enum { X1 = 1, X4 = 2, X2 = 16 };

#define UNKNOWN_MBPS 100000u

const struct vb_eth_rate *vb_eth_rate(uint32_t mbps)
{
	static const struct vb_eth_rate rates[] = {
	    {1000, X1, SDR, "2.5 Gb/sec (1X SDR)"},
	    {10000, X1, FDR10, "10 Gb/sec (1X FDR10)"},
	    {20000, X4, DDR, "20 Gb/sec (4X DDR)"},
	    {25000, X1, EDR, "25 Gb/sec (1X EDR)"},
	    {40000, X4, FDR10, "40 Gb/sec (4X FDR10)"},
	    {50000, X2, EDR, "50 Gb/sec (2X EDR)"},
	    {100000, X4, EDR, "100 Gb/sec (4X EDR)"},
	    {200000, X4, HDR, "200 Gb/sec (4X HDR)"},
	    {UINT32_MAX, X4, NDR, "400 Gb/sec (4X NDR)"},
	};
	const struct vb_eth_rate *r = rates;

	while ((mbps ? mbps : UNKNOWN_MBPS) > r->mbps)
		r++;
	return r;
}
