/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The incast of simulator.c in ns-3: sixteen hosts send packets of 1024 bytes through one router to
 * a seventeenth, over point-to-point cables of 100 Gb/s and 1 us. UDP instead of a reliable
 * transport, payloads that are lengths only, the receiver's cable just filled so that nothing is
 * dropped, no queue discipline above the devices, no traces: the least that ns-3 does for a packet.
 * Prints packet-hops (cables crossed) per second of processor time.
 *
 *   ns3_incast [PACKETS]
 */
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace
{
constexpr uint32_t senders = 16;
constexpr uint32_t payload = 1024;
/* Payload, UDP, IPv4 and PPP of a packet, on a cable. */
constexpr uint64_t cable_bps = 100000000000;
constexpr uint64_t wire_bits = (payload + 8 + 20 + 2) * 8;
constexpr uint16_t port = 4791;

class Sender
{
      public:
	void start(const ns3::Ptr<ns3::Node> &node, ns3::Ipv4Address to, uint64_t packets,
		   uint32_t turn)
	{
		socket = ns3::Socket::CreateSocket(node, ns3::UdpSocketFactory::GetTypeId());
		socket->Connect(ns3::InetSocketAddress(to, port));
		left = packets;
		ns3::Simulator::Schedule(period / senders * turn, &Sender::send, this);
	}

      private:
	void send()
	{
		socket->Send(ns3::Create<ns3::Packet>(payload));
		if (--left != 0)
			ns3::Simulator::Schedule(period, &Sender::send, this);
	}

	ns3::Ptr<ns3::Socket> socket;
	uint64_t left = 0;
	ns3::Time period = ns3::PicoSeconds(wire_bits * senders * 1000000000000 / cable_bps + 1);
};

class Receiver
{
      public:
	void start(const ns3::Ptr<ns3::Node> &node)
	{
		socket = ns3::Socket::CreateSocket(node, ns3::UdpSocketFactory::GetTypeId());
		socket->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
		socket->SetRecvCallback(ns3::MakeCallback(&Receiver::receive, this));
	}

	uint64_t received = 0;

      private:
	void receive(ns3::Ptr<ns3::Socket> from)
	{
		while (from->Recv())
			received++;
	}

	ns3::Ptr<ns3::Socket> socket;
};

double cpu_seconds()
{
	timespec ts = {};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}
} // namespace

int main(int argc, char **argv)
{
	const uint64_t each = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 320000) / senders;
	ns3::NodeContainer hosts(senders + 1);
	ns3::Ptr<ns3::Node> router = ns3::CreateObject<ns3::Node>();
	ns3::Ipv4StaticRoutingHelper routing;
	ns3::PointToPointHelper cable;
	ns3::InternetStackHelper stack;
	ns3::Ipv4AddressHelper addresses;
	ns3::TrafficControlHelper discipline;
	ns3::Ipv4Address to;
	Sender sender[senders];
	Receiver receiver;

	if (each == 0) {
		std::fputs("usage: ns3_incast [PACKETS]\n", stderr);
		return 2;
	}
	ns3::Time::SetResolution(ns3::Time::PS);
	cable.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(cable_bps)));
	cable.SetChannelAttribute("Delay", ns3::TimeValue(ns3::MicroSeconds(1)));
	stack.SetIpv6StackInstall(false);
	stack.Install(hosts);
	stack.Install(router);
	addresses.SetBase("10.0.0.0", "255.255.255.252");
	for (uint32_t i = 0; i <= senders; i++) {
		ns3::NetDeviceContainer ends = cable.Install(hosts.Get(i), router);
		ns3::Ipv4InterfaceContainer ip = addresses.Assign(ends);

		discipline.Uninstall(ends);
		addresses.NewNetwork();
		routing.GetStaticRouting(hosts.Get(i)->GetObject<ns3::Ipv4>())
		    ->SetDefaultRoute(ip.GetAddress(1), 1);
		to = ip.GetAddress(0); /* the last one's */
	}
	receiver.start(hosts.Get(senders));
	for (uint32_t i = 0; i < senders; i++)
		sender[i].start(hosts.Get(i), to, each, i);

	const double start = cpu_seconds();

	ns3::Simulator::Run();

	const double seconds = cpu_seconds() - start;
	const uint64_t sent = each * senders;

	ns3::Simulator::Destroy();
	if (receiver.received != sent) {
		std::fprintf(stderr, "ns3_incast: %ju of %ju packets arrived\n",
			     static_cast<uintmax_t>(receiver.received),
			     static_cast<uintmax_t>(sent));
		return 1;
	}
	std::printf("incast in ns-3: %ju packet-hops in %.3f s: %.3f million/s\n",
		    static_cast<uintmax_t>(2 * sent), seconds,
		    2 * static_cast<double>(sent) / seconds / 1e6);
	return 0;
}
