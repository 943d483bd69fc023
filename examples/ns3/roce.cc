// SPDX-License-Identifier: MIT
/*
 * ns-3 as the network between fabrics, which owns their time.
 *
 * Usage: roce [--rate=1Gbps] [--delay=10us] [--loss=0] [--queue=100p] [--hosts=2] [--quiet=2]
 *
 * Host i has a TAP interface, rdma<i>, which this program makes and a script then moves to the
 * host's network namespace, and a fabric in the directory host<i> of the current one:
 *
 *	RDMAEMU_DIR=host1 rdmaemu fabric start --roce ADDR --clock manual
 *
 * All hosts are at one switch. Frames that programs send enter the simulation, which decides when
 * each arrives at which TAP, or that it is dropped. Simulated time is that of the fabrics: before a
 * frame is delivered, the clocks of all fabrics are moved to its arrival. So a timeout of seconds
 * takes no time, and bandwidths and delays are those of the simulation on machines of any speed: a
 * program computes in no simulated time, if it answers within --quiet milliseconds.
 *
 * The loop: let the fabrics handle what was delivered, and take the frames that they and their
 * programs send, until none comes for a moment; simulate up to the next delivery, or the next timer
 * of a fabric; move the clocks; deliver.
 */
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include <ns3/bridge-module.h>
#include <ns3/core-module.h>
#include <ns3/network-module.h>

#include <rdmaemu.h>

namespace
{

/* A step of simulated time, when no timer is armed and no frame is on its way. */
constexpr int64_t kStepNs = 1000000;
constexpr size_t kFrameBytes = 9216, kEthernetBytes = 14;

struct Host {
	std::string name, directory;
	int tap;
	struct rdmaemu *fabric;
	ns3::Ptr<ns3::SimpleNetDevice> device;
};

struct Delivery {
	Host *to;
	std::vector<uint8_t> frame;
};

std::vector<Host> hosts;
std::vector<Delivery> deliveries;

void Fail(const std::string &what)
{
	throw std::runtime_error(what + ": " + strerror(errno));
}

/* A frame of the simulation has arrived at the device of a host: leave ns3::Simulator::Run(). */
bool FrameArrives(Host *to, ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet,
		  uint16_t protocol, const ns3::Address &source, const ns3::Address &destination,
		  ns3::NetDevice::PacketType)
{
	std::vector<uint8_t> frame(kEthernetBytes + packet->GetSize());

	destination.CopyTo(&frame[0]);
	source.CopyTo(&frame[6]);
	frame[12] = protocol >> 8;
	frame[13] = protocol & 0xff;
	packet->CopyData(&frame[kEthernetBytes], packet->GetSize());
	deliveries.push_back({ to, std::move(frame) });
	ns3::Simulator::Stop();
	return true;
}

/* A program's host sends a frame: it enters the simulation now. */
void FrameEnters(Host &from, const uint8_t *frame, size_t bytes)
{
	ns3::Mac48Address source, destination;

	destination.CopyFrom(frame);
	source.CopyFrom(frame + 6);
	from.device->SendFrom(
		ns3::Create<ns3::Packet>(frame + kEthernetBytes, bytes - kEthernetBytes), source,
		destination, frame[12] << 8 | frame[13]);
}

/* The time to the next timer of a fabric, or a step. */
int64_t NextStep()
{
	uint64_t next = UINT64_MAX;

	for (const Host &host : hosts) {
		struct rdmaemu_clock clock;

		if (!rdmaemu_clock_get(host.fabric, &clock) && clock.next_ns != UINT64_MAX)
			next = std::min(next, clock.next_ns - clock.now_ns);
	}
	return next == UINT64_MAX ? kStepNs : std::max<int64_t>(next, 1);
}

/*
 * Let the fabrics handle what was delivered: a fabric process that answers for the second time has
 * looked at its sockets since.
 */
void Settle()
{
	NextStep();
	NextStep();
}

/* Take frames until none has come for a moment. */
void TakeFrames(int quiet_ms)
{
	std::vector<struct pollfd> fds;
	uint8_t frame[kFrameBytes];

	for (const Host &host : hosts)
		fds.push_back({ host.tap, POLLIN, 0 });
	while (poll(fds.data(), fds.size(), quiet_ms) > 0) {
		for (size_t i = 0; i < hosts.size(); i++) {
			ssize_t bytes =
				fds[i].revents ? read(hosts[i].tap, frame, sizeof(frame)) : 0;

			if (bytes > static_cast<ssize_t>(kEthernetBytes))
				FrameEnters(hosts[i], frame, bytes);
		}
	}
}

/* Simulate up to the next delivery, at most a step. */
void Simulate()
{
	ns3::EventId end = ns3::Simulator::Schedule(ns3::NanoSeconds(NextStep()),
						    [] { ns3::Simulator::Stop(); });

	ns3::Simulator::Run();
	end.Cancel();
}

/* Return: whether all fabrics are still there. */
bool MoveClocks(int64_t ns)
{
	for (const Host &host : hosts) {
		if (!rdmaemu_clock_advance(host.fabric, ns))
			continue;
		if (errno == EPIPE || errno == ENOENT || errno == ECONNREFUSED)
			return false;
		throw std::runtime_error(host.directory + ": " + rdmaemu_error(host.fabric));
	}
	return true;
}

void Deliver()
{
	/* A host whose interface is down takes nothing: the frame is lost. */
	for (const Delivery &d : deliveries)
		if (write(d.to->tap, d.frame.data(), d.frame.size()) < 0 && errno != EIO)
			Fail("write to " + d.to->name);
	deliveries.clear();
}

void OpenTap(Host &host)
{
	struct ifreq request = {};

	host.tap = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	request.ifr_flags = IFF_TAP | IFF_NO_PI;
	host.name.copy(request.ifr_name, IFNAMSIZ - 1);
	if (host.tap < 0 || ioctl(host.tap, TUNSETIFF, &request))
		Fail("/dev/net/tun: " + host.name);
}

/* Wait for the host's fabric, which starts when its interface is where it belongs. */
void OpenFabric(Host &host)
{
	while (!(host.fabric = rdmaemu_open_fabric(host.directory.c_str(), nullptr))) {
		if (errno != ENOENT && errno != ECONNREFUSED)
			Fail(host.directory);
		poll(nullptr, 0, 10);
	}
}

/* Two devices per host with a channel between them, of which one is a port of the switch. */
void MakeNetwork(ns3::SimpleNetDeviceHelper &simple, const std::string &queue, double loss)
{
	ns3::NodeContainer nodes(hosts.size());
	ns3::Ptr<ns3::Node> node = ns3::CreateObject<ns3::Node>();
	ns3::NetDeviceContainer ports;

	simple.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue(queue));
	for (size_t i = 0; i < hosts.size(); i++) {
		auto link = simple.Install(ns3::NodeContainer(nodes.Get(i), node));
		auto errors = ns3::CreateObject<ns3::RateErrorModel>();

		errors->SetUnit(ns3::RateErrorModel::ERROR_UNIT_PACKET);
		errors->SetRate(loss);
		hosts[i].device = ns3::DynamicCast<ns3::SimpleNetDevice>(link.Get(0));
		hosts[i].device->SetReceiveErrorModel(errors);
		hosts[i].device->SetPromiscReceiveCallback(
			ns3::MakeBoundCallback(FrameArrives, &hosts[i]));
		ports.Add(link.Get(1));
	}
	ns3::BridgeHelper().Install(node, ports);
}

} // namespace

