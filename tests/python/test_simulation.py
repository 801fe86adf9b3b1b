# SPDX-License-Identifier: BSD-2-Clause
"""The Python package runs scenarios as `verbena sim` does, step by step, and changes them."""
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np
import pandas as pd
import verbena

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCAST = os.path.join(ROOT, "scenarios", "incast.yaml")
# Two hosts write to a third: its cable is full for 1.7 ms.
TWO_TO_ONE = {
    "topology": {"shape": "star", "hosts": 3, "cable": {"rate": "10Gbps", "delay": "1us"}},
    "switch": {"ecn": [0], "kmin": "5kB", "kmax": "200kB", "pmax": "10%"},
    "transport": {"traffic-class": 0, "congestion": "paper", "message": "4KiB"},
    "workload": [{"shape": "single", "from": 0, "to": 2, "bytes": "1MB"},
                 {"shape": "single", "from": 1, "to": 2, "bytes": "1MB"}],
}


def command(scenario, *options):
    """The folder of results that `verbena sim` leaves, and what it says."""
    folder = tempfile.TemporaryDirectory()
    said = subprocess.run([os.environ["VERBENA"], "sim", "--out", folder.name, *options, scenario], check=True,
                          capture_output=True, text=True).stdout
    return folder, said


class Equal(unittest.TestCase):
    """The results are those of the command."""

    def check_equal(self, scenario, *options, **arguments):
        folder, said = command(scenario, *options)
        with folder, verbena.Simulation(scenario, **arguments) as sim:
            # In steps, to show that they are no part of a run.
            while not sim.finished and sim.now < 2_000_000:
                sim.advance(sim.now + 77_777)
            sim.run()
            self.assertIn(f"digest         {sim.digest}\n", said)
            for name in sorted(os.listdir(folder.name)):
                with open(os.path.join(folder.name, name), "rb") as file, self.subTest(name):
                    self.assertEqual(sim._handle.table(name), file.read())
        return name

    def test_incast_with_series(self):
        self.check_equal(INCAST, "--series", "all", series="all")

    def test_files_beside_the_scenario(self):
        self.check_equal(os.path.join(ROOT, "scenarios", "files", "racks.yaml"))

    def test_infiniband_with_routers(self):
        self.check_equal(os.path.join(ROOT, "scenarios", "ib", "two-subnets.yaml"))

    def test_seed(self):
        folder, said = command(INCAST, "--replay", "7")
        with folder, verbena.Simulation(INCAST, values={"seed": 7}) as sim:
            self.assertEqual(sim.seed, 7)
            self.assertIn(sim.run().digest, said)

    def test_dict_and_text_are_the_file(self):
        with open(INCAST, encoding="utf-8") as file:
            text = file.read()
        import yaml
        for sim in (verbena.Simulation.from_text(text), verbena.Simulation(yaml.safe_load(text))):
            with sim:
                self.assertEqual(sim.run().digest, verbena.Simulation(INCAST).run().digest)


