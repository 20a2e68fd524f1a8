"""torchdyn.package and torchdyn.load: results, gradients and structures of the packaged model."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
import torchdyn
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 8), nn.Linear(8, 3)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x, scale=1.0, extra=None):
        hidden = torch.nn.functional.gelu(self.norm(self.fc1(x)))
        if extra is not None:
            hidden = hidden + extra["shift"]
        return {"logits": self.fc2(hidden) * scale, "hidden": hidden, "scale": scale}


class SaveTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "model.td"

    def same(self, ours, theirs):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)

    def test_infers_with_the_structure_of_the_result(self):
        net, x = Net().eval(), torch.randn(4, 6)
        torchdyn.package(net, (x,), self.path)
        loaded = torchdyn.load(self.path)
        with torch.no_grad():
            ours, theirs = loaded(x), net(x)
        self.assertEqual(list(ours), list(theirs))
        self.assertEqual(ours["scale"], 1.0)
        self.same(ours["logits"], theirs["logits"])
        self.same(loaded.weights["fc1.weight"], net.fc1.weight)

    def test_takes_keywords_and_nested_arguments(self):
        net, x = Net().eval(), torch.randn(4, 6)
        kwargs = {"scale": 2.0, "extra": {"shift": torch.randn(8)}}
        torchdyn.package(net, (x,), self.path, kwargs=kwargs)
        loaded = torchdyn.load(self.path)
        with torch.no_grad():
            self.same(loaded(x, **kwargs)["logits"], net(x, **kwargs)["logits"])
        with self.assertRaisesRegex(torchdyn.PackageError, "expected 2.0, given 3.0"):
            loaded(x, scale=3.0, extra=kwargs["extra"])
        with self.assertRaisesRegex(torchdyn.PackageError, "arguments: expected"):
            loaded(x)

    def test_trains(self):
        net, x, y = Net(), torch.randn(4, 6), torch.randint(3, (4,))
        torchdyn.package(net, (x,), self.path, training=True)
        loaded = torchdyn.load(self.path)
        self.assertEqual(len(loaded.parameters()), len(list(net.parameters())))
        ours = torch.optim.SGD(loaded.parameters(), 0.1, momentum=0.9)
        theirs = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        for _ in range(3):
            for model, optimizer in ((loaded, ours), (net, theirs)):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x)["logits"], y)
                loss.backward()
                optimizer.step()
        for name, parameter in net.named_parameters():
            self.same(loaded.weights[name], parameter)
        self.same(loaded.weights["norm.running_mean"], net.norm.running_mean)

    def test_takes_functions(self):
        torchdyn.package(lambda x, y: (x @ y).relu(), (torch.ones(2, 3), torch.ones(3, 2)), self.path)
        x, y = torch.randn(2, 3), torch.randn(3, 2)
        self.same(torchdyn.load(self.path)(x, y), (x @ y).relu())

    def test_runs_in_another_process_without_a_compiler(self):
        net, x = Net().eval(), torch.randn(4, 6)
        torchdyn.package(net, (x,), self.path)
        torch.save(x, self.path.with_suffix(".x"))
        code = (f"import torch, torchdyn; x = torch.load({str(self.path.with_suffix('.x'))!r}); "
                f"torch.save(torchdyn.load({str(self.path)!r})(x)['logits'].detach(), "
                f"{str(self.path.with_suffix('.y'))!r})")
        environment = {"PYTHONPATH": str(Path(torchdyn.__file__).parent.parent), "PATH": "",
                       "TORCHDYN_CXX": "none", "TORCHDYN_CACHE_DIR": str(self.path.parent / "cache")}
        subprocess.run([sys.executable, "-B", "-c", code], env=environment, check=True)
        with torch.no_grad():
            self.same(torch.load(self.path.with_suffix(".y")), net(x)["logits"])
        self.assertFalse((self.path.parent / "cache").exists())

    def test_serves_sizes_that_vary(self):
        net, x = Net().eval(), torch.randn(4, 6)
        torchdyn.package(net, (x,), self.path, training=True, dynamic_sizes=[{0: "batch"}])
        loaded = torchdyn.load(self.path)
        for batch in (4, 7, 100):
            x = torch.randn(batch, 6)
            with torch.no_grad():
                self.same(loaded(x)["logits"], net(x)["logits"])
            net.zero_grad()
            for parameter in loaded.parameters():
                parameter.grad = None
            net(x)["logits"].square().sum().backward()
            loaded(x)["logits"].square().sum().backward()
            self.same(loaded.weights["fc1.weight"].grad, net.fc1.weight.grad)
        with self.assertRaisesRegex(RuntimeError, "size s0 is 1, and must be 2 or more"):
            loaded(torch.randn(1, 6))
        with self.assertRaisesRegex(RuntimeError, r"expected f32\[4, 6\], given f32\[4, 5\]"):
            loaded(torch.randn(4, 5))

    def test_serves_sizes_that_vary_without_libtorch(self):
        library = Path(torchdyn.__file__).parent.parent.parent / "lib" / "libtorchdyn_runtime.so"
        if not library.exists():
            self.skipTest(f"no {library}")
        torchdyn.package(lambda x: x.exp().softmax(-1) + x.sum(0), (torch.ones(2, 3),), self.path,
                         dynamic_sizes=[{0: "n", 1: "m"}])
        client = Path(__file__).parents[1] / "c_api" / "client.py"
        for n, m in ((5, 9), (2, 33), (64, 300)):
            x = torch.randn(n, m)
            output = subprocess.run([sys.executable, "-B", "-S", client, library, self.path, str(n), str(m)],
                                    input=x.numpy().tobytes(), capture_output=True, check=True).stdout
            ours = torch.frombuffer(bytearray(output), dtype=torch.float32).reshape(n, m)
            self.assertTrue(ours.equal(torchdyn.load(self.path)(x)))

    def test_serves_sizes_of_one_name(self):
        f = lambda x, y: (x.exp() + y).softmax(-1)
        torchdyn.package(f, (torch.ones(2, 3), torch.ones(2, 1)), self.path,
                         dynamic_sizes=[{0: "n", 1: "m"}, {0: "n"}])
        loaded = torchdyn.load(self.path)
        self.same(loaded(torch.ones(5, 9), torch.ones(5, 1)), f(torch.ones(5, 9), torch.ones(5, 1)))
        self.assertEqual(loaded.manifest["variants"][0]["extern_calls"], [])
        with self.assertRaisesRegex(RuntimeError, r"input 1 \(x1\): expected f32\[5, 1\]"):
            loaded(torch.ones(5, 9), torch.ones(4, 1))

    def test_takes_what_torch_export_made(self):
        net, x = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(4, 6)
        exported = torch.export.export(net, (x,))
        file = self.path.with_suffix(".pt2")
        torch.export.save(exported, file)
        for program in exported, file:
            torchdyn.package(program, (x,), self.path)
            loaded = torchdyn.load(self.path)
            with torch.no_grad():
                self.same(loaded(x), net(x))
            self.assertEqual(list(loaded.weights), ["0.weight", "0.bias", "2.weight", "2.bias"])

    def test_steps_with_an_optimizer_of_its_own(self):
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))

            def forward(self, x, y):
                return (self.net(x) - y).square().mean()

        loss, x, y = Loss(), torch.randn(4, 6), torch.randn(4, 1)
        torchdyn.package(loss, (x, y), self.path, include={"forward", "backward", "step"},
                         optimizer="adamw lr=0.01")
        trainer = torchdyn.Trainer(torchdyn.load(self.path))
        optimizer = torch.optim.AdamW(loss.parameters(), lr=0.01)
        for step in range(20):
            if step == 10:
                trainer.package.save(self.path)
                trainer = torchdyn.Trainer(torchdyn.load(self.path))
            theirs = loss(x, y)
            self.assertAlmostEqual(trainer.step(x, y), theirs.item(), places=5)
            optimizer.zero_grad()
            theirs.backward()
            optimizer.step()
        with self.assertRaisesRegex(ValueError, "include has 'step' where"):
            torchdyn.package(loss, (x, y), self.path, include={"forward", "backward", "step"})

    def test_keeps_methods_of_a_module_and_their_weights_once(self):
        class Coder(nn.Module):
            def __init__(self):
                super().__init__()
                self.code = nn.Linear(6, 3, bias=False)

            def encode(self, x):
                return {"code": self.code(x)}

            def forward(self, x):
                return self.code(x) @ self.code.weight

        coder, x = Coder(), torch.randn(2, 6)
        torchdyn.package(coder, (x,), self.path, methods={"encode": (coder.encode, (x,))})
        loaded = torchdyn.load(self.path)
        self.assertEqual(loaded.methods, ["forward", "encode"])
        with torch.no_grad():
            self.same(loaded(x), coder(x))
            self.same(loaded.call("encode", x)["code"], coder.encode(x)["code"])
        self.assertEqual(list(loaded.weights), ["code.weight"])
        with self.assertRaisesRegex(torchdyn.PackageError, "no method decode; it has forward, encode"):
            loaded.call("decode", x)

    def test_says_which_tensor_does_not_fit(self):
        torchdyn.package(torch.relu, (torch.ones(2, 3),), self.path)
        with self.assertRaisesRegex(RuntimeError, r"input 0 \(x0\): expected f32\[2, 3\], given f32\[2, 4\]"):
            torchdyn.load(self.path)(torch.ones(2, 4))

    def test_says_why_it_cannot(self):
        with self.assertRaises(torchdyn.PackageError):
            torchdyn.package(lambda x: [object(), x], (torch.ones(2),), self.path)
        with self.assertRaisesRegex(RuntimeError, "cannot open"):
            torchdyn.load(self.path)


if __name__ == "__main__":
    unittest.main()