int main(int argc, char **argv)
try {
	std::string rate = "1Gbps", delay = "10us", queue = "100p";
	uint32_t n = 2;
	int quiet_ms = 2;
	double loss = 0;
	ns3::CommandLine options;
	ns3::SimpleNetDeviceHelper simple;
	int64_t now = 0;

	options.AddValue("rate", "of each link", rate);
	options.AddValue("delay", "of each link", delay);
	options.AddValue("queue", "frames or bytes that a port keeps", queue);
	options.AddValue("loss", "share of frames that a link to a host loses", loss);
	options.AddValue("hosts", "number of hosts", n);
	options.AddValue("quiet", "milliseconds that programs have to answer", quiet_ms);
	options.Parse(argc, argv);
	simple.SetDeviceAttribute("DataRate", ns3::StringValue(rate));
	simple.SetChannel("ns3::SimpleChannel", "Delay", ns3::StringValue(delay));
	for (uint32_t i = 1; i <= n; i++) {
		hosts.push_back({ "rdma" + std::to_string(i), "host" + std::to_string(i), -1,
				  nullptr, nullptr });
		OpenTap(hosts.back());
	}
	MakeNetwork(simple, queue, loss);
	puts("ready");
	fflush(stdout);
	for (Host &host : hosts)
		OpenFabric(host);
	for (bool there = true; there; now = ns3::Simulator::Now().GetNanoSeconds()) {
		Settle();
		TakeFrames(quiet_ms);
		Simulate();
		there = MoveClocks(ns3::Simulator::Now().GetNanoSeconds() - now);
		Deliver();
	}
	for (const Host &host : hosts)
		rdmaemu_close(host.fabric);
	return 0;
} catch (const std::exception &e) {
	fprintf(stderr, "roce: %s\n", e.what());
	return 1;
}