class Step(unittest.TestCase):
    """A simulation stands still between calls, and can be looked at and changed."""

    def setUp(self):
        self.sim = verbena.Simulation(TWO_TO_ONE, series=["rate", "queue"], every="100us")
        self.addCleanup(self.sim.close)

    def test_time(self):
        self.assertEqual((self.sim.now, self.sim.next, self.sim.finished), (0, 0, False))
        self.assertIs(self.sim.advance("1.5us"), self.sim)
        self.assertEqual(self.sim.now, 1500)
        self.assertEqual(self.sim.advance(2000).now, 2000)
        self.assertGreater(self.sim.next, 2000)
        self.sim.run()
        self.assertTrue(self.sim.finished)
        self.assertIsNone(self.sim.next)
        self.assertIsNone(self.sim.deadlock_at)
        with self.assertRaisesRegex(ValueError, "lies before now"):
            self.sim.advance(0)

    def test_flows(self):
        flows = self.sim.advance("500us").flows()
        self.assertEqual(list(flows.index), [0, 1])
        self.assertEqual(list(flows.dst), [2, 2])
        self.assertTrue(flows.done_ns.isna().all() and flows.slowdown.isna().all())
        self.assertTrue((flows.completed > 100_000).all() and flows.completed.sum() < 625_000)
        flows = self.sim.run().flows()
        self.assertTrue((flows.completed == 1_000_000).all())
        np.testing.assert_allclose(flows.slowdown, flows.fct_ns / flows.ideal_ns)
        self.assertTrue((flows.slowdown > 1).all())

    def test_ports(self):
        ports = self.sim.advance("500us").ports()
        self.assertEqual(list(ports["from"]), [0, 3, 1, 3, 2, 3])
        self.assertEqual(list(ports.to), [3, 0, 3, 1, 3, 2])
        self.assertTrue(500_000 < ports.bytes[5] < 625_000)
        self.assertGreater(ports.marked[5], 0)
        self.assertTrue(0 < ports.queue_mean_bytes[5] < ports.queue_max_bytes[5])

    def test_qps(self):
        qps = self.sim.advance("500us").qps()
        self.assertEqual(list(qps.host), [0, 2, 1, 2])
        self.assertEqual(list(qps.peer), [2, 0, 2, 1])
        self.assertEqual(set(qps.state), {"RTS"})
        self.assertTrue(0 < qps.alpha[0] <= 1)
        self.assertTrue(1e9 < qps.cc_rate[0] < 1e10)
        self.assertTrue(self.sim.run().qps().flow.isna().all())

    def test_qps_of_groups_are_single(self):
        scenario = {"topology": {"hosts": 3}, "transport": {"type": "ud"}, "groups": [{}],
                    "workload": [{"shape": "multicast", "group": 0, "count": 1, "bytes": "4kB"}]}
        with verbena.Simulation(scenario) as sim:
            qps = sim.run().qps()
            self.assertEqual(list(qps.index), [0])
            self.assertTrue(pd.isna(qps.peer[0]))
            self.assertEqual(sim.flows().dst[0], "group 0")

    def test_counters(self):
        counters = self.sim.run().counters()
        self.assertEqual(len(counters), 3)
        self.assertGreater(counters.port_xmit_packets[0], 1_000_000 / 1100)
        self.assertEqual(counters.port_xmit_packets.sum(), counters.port_rcv_packets.sum())

    def test_series_and_tables(self):
        series = self.sim.advance("250us").series()
        self.assertEqual(list(series.time_ns), [100_000] * 2 + [200_000] * 2)
        self.sim.run()
        self.assertEqual(self.sim.series().acked_bytes.sum(), 2_000_000)
        self.assertEqual(self.sim.series("port").queue_max_bytes.max(), self.sim.ports().queue_max_bytes.max())
        self.assertEqual(self.sim.table("slowdown").flows.sum(), 2)
        self.assertEqual(self.sim.summary()["done"], 2)
        with self.assertRaisesRegex(LookupError, "no lanes.csv"):
            self.sim.table("lanes")

    def test_cables(self):
        self.sim.advance("200us")
        self.sim.fail((3, 0))
        self.sim.advance("400us")
        before = self.sim.flows().completed
        stopped = self.sim.advance("700us").flows().completed - before
        self.assertEqual(stopped[0], 0)
        self.assertGreater(stopped[1], 0)
        self.sim.restore(self.sim.cable(0, 3))
        self.assertEqual(self.sim.run().summary()["done"], 2)
        with self.assertRaisesRegex(LookupError, "no cable between nodes 0 and 1"):
            self.sim.fail((0, 1))
        with self.assertRaisesRegex(IndexError, "there is no cable 3"):
            self.sim.fail(3)

    def test_faults(self):
        self.sim.faults(0, "loss=100%")
        self.assertEqual(self.sim.advance("500us").flows().completed[0], 0)
        self.sim.faults(0, "")
        self.assertEqual(self.sim.run().flows().completed[0], 1_000_000)
        with self.assertRaisesRegex(ValueError, "column 1"):
            self.sim.faults(0, "lost=1")

    def test_ecn(self):
        self.sim.ecn(0, 0, 0)
        self.assertEqual(self.sim.advance("300us").ports().marked.sum(), 0)
        self.sim.ecn("1kB", "2kB", 1)
        self.assertGreater(self.sim.advance("600us").ports().marked.sum(), 0)
        with self.assertRaisesRegex(ValueError, "above"):
            self.sim.ecn("2kB", "1kB", 0.5)

    def test_limit(self):
        self.sim.advance("10us").limit(0, "100Mbps")
        flows = self.sim.advance("1ms").flows()
        self.assertLess(flows.completed[0], 30_000)
        self.sim.limit(0, None)
        self.assertGreater(self.sim.advance("2ms").flows().completed[0], 200_000)
        with self.assertRaisesRegex(IndexError, "no QP 4"):
            self.sim.limit(4, None)

    def test_flows_are_added(self):
        with verbena.Simulation(TWO_TO_ONE, values={"flows": 4}) as sim:
            sim.advance("100us")
            self.assertEqual(sim.add_flow(2, 0, "64KiB", op="read"), 2)
            self.assertEqual(sim.add_flow(2, 1, 1000, start="5ms"), 3)
            flows = sim.run().flows()
            self.assertEqual(list(flows.start_ns), [0, 0, 100_000, 5_000_000])
            self.assertEqual(list(flows.op), ["write", "write", "read", "write"])
            self.assertEqual(flows["bytes"][2], 65536)
            with self.assertRaisesRegex(verbena.SimulationError, "larger \"flows\""):
                sim.add_flow(0, 1, 1)
            with self.assertRaisesRegex(ValueError, "op is one of"):
                sim.add_flow(0, 1, 1, op="scribble")

    def test_closed(self):
        self.assertIn("3 hosts at 0 ns", repr(self.sim))
        self.sim.close()
        self.sim.close()
        self.assertEqual(repr(self.sim), "<Simulation, closed>")
        with self.assertRaisesRegex(verbena.SimulationError, "closed"):
            self.sim.advance(1)

    def test_simulations_are_independent(self):
        digests = []

        def run():
            with verbena.Simulation(TWO_TO_ONE) as sim:
                for at in range(0, 3_000_000, 10_000):
                    sim.advance(at)
                digests.append(sim.run().digest)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(digests, [self.sim.run().digest] * 4)


class Halving(verbena.CongestionControl):
    """Adds a packet to its window for each that is full of ACKs, and halves it for a mark."""

    needs = ("ecn",)

    def __init__(self, facts):
        self.packet, self.until = facts.packet_bytes, 0
        self.control.window = 8 * self.packet

    def on_ack(self, ack):
        if ack.marked and ack.acked > self.until:
            self.control.window = max(self.control.window // 2, self.packet)
            self.until = ack.sent
        else:
            self.control.window += self.packet * ack.bytes // self.control.window


class Control(unittest.TestCase):
    """Congestion control in Python."""

    def test_it_keeps_the_queue_short(self):
        digests = set()
        values = {"transport.congestion": "off", "transport.message": "64KiB", "transport.mtu": 4096,
                  "switch.kmin": "20kB", "switch.kmax": "20kB", "switch.pmax": "100%"}
        for _ in range(2):
            with verbena.Simulation(TWO_TO_ONE, values=values, congestion=Halving) as sim:
                self.assertLess(sim.run().ports().queue_max_bytes.max(), 100_000)
                self.assertEqual(sim.summary()["done"], 2)
                digests.add(sim.digest)
        self.assertEqual(len(digests), 1)
        with verbena.Simulation(TWO_TO_ONE, values=values) as sim:
            self.assertGreater(sim.run().ports().queue_max_bytes.max(), 400_000)

    def test_its_mistakes_end_the_run(self):
        class Broken(Halving):
            def on_ack(self, ack):
                raise KeyError("nothing")

        with verbena.Simulation(TWO_TO_ONE, congestion=Broken) as sim:
            with self.assertRaisesRegex(verbena.SimulationError, "congestion control failed") as caught:
                sim.run()
            self.assertIsInstance(caught.exception.__cause__, KeyError)


class Wrong(unittest.TestCase):
    """Mistakes are told where they are made."""

    def test_scenarios(self):
        with self.assertRaisesRegex(verbena.ScenarioError, r'^dict:\d+:\d+: there is no key "hots" here'):
            verbena.Simulation({"topology": {"hots": 2}})
        with self.assertRaisesRegex(verbena.ScenarioError, "^mine:1:7: seed"):
            verbena.Simulation.from_text("seed: x", name="mine")
        with self.assertRaisesRegex(verbena.ScenarioError, "^with transport.timeout=99: .*incast.yaml:"):
            verbena.Simulation(INCAST, values={"transport.timeout": 99})
        with self.assertRaises(FileNotFoundError):
            verbena.Simulation("/nowhere.yaml")

    def test_room(self):
        with verbena.Simulation(TWO_TO_ONE, values={"packets": 3}) as sim:
            with self.assertRaisesRegex(verbena.SimulationError, "more than 3 packets"):
                sim.run()

    def test_units(self):
        self.assertEqual(verbena.nanoseconds("1.5us"), 1500)
        self.assertEqual(verbena.nanoseconds(7), 7)
        self.assertEqual(verbena.bits_per_second("0.1Gbps"), 10**8)
        self.assertEqual(verbena.size_in_bytes("64KiB"), 65536)
        for call, text in ((verbena.nanoseconds, "1 hour"), (verbena.nanoseconds, -1), (verbena.nanoseconds, "us"),
                           (verbena.bits_per_second, "1kB"), (verbena.size_in_bytes, float("nan"))):
            with self.assertRaisesRegex(ValueError, "is no"):
                call(text)

    def test_library(self):
        self.assertRegex(verbena.library_version(), r"^\d+\.\d+\.\d+$")
        said = subprocess.run([sys.executable, "-c", "import verbena; verbena.Simulation({})"], capture_output=True,
                              text=True, env={**os.environ, "VERBENA_SIM_LIBRARY": "nothing.so"}, check=False).stderr
        self.assertRegex(said, "LibraryError: nothing.so cannot be loaded .*: install libverbena-sim0")


if __name__ == "__main__":
    unittest.main()
